//! A shared library with the C symbols of NVML, scripted from the file that `FAKE_NVML_STATE` names,
//! or else from `fake-nvml.json` beside the library itself. A meter loads it exactly as the real one. See
//! README.md for the state file.
#![allow(missing_docs, reason = "the names are those of the NVML header, which documents them")]
#![allow(non_snake_case, reason = "the names are those of the NVML header")]
#![allow(clippy::missing_safety_doc, reason = "the contract is that of the NVML header")]

pub mod accounting;
mod calls;
pub mod device;
pub mod events;
pub mod fields;
pub mod gpm;
pub mod health;
pub mod identity;
pub mod library;
pub mod lists;
pub mod mig;
mod misbehave;
pub mod namespace;
pub mod nvlink;
pub mod parts;
pub mod state;
pub mod utilization;
