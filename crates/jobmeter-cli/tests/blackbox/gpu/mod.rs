//! `jobmeter run` on machines with imaginary GPUs: NVIDIA through a library with NVML's own symbols, AMD and Intel
//! through files in the kernel's formats. What the JSON says is held to the script, figure by figure.

mod activity;
mod asleep;
mod choice;
mod container;
mod course;
mod drm;
mod drm_odd;
mod energy;
mod faults;
mod health;
mod host;
mod identity;
mod nvidia;
mod phases;
mod prompt;
pub(crate) mod rig;
mod room;
mod shown;
mod unknown;
mod utilisation;
mod verdict;
mod witness;
