//! Whose word counts: the settings file of a working directory that others can write to as well, and what the
//! caller names when jobmeter has more rights than the caller.

use crate::platform::owner;
use crate::say::{say, shown};
use std::fs::File;
use std::path::Path;

/// Settings that decide what is stored, where, and with which secrets: never taken from a working directory, which
/// may be a checkout of somebody else's project.
pub(crate) const NOT_FROM_HERE: [&str; 4] = ["record", "record_limit", "store", "redact"];

/// Variables that name code to load, or files to take the driver's word from.
const LOADING: [&str; 2] = ["JOBMETER_NVML_PATH", "JOBMETER_GPU_ROOT"];

/// A file in the working directory.
pub(crate) enum Found {
    Nothing,
    /// Open, and ours or root's alone.
    Trusted(File),
    /// The reason, to go on with "so it is not read".
    Untrusted(String),
}

/// Says which variables the GPU drivers' loader passes over.
pub(crate) fn warn_of_ignored_variables() {
    let is_set = |name: &&&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if owner::is_elevated() {
        LOADING.iter().filter(is_set).for_each(|name| warn_ignored(name));
    }
}

pub(crate) fn warn_ignored(what: &str) {
    say(&format!("jobmeter: warning: {what} is ignored: jobmeter runs with more rights than its caller"));
}

pub(crate) fn warn_untrusted(path: &Path, reason: &str) -> String {
    format!("{} is not read: {reason}", shown(path))
}
