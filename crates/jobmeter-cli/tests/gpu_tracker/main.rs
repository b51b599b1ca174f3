//! `jobmeter gpu-tracker` as its users call it: the examples of its tutorials with the numbers masked, every option, the
//! errors, the three formats, the tracking files while they grow, GPUs, and sub-tracking.

mod command;
#[path = "../blackbox/help/fake_nvml.rs"]
mod fake_nvml;
mod gpus;
mod mistakes;
mod place;
mod report;
mod sub_track;
mod tracking;
#[path = "../blackbox/gpu/witness.rs"]
mod witness;
