//! Workload programs with known truth, for testing a meter against.
//!
//! Everything here is single-threaded unless a workload is about threads, so that `fork` without `exec` is
//! sound and a process costs next to nothing. Each workload says its truth in a file of `key value` lines:
//! a test compares what the meter said with what the workload did, not with another meter.

#![allow(missing_docs, reason = "for our own tests only; each program says what it does where it is listed")]

pub mod cpu;
#[cfg(target_arch = "x86_64")]
pub mod fault;
pub mod floor;
pub mod frozen;
pub mod grab;
pub mod inherit;
pub mod invariants;
pub mod memory;
pub mod names;
pub mod once;
pub mod signals;
pub mod sys;
pub mod tree;
pub mod truth;
pub mod witness;
