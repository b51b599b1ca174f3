//! Opening the pipe of another process: only a pipe, and only one of this user or of root.

use super::place::{self, SUFFIX};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// The writing end. Nothing else than a pipe is opened: a plain file would be overwritten. `ENXIO` where nobody
/// reads it.
pub(super) fn open_for_writing(path: &Path) -> io::Result<File> {
    check(&std::fs::symlink_metadata(path)?)?;
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_NOCTTY;
    let pipe = std::fs::OpenOptions::new().write(true).custom_flags(flags).open(path)?;
    // What is open is what counts: the name may have been given to something else in between.
    check(&pipe.metadata()?)?;
    Ok(pipe)
}

fn check(meta: &Metadata) -> io::Result<()> {
    if meta.file_type().is_fifo() && [place::own_uid(), 0].contains(&meta.uid()) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a pipe of this user"))
}

pub(super) fn has_no_reader(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENXIO)
}

/// Most pipes that are looked at in one sweep: it must stay short.
const MOST_SWEPT: usize = 64;

/// Pipes of another boot may be those of another machine, which we cannot ask: only old ones are removed.
const FOREIGN_AGE: Duration = Duration::from_hours(30 * 24);

/// A pipe without its final name yet is not read for an instant.
const NEWBORN_AGE: Duration = Duration::from_mins(1);

/// Removes pipes that were left by meters that were killed: nobody reads them. Safe beside living meters, also of
/// other PID namespaces, for a pipe gets its final name only once it is read.
pub(super) fn sweep(dir: &Path, boot: &str) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten().take(MOST_SWEPT) {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let Ok(meta) = entry.metadata() else { continue };
        let stem = name.strip_suffix(NEW).unwrap_or(name);
        if !stem.ends_with(SUFFIX) || !meta.file_type().is_fifo() || meta.uid() != place::own_uid() {
            continue;
        }
        let is_foreign = stem.matches('-').count() == 2 && !stem.starts_with(boot);
        let least_age = match (is_foreign, stem != name) {
            (true, _) => FOREIGN_AGE,
            (false, true) => NEWBORN_AGE,
            (false, false) => Duration::ZERO,
        };
        let age = meta.modified().ok().and_then(|modified| modified.elapsed().ok()).unwrap_or_default();
        if age >= least_age && open_for_writing(&entry.path()).is_err_and(|error| has_no_reader(&error)) {
            drop(std::fs::remove_file(entry.path()));
        }
    }
}

/// Ends the name of a pipe that is not read yet.
pub(super) const NEW: &str = ".new";
