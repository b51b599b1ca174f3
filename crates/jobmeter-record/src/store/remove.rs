//! Runs out of the store. Only files of the store itself are ever removed: by a name without a path in it,
//! never through a symbolic link.

use super::{EXTENSION, Filter, State, Store, StoredRun, jobs};
use crate::error::RecordError;
use crate::id::is_id_like;
use crate::reader::read_digest;
use std::path::{Path, PathBuf};

/// What `prune` takes away: runs that are both older and beyond the number to keep, where given.
#[derive(Debug, Clone, Copy, Default)]
pub struct PruneRule {
    /// Keep this many of the youngest.
    pub keep: Option<usize>,
    /// Remove those that began before then.
    pub started_before_unix_ns: Option<u64>,
}

impl Store {
    /// The runs to remove for a selector, checked to lie in the store.
    pub fn removable(&self, selector: &str, even_running: bool) -> Result<Vec<PathBuf>, RecordError> {
        let paths = self.select_all(selector)?;
        for path in &paths {
            self.check_inside(path)?;
            let running = read_digest(path)
                .is_ok_and(|digest| StoredRun { path: path.clone(), digest }.state() == State::Running);
            if running && !even_running {
                return Err(RecordError::Invalid(format!(
                    "{} is still being recorded; use --force to remove it all the same",
                    crate::text::printable(&path.to_string_lossy())
                )));
            }
        }
        Ok(paths)
    }

    /// The runs a rule would remove, oldest last. Running ones always stay.
    pub fn prunable(&self, rule: PruneRule) -> Result<Vec<StoredRun>, RecordError> {
        let runs = self.list(&Filter::default(), None)?.runs;
        let old = |run: &StoredRun| {
            rule.started_before_unix_ns.is_none_or(|moment| run.digest.started_unix_ns < moment)
        };
        let beyond = runs.into_iter().skip(rule.keep.unwrap_or(0));
        Ok(beyond.filter(|run| old(run) && run.state() != State::Running).collect())
    }

    /// Removes the file of a run.
    pub fn remove(&self, path: &Path) -> Result<(), RecordError> {
        let path = self.check_inside(path)?;
        std::fs::remove_file(&path).map_err(|error| RecordError::io("remove", &path, error))?;
        // The folders of a job go with its last run; a folder that is not empty stays.
        if let Some(part) = path.parent().filter(|part| *part != self.directory()) {
            let _gone = std::fs::remove_dir(part);
            let _gone = part.parent().map(std::fs::remove_dir);
        }
        Ok(())
    }

    /// The path of a run of this store, by the store's own name.
    fn check_inside(&self, path: &Path) -> Result<PathBuf, RecordError> {
        let outside = || {
            RecordError::Invalid(format!(
                "{} is not a run of the store {} and is not removed",
                crate::text::printable(&path.to_string_lossy()),
                crate::text::printable(&self.directory().to_string_lossy())
            ))
        };
        let resolve = |path: &Path| path.canonicalize().map_err(|error| RecordError::io("find", path, error));
        let name = path.file_name().ok_or_else(outside)?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let named_like_a_run = name
            .to_str()
            .and_then(|name| name.rsplit_once('.'))
            .is_some_and(|(id, extension)| is_id_like(id) && extension == EXTENSION);
        let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
        if !named_like_a_run || !is_file {
            return Err(outside());
        }
        let (store, folder) = (resolve(self.directory())?, resolve(parent)?);
        if folder == store {
            Ok(self.directory().join(name))
        } else if jobs::is_part_of_a_job(&store, &folder) {
            Ok(folder.join(name))
        } else {
            Err(outside())
        }
    }
}
