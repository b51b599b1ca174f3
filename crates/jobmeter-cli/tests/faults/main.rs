//! The fault sweep: every system call that the meter makes fails in turn, and every limit is set from tiny
//! upwards. Whatever fails, the job runs exactly once with its own output and exit status, or never, and then
//! the meter says 125 (126 and 127: it could not be executed); nobody else is harmed, nothing hangs, panics or
//! is left behind. Each sweep runs in a PID namespace of its own, as its PID 1, beside bystander processes.
#![cfg(target_arch = "x86_64")]

mod attach;
mod bench;
mod limits;
mod namespace;
mod run;
mod sweep;
mod verdict;
