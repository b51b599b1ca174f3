//! What the kernel says, read and returned as it is: files of procfs and control groups, perf events, descriptors of
//! processes, and the system calls below them. Nothing here subtracts.

pub mod cgroup;
pub mod containers;
pub mod control;
pub mod cpus;
pub mod descriptors;
pub mod elevated;
pub(crate) mod exit_events;
pub(crate) mod fault_size;
pub mod node_lock;
pub(crate) mod perf_clock;
mod perf_event;
pub(crate) mod perf_ring;
pub(crate) mod perf_warm_up;
pub mod pidfd;
pub mod proc;
pub mod signal_mask;
pub mod sys;
pub(crate) mod taskstats;
mod tracefs;
pub(crate) mod trim;
