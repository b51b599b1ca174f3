//! The `jobmeter` command: arguments in, exit codes out. One file per subcommand under `cmd/`.

// The standard runtime would set SIGPIPE to ignored before `main`, and the job would inherit that.
#![cfg_attr(target_os = "linux", no_main)]
#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "what belongs to measuring is used on Linux only")
)]

mod cli;
mod cmd;
mod config;
#[cfg_attr(target_os = "linux", path = "linux/mod.rs")]
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/mod.rs")]
mod platform;
mod say;
mod trust;

use std::panic;

/// Our own failure, as `env`, `timeout` and `nice` say it.
const OWN_FAILURE: u8 = 125;

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    run_safely().into()
}

/// The whole program; returns its exit code, also after a panic.
fn run_safely() -> u8 {
    panic::set_hook(Box::new(say_what_went_wrong));
    panic::catch_unwind(cli::dispatch).unwrap_or(OWN_FAILURE)
}

/// One sentence, in place of a panic message and a hint at backtraces.
fn say_what_went_wrong(info: &panic::PanicHookInfo<'_>) {
    let place =
        info.location().map_or_else(String::new, |place| format!(" at {}:{}", place.file(), place.line()));
    let text = info.payload_as_str().unwrap_or("no reason given");
    say::say(&format!("jobmeter: internal error{place}: {}", jobmeter_model::text::printable(text)));
}
