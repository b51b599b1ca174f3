//! The subcommands that need Linux, on other systems: they take any arguments and say so.

use std::ffi::OsString;

const NEEDS_LINUX: &str = "measuring needs Linux; here jobmeter reads runs that were recorded there (show, ls, \
                           report, plot, export, compare, check, advise, servers)";

/// Whatever is given.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct AnyArgs {
    /// Not looked at: this needs Linux
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub(crate) words: Vec<OsString>,
}

impl AnyArgs {
    pub(crate) fn plain(words: Vec<OsString>) -> AnyArgs {
        AnyArgs { words }
    }
}

pub(crate) fn refuse(_arguments: AnyArgs) -> Result<u8, String> {
    Err(NEEDS_LINUX.to_owned())
}

pub(crate) mod attach {
    pub(crate) use super::{AnyArgs as AttachArgs, refuse as main};
}

pub(crate) mod host {
    pub(crate) use super::{AnyArgs as HostArgs, refuse as main};
}

pub(crate) mod mark {
    pub(crate) use super::{AnyArgs as MarkArgs, refuse as main};
}

pub(crate) mod run {
    pub(crate) use super::{AnyArgs as RunArgs, refuse as main};
}

pub(crate) mod gpu_tracker {
    pub(crate) use super::AnyArgs as GpuTrackerArgs;
    use super::OsString;

    pub(crate) fn called_by_name() -> Option<Vec<OsString>> {
        None
    }

    pub(crate) fn run(_words: Vec<OsString>) -> u8 {
        crate::say::say(&format!("jobmeter: {}", super::NEEDS_LINUX));
        crate::OWN_FAILURE
    }
}
