//! The `jobmeter` command: arguments in, exit codes out. One file per subcommand under `cmd/`.

// The standard runtime would set SIGPIPE to ignored before `main`, and the job would inherit that.
#![no_main]

mod cli;
mod cmd;
mod config;
mod leave;
mod math;
mod memory;
mod streams;
mod trust;

use std::panic;

/// Our own failure, as `env`, `timeout` and `nice` say it.
const OWN_FAILURE: u8 = 125;

#[unsafe(no_mangle)]
pub extern "C" fn main(_count: libc::c_int, _arguments: *const *const libc::c_char) -> libc::c_int {
    jobmeter_engine::linux::sys::begin_own_account();
    streams::guard();
    keep_freed_memory();
    panic::set_hook(Box::new(say_what_went_wrong));
    leave::with(panic::catch_unwind(cli::dispatch).unwrap_or(OWN_FAILURE))
}

/// One sentence, in place of a panic message and a hint at backtraces.
fn say_what_went_wrong(info: &panic::PanicHookInfo<'_>) {
    let place =
        info.location().map_or_else(String::new, |place| format!(" at {}:{}", place.file(), place.line()));
    let text = info.payload_as_str().unwrap_or("no reason given");
    cmd::measure::say(&format!("jobmeter: internal error{place}: {}", jobmeter_model::text::printable(text)));
}

/// The heap is small and grows in steps of its own: to give pages back and ask for them again costs more than they do.
fn keep_freed_memory() {
    const STEP_BYTES: libc::c_int = 256 << 10;
    const TRIM_BYTES: libc::c_int = 16 << 20;
    // SAFETY: plain settings of the allocator, before any thread.
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, STEP_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, TRIM_BYTES);
    }
}
