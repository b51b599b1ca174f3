//! `jobmeter --version --json`: the program and the formats it writes, for programs that call it.

use super::out;
use std::ffi::OsStr;

/// Whether the whole command line is `--version --json`, in either order. clap itself prints the version as text as
/// soon as it sees the flag.
pub(crate) fn is_asked_as_json() -> bool {
    let words: Vec<_> = crate::platform::arguments().skip(1).collect();
    let is_version = |word: &OsStr| word == "--version" || word == "-V";
    match words.as_slice() {
        [first, second] => {
            (is_version(first) && second == "--json") || (first == "--json" && is_version(second))
        }
        _ => false,
    }
}

pub(crate) fn print_as_json() -> Result<u8, String> {
    let answer = serde_json::json!({
        "name": "jobmeter",
        "version": env!("CARGO_PKG_VERSION"),
        "summary_schema_version": jobmeter_model::summary::SCHEMA_VERSION,
        "run_file_version": jobmeter_record::RUN_FILE_VERSION,
        "oldest_run_file_version": jobmeter_record::OLDEST_RUN_FILE_VERSION,
        "architecture": std::env::consts::ARCH,
        "operating_system": std::env::consts::OS,
        "features": features(),
    });
    out::print(&format!("{answer:#}\n"))
}

/// What was built in that a `minimal` build leaves out, and what was added.
fn features() -> Vec<&'static str> {
    let all = [
        ("live", cfg!(feature = "live")),
        ("parquet", cfg!(feature = "parquet")),
        ("png", cfg!(feature = "png")),
        ("sqlite", cfg!(feature = "sqlite")),
    ];
    all.into_iter().filter_map(|(name, is_there)| is_there.then_some(name)).collect()
}
