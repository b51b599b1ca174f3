//! Everything with a clock or a signal: starting and supervising a job, attaching to a process, a meter on a thread
//! inside a program, marks that arrive from outside.

pub mod attach;
pub(crate) mod cadence;
pub mod commands;
pub mod fork_fresh;
pub mod job;
pub mod limits;
pub mod marks;
pub(crate) mod oom;
pub mod plain;
pub(crate) mod sentinel;
pub mod session;
pub mod spawn;
pub mod supervise;
