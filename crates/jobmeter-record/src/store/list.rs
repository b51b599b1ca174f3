//! Which runs there are: the newest first, each known by one read of the end of its file.

use super::{EXTENSION, JOBS, Store, glob};
use crate::digest::Digest;
use crate::error::RecordError;
use crate::id::is_id_like;
use crate::os;
use crate::reader::read_digest;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A run of the store as a listing shows it.
#[derive(Debug, Clone)]
pub struct StoredRun {
    /// Where its file is.
    pub path: PathBuf,
    /// What a list shows of it.
    pub digest: Digest,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has a summary.
    Finished,
    /// No trailer yet, and its process is alive on this host.
    Running,
    /// No trailer, and nobody left to write one (or the run is another host's).
    Crashed,
}

impl State {
    /// The word in lists and JSON.
    pub fn key(self) -> &'static str {
        match self {
            State::Finished => "finished",
            State::Running => "running",
            State::Crashed => "crashed",
        }
    }
}

/// The runs of a store.
#[derive(Debug, Default)]
pub struct Listing {
    /// The youngest first.
    pub runs: Vec<StoredRun>,
    /// Files of the store that are no readable runs, and why.
    pub unreadable: Vec<(PathBuf, RecordError)>,
}

impl Listing {
    /// Adds the run of this file if it passes the filter.
    pub(super) fn look_at(&mut self, path: PathBuf, filter: &Filter) {
        match read_digest(&path) {
            Ok(digest) => {
                let run = StoredRun { path, digest };
                if filter.matches(&run) {
                    self.runs.push(run);
                }
            }
            // Removed by somebody else between the listing and the look.
            Err(error) if error.io_kind() == Some(ErrorKind::NotFound) => {}
            // A meter has just made it and not written yet, or a disk was full before the first byte.
            Err(_) if std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.len() == 0) => {}
            Err(error) => self.unreadable.push((path, error)),
        }
    }
}

/// Which exit a filter asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitFilter {
    /// This exit code.
    Code(i32),
    /// Anything but exit code 0: other codes, signals, time limits, crashes.
    Failed,
    /// Those that run still.
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
    /// Begun then or later.
    pub since_unix_ns: Option<u64>,
    /// Begun before then.
    pub until_unix_ns: Option<u64>,
    /// That ended like this.
    pub exit: Option<ExitFilter>,
    /// On this machine.
    pub host: Option<String>,
    /// A job: its identifier, or scheduler and identifier (`slurm:4711`), with a step (`4711.0`) or without.
    pub job: Option<String>,
}

impl Filter {
    /// Whether it lets every run pass.
    pub fn is_empty(&self) -> bool {
        self.name.is_none()
            && self.command.is_none()
            && self.tags.is_empty()
            && self.since_unix_ns.is_none()
            && self.until_unix_ns.is_none()
            && self.exit.is_none()
            && self.host.is_none()
            && self.job.is_none()
    }

    /// Whether the run passes.
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
            && self.job.as_ref().is_none_or(|name| digest.job.as_ref().is_some_and(|job| job.is_named(name)))
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
    /// How far the run has come.
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
        Ok(self.entries()?.into_iter().map(|(id, _)| id).collect())
    }

    /// Identifiers and files, newest first: of the store itself, and of the folders of its jobs.
    pub(super) fn entries(&self) -> Result<Vec<(String, PathBuf)>, RecordError> {
        let mut entries = runs_of(self.directory())?;
        for job in folders_of(&self.directory().join(JOBS))? {
            for part in folders_of(&job)? {
                entries.extend(runs_of(&part)?);
            }
        }
        entries.sort_unstable_by(|a, b| b.cmp(a));
        Ok(entries)
    }

    /// The newest `limit` runs that pass the filter.
    pub fn list(&self, filter: &Filter, limit: Option<usize>) -> Result<Listing, RecordError> {
        let mut listing = Listing::default();
        let limit = limit.unwrap_or(usize::MAX);
        for (_, path) in self.entries()? {
            if listing.runs.len() >= limit {
                break;
            }
            listing.look_at(path, filter);
        }
        listing.runs.sort_by_key(|run| std::cmp::Reverse(run.digest.started_unix_ns));
        Ok(listing)
    }
}

/// The runs of one folder, which need not exist.
fn runs_of(folder: &Path) -> Result<Vec<(String, PathBuf)>, RecordError> {
    let mut runs = Vec::new();
    each_entry(folder, &mut |entry, kind| {
        let name = entry.file_name();
        if let Some((id, EXTENSION)) = name.to_str().and_then(|name| name.rsplit_once('.'))
            && is_id_like(id)
            && kind.is_file()
        {
            runs.push((id.to_owned(), entry.path()));
        }
    })?;
    Ok(runs)
}

fn folders_of(folder: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let mut folders = Vec::new();
    each_entry(folder, &mut |entry, kind| {
        if kind.is_dir() {
            folders.push(entry.path());
        }
    })?;
    Ok(folders)
}

fn each_entry(
    folder: &Path,
    look: &mut dyn FnMut(&std::fs::DirEntry, std::fs::FileType),
) -> Result<(), RecordError> {
    let failed = |error| RecordError::io("list", folder, error);
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(failed)?,
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        look(&entry, entry.file_type().map_err(failed)?);
    }
    Ok(())
}
