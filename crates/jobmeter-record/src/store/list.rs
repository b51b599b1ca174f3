//! Which runs there are: the newest first, each known by one read of the end of its file.

use super::{EXTENSION, Store, glob};
use crate::digest::Digest;
use crate::error::RecordError;
use crate::id::is_id_like;
use crate::os;
use crate::reader::read_digest;
use std::path::PathBuf;

/// A run of the store as a listing shows it.
#[derive(Debug, Clone)]
pub struct StoredRun {
    pub path: PathBuf,
    pub digest: Digest,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Finished,
    /// No trailer yet, and its process is alive on this host.
    Running,
    /// No trailer, and nobody left to write one (or the run is another host's).
    Crashed,
}

impl State {
    pub fn key(self) -> &'static str {
        match self {
            State::Finished => "finished",
            State::Running => "running",
            State::Crashed => "crashed",
        }
    }
}

#[derive(Debug, Default)]
pub struct Listing {
    pub runs: Vec<StoredRun>,
    /// Files of the store that are no readable runs, and why.
    pub unreadable: Vec<(PathBuf, RecordError)>,
}

/// Which exit a filter asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitFilter {
    Code(i32),
    /// Anything but exit code 0: other codes, signals, time limits, crashes.
    Failed,
    Running,
}

/// What a listing is limited to; every part must hold.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Exact, or with `*` and `?`.
    pub name: Option<String>,
    /// Part of the command line, its arguments joined by spaces.
    pub command: Option<String>,
    /// A tag and the value it must have; `None` for any value.
    pub tags: Vec<(String, Option<String>)>,
    pub since_unix_ns: Option<u64>,
    pub until_unix_ns: Option<u64>,
    pub exit: Option<ExitFilter>,
    pub host: Option<String>,
}

impl Filter {
    pub fn is_empty(&self) -> bool {
        self.name.is_none()
            && self.command.is_none()
            && self.tags.is_empty()
            && self.since_unix_ns.is_none()
            && self.until_unix_ns.is_none()
            && self.exit.is_none()
            && self.host.is_none()
    }

    pub fn matches(&self, run: &StoredRun) -> bool {
        let digest = &run.digest;
        let like = |pattern: &str, text: &str| glob::matches(pattern, text);
        let tag = |(key, value): &(String, Option<String>)| match (digest.tags.get(key), value) {
            (Some(found), Some(wanted)) => like(wanted, found),
            (found, None) => found.is_some(),
            (None, Some(_)) => false,
        };
        self.name.as_ref().is_none_or(|name| digest.name.as_ref().is_some_and(|found| like(name, found)))
            && self.command.as_ref().is_none_or(|part| digest.command.join(" ").contains(part.as_str()))
            && self.tags.iter().all(tag)
            && self.since_unix_ns.is_none_or(|since| digest.started_unix_ns >= since)
            && self.until_unix_ns.is_none_or(|until| digest.started_unix_ns <= until)
            && self.host.as_ref().is_none_or(|host| like(host, &digest.host))
            && self.exit.is_none_or(|exit| match exit {
                ExitFilter::Code(code) => digest.exit_code == Some(code),
                ExitFilter::Failed => match run.state() {
                    State::Finished => digest.exit_code != Some(0),
                    State::Crashed => true,
                    State::Running => false,
                },
                ExitFilter::Running => run.state() == State::Running,
            })
    }
}

impl StoredRun {
    pub fn state(&self) -> State {
        if self.digest.is_finished() {
            State::Finished
        } else if os::is_running_here(&self.digest.host, self.digest.pid) {
            State::Running
        } else {
            State::Crashed
        }
    }
}

impl Store {
    /// Identifiers of the store, newest first. A store that does not exist yet is empty. Symbolic links and
    /// everything that is not named like a run are passed over.
    pub fn ids(&self) -> Result<Vec<String>, RecordError> {
        let failed = |error| RecordError::io("list", self.directory(), error);
        let entries = match std::fs::read_dir(self.directory()) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut ids = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let Some((id, EXTENSION)) = name.to_str().and_then(|name| name.rsplit_once('.')) else {
                continue;
            };
            if is_id_like(id) && entry.file_type().map_err(failed)?.is_file() {
                ids.push(id.to_owned());
            }
        }
        ids.sort_unstable_by(|a, b| b.cmp(a));
        Ok(ids)
    }

    /// The newest `limit` runs that pass the filter.
    pub fn list(&self, filter: &Filter, limit: Option<usize>) -> Result<Listing, RecordError> {
        let mut listing = Listing::default();
        let limit = limit.unwrap_or(usize::MAX);
        for id in self.ids()? {
            if listing.runs.len() >= limit {
                break;
            }
            let path = self.path_of(&id)?;
            match read_digest(&path) {
                Ok(digest) => {
                    let run = StoredRun { path, digest };
                    if filter.matches(&run) {
                        listing.runs.push(run);
                    }
                }
                // Removed by somebody else between the listing and the look.
                Err(error) if error.io_kind() == Some(std::io::ErrorKind::NotFound) => {}
                // A meter has just made it and not written yet, or a disk was full before the first byte.
                Err(_) if std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.len() == 0) => {}
                Err(error) => listing.unreadable.push((path, error)),
            }
        }
        listing.runs.sort_by_key(|run| std::cmp::Reverse(run.digest.started_unix_ns));
        Ok(listing)
    }
}
