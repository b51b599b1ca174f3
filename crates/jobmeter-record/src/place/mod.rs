//! Where output goes: the one way in which jobmeter puts a file, a page or a summary in its place.
//!
//! A file is written beside its place under a name that nobody can guess and then moved there, so that it
//! appears whole or not at all. Without `force` nothing that exists is replaced, not even what appeared while
//! the file was written. With `force` a link stays a link and its target is replaced; the new file has the
//! permissions of the old one, and its owner where the kernel lets us. New files have mode 0600.
//! Pipes, devices and `/dev/stdout` are written straight into.

mod aside;
mod publish;
mod resolve;
mod stream;

pub use aside::AsideFile;
pub use stream::OutputWriter;

use crate::error::RecordError;
use resolve::Place;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// Finds out whether [`write`] could put a file there now, without leaving a trace: for the moment before a
/// job that runs for hours. A disk that is full, or fills up meanwhile, is not foreseen.
pub fn check(path: &Path, force: bool) -> Result<(), RecordError> {
    let failed = |error| RecordError::io("write", path, error);
    match Place::of(path)? {
        Place::Descriptor(fd) => stream::check_descriptor(fd).map_err(failed),
        // Opening a pipe and closing it again would end its reader.
        Place::Special(special) => stream::check_access(&special).map_err(failed),
        Place::New(target) => aside::probe_folder(&target).map_err(failed),
        Place::Existing(..) if !force => Err(RecordError::Exists { path: path.to_owned() }),
        Place::Existing(target, old) => {
            let opened = OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW).open(&target);
            match opened.map_err(|error| (error.raw_os_error(), error)) {
                // Replaced, or written in place where its folder is closed to us.
                Ok(_) => Ok(()),
                // Immutable, append-only or on a read-only file system: no rename replaces it either.
                Err((Some(libc::EPERM | libc::EROFS), error)) => Err(failed(error)),
                Err((_, error)) if is_kept_by_sticky_folder(&target, &old) => Err(failed(error)),
                Err(_) => aside::probe_folder(&target).map_err(failed),
            }
        }
    }
}

/// [`check`] for a run file, which grows in its place. It is no stream, and a link, even a dangling one, is
/// followed only with `force`.
pub fn check_record(path: &Path, force: bool) -> Result<(), RecordError> {
    if !force && path.symlink_metadata().is_ok_and(|meta| meta.is_symlink()) {
        return Err(RecordError::Exists { path: path.to_owned() });
    }
    refuse_stream(path)?;
    check(path, force)
}

/// Before something is opened that needs a regular file: opening a pipe waits for its reader.
pub(crate) fn refuse_stream(path: &Path) -> Result<(), RecordError> {
    match Place::of(path)? {
        Place::Descriptor(_) | Place::Special(_) => Err(not_regular(path)),
        Place::New(_) | Place::Existing(..) => Ok(()),
    }
}

/// Whether two paths lead to the same file, whether or not it exists.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let resolved = |path| match Place::of(path) {
        Ok(Place::New(target) | Place::Existing(target, _)) => {
            let folder = resolve::folder_of(&target).canonicalize().ok()?;
            Some(folder.join(target.file_name()?))
        }
        _ => None,
    };
    resolved(one).is_some_and(|one| Some(one) == resolved(other))
}

/// Puts `bytes` there.
pub fn write(path: &Path, bytes: &[u8], force: bool) -> Result<(), RecordError> {
    put(AsideFile::create(path, force)?, path, bytes)
}

/// As [`write`], but a pipe that takes nothing for so long is given up: for the end of a run, which nobody
/// may hold up.
pub fn write_within(path: &Path, bytes: &[u8], force: bool, patience: Duration) -> Result<(), RecordError> {
    put(AsideFile::create_within(path, force, patience)?, path, bytes)
}

fn put(aside: AsideFile, path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    let mut out = aside.writer()?;
    out.write_all(bytes).map_err(|error| RecordError::io("write", path, error))?;
    aside.publish().map(drop)
}

fn not_regular(path: &Path) -> RecordError {
    let path = crate::text::printable(&path.to_string_lossy());
    RecordError::Invalid(format!("{path} is not a regular file and is not replaced; name a file"))
}

/// In a sticky folder such as /tmp only the owner of a file or of the folder may rename over it.
fn is_kept_by_sticky_folder(target: &Path, old: &std::fs::Metadata) -> bool {
    // SAFETY: geteuid has no arguments and cannot fail.
    let us = unsafe { libc::geteuid() };
    let is_sticky = |folder: &std::fs::Metadata| {
        folder.mode() & 0o1000 != 0 && ![folder.uid(), old.uid(), 0].contains(&us)
    };
    resolve::folder_of(target).metadata().is_ok_and(|folder| us != 0 && is_sticky(&folder))
}

/// The errors that mean: this file system or kernel does not know the call, try another way.
fn is_unsupported(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOSYS | libc::EINVAL | libc::EPERM | libc::EOPNOTSUPP | libc::EMLINK | libc::EISDIR)
    )
}
