//! The run store: a private directory of run files named by their identifiers.

mod glob;
mod jobs;
mod list;
pub mod listing;
mod remove;
mod select;

pub use jobs::{RunGroup, Selected};
pub use list::{ExitFilter, Filter, Listing, State, StoredRun};
pub use remove::PruneRule;

use crate::error::RecordError;
use crate::id::is_id_like;
use crate::output::Target;
use jobmeter_model::RunInfo;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub(crate) const EXTENSION: &str = "jobmeter";

/// The folder of the jobs inside a store.
pub(crate) const JOBS: &str = "jobs";

/// A folder of run files.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
}

impl Store {
    /// `JOBMETER_STORE` unless it is `s3://…`, else `$XDG_DATA_HOME/jobmeter`, else `~/.local/share/jobmeter`, else (Windows)
    /// `%LOCALAPPDATA%\\jobmeter`. Touches nothing yet.
    pub fn open_default() -> Result<Store, RecordError> {
        Store::from_environment(|name| std::env::var_os(name))
    }

    fn from_environment(variable: impl Fn(&str) -> Option<OsString>) -> Result<Store, RecordError> {
        let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        // The XDG rules say that a relative path is to be ignored.
        let absolute = |name| set(name).filter(|path| path.is_absolute());
        // Object storage gets its runs after they have ended; until then they lie in the usual place.
        let is_here = |path: &PathBuf| !path.as_os_str().as_encoded_bytes().starts_with(b"s3://");
        let directory = set("JOBMETER_STORE")
            .filter(is_here)
            .or_else(|| absolute("XDG_DATA_HOME").map(|data| data.join("jobmeter")))
            .or_else(|| absolute("HOME").map(|home| home.join(".local/share/jobmeter")))
            .or_else(|| absolute("LOCALAPPDATA").map(|data| data.join("jobmeter")));
        directory.map(Store::at).ok_or_else(|| {
            RecordError::Invalid(
                "no place for the run store: neither JOBMETER_STORE nor HOME is set".to_owned(),
            )
        })
    }

    /// The store in this folder, which is made with the first run.
    pub fn at(directory: impl Into<PathBuf>) -> Store {
        Store { directory: directory.into() }
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where the run of this identifier is or would be.
    pub fn path_of(&self, id: &str) -> Result<PathBuf, RecordError> {
        if is_id_like(id) {
            return Ok(self.directory.join(format!("{id}.{EXTENSION}")));
        }
        Err(RecordError::Invalid(format!(
            "`{}` is no run identifier; it has letters, digits and dashes only",
            crate::text::printable(id)
        )))
    }

    /// The place of a new run. The store is made (mode 0700) when it is not there.
    pub fn target(&self, info: &RunInfo) -> Result<Target, RecordError> {
        self.place_of(info).map(Target::Stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(variables: &[(&str, &str)]) -> Option<String> {
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
        Store::from_environment(find).ok().map(|store| store.directory.display().to_string())
    }

    #[test]
    fn the_place_follows_the_environment() {
        let home = ("HOME", "/home/me");
        assert_eq!(directory(&[home]).as_deref(), Some("/home/me/.local/share/jobmeter"));
        assert_eq!(directory(&[home, ("XDG_DATA_HOME", "/d")]).as_deref(), Some("/d/jobmeter"));
        assert_eq!(
            directory(&[home, ("XDG_DATA_HOME", "d")]).as_deref(),
            Some("/home/me/.local/share/jobmeter")
        );
        assert_eq!(directory(&[home, ("JOBMETER_STORE", "runs")]).as_deref(), Some("runs"));
        assert_eq!(directory(&[("HOME", ""), ("JOBMETER_STORE", "")]), None);
        // Object storage is no folder.
        let remote = ("JOBMETER_STORE", "s3://bucket/runs");
        assert_eq!(directory(&[home, remote]).as_deref(), Some("/home/me/.local/share/jobmeter"));
    }

    #[test]
    fn an_identifier_never_leaves_the_store() {
        let store = Store::at("/s");
        for id in ["", "..", "a/b", "../x", "a.b", "a\0b", "-\n"] {
            assert!(store.path_of(id).is_err(), "{id:?}");
        }
    }
}
