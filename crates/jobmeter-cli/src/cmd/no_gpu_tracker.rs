//! `jobmeter gpu-tracker` in a build without SQLite, in which that program keeps its files: it says so.

use std::ffi::OsString;

/// Whatever is given.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct GpuTrackerArgs {
    /// Not looked at: this build has no SQLite
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub(crate) words: Vec<OsString>,
}

pub(crate) fn called_by_name() -> Option<Vec<OsString>> {
    None
}

pub(crate) fn run(_words: Vec<OsString>) -> u8 {
    crate::say::say(
        "jobmeter: this jobmeter was built without SQLite, which gpu-tracker needs; use a whole build",
    );
    crate::OWN_FAILURE
}
