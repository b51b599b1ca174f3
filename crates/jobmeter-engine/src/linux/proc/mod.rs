//! Probes: each reads one kernel source and returns what it said, raw and cumulative. None subtracts.

pub mod io;
pub(crate) mod maps;
pub mod mounts;
pub(crate) mod pagemap;
pub(crate) mod process_count;
pub mod root;
pub mod scan;
pub mod smaps;
pub mod stat;
pub mod statm;
pub mod status;
pub mod system;
pub(crate) mod vmstat;
