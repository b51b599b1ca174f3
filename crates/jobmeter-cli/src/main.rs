//! The `jobmeter` command: arguments in, exit codes out. One file per subcommand under `cmd/`.

// The standard runtime would set SIGPIPE to ignored before `main`, and the job would inherit that.
#![no_main]

mod cli;
mod cmd;
mod config;
mod math;
mod streams;

use std::panic;

/// Our own failure, as `env`, `timeout` and `nice` say it.
const OWN_FAILURE: u8 = 125;

#[unsafe(no_mangle)]
pub extern "C" fn main(_count: libc::c_int, _arguments: *const *const libc::c_char) -> libc::c_int {
    jobmeter_core::sys::begin_own_account();
    streams::guard();
    let code = panic::catch_unwind(cli::dispatch).unwrap_or(OWN_FAILURE);
    // Not by `exit`: the exit handlers of a hung driver's library could hold us up for ever.
    // SAFETY: ends the process; what was printed is flushed where it was printed.
    unsafe { libc::_exit(libc::c_int::from(code)) }
}
