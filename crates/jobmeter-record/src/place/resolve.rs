//! What an output path stands for, with links followed by hand: a link may dangle, and then its target is
//! what is to be made.

use crate::error::RecordError;
use std::fs::Metadata;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// As many links in a row as the kernel follows.
const MOST_LINKS: u32 = 40;

#[derive(Debug)]
pub(super) enum Place {
    /// Nothing is there yet. The path is no link.
    New(PathBuf),
    /// A regular file. The path is no link.
    Existing(PathBuf, Metadata),
    /// A pipe or a character device.
    Special(PathBuf),
    /// `/dev/stdout` and its kind: a descriptor that we were started with. Opening it anew would write from the
    /// start of the file that it is redirected to, over what the job has written.
    Descriptor(RawFd),
}

impl Place {
    pub(super) fn of(path: &Path) -> Result<Place, RecordError> {
        let failed = |error| RecordError::io("write", path, error);
        let mut at = path.to_owned();
        for _ in 0..=MOST_LINKS {
            if let Some(fd) = descriptor_of(&at) {
                return Ok(Place::Descriptor(fd));
            }
            // "out/" and "out/.." name a folder, whether or not it is there.
            if at.as_os_str().as_bytes().ends_with(b"/") || at.file_name().is_none() {
                return Err(failed(said(
                    io::ErrorKind::IsADirectory,
                    "it names a folder; name a file in it",
                )));
            }
            let meta = match at.symlink_metadata() {
                Ok(meta) => meta,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    require_folder(&at).map_err(failed)?;
                    return Ok(Place::New(at));
                }
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                    return Err(failed(said(error.kind(), "what should be its folder is a file")));
                }
                Err(error) => return Err(failed(error)),
            };
            let kind = meta.file_type();
            if kind.is_symlink() {
                refuse_foreign_link(&at, &meta).map_err(failed)?;
                let next = std::fs::read_link(&at).map_err(failed)?;
                at = folder_of(&at).join(next);
            } else if kind.is_file() {
                return Ok(Place::Existing(at, meta));
            } else if kind.is_dir() {
                return Err(failed(said(io::ErrorKind::IsADirectory, "it is a folder; name a file in it")));
            } else if kind.is_fifo() || kind.is_char_device() {
                return Ok(Place::Special(at));
            } else {
                return Err(super::not_regular(path));
            }
        }
        Err(failed(io::Error::from_raw_os_error(libc::ELOOP)))
    }
}

/// The folder that a path lies in; `.` for a bare name.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn require_folder(path: &Path) -> io::Result<()> {
    match folder_of(path).metadata() {
        Ok(meta) if meta.is_dir() => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Err(said(io::ErrorKind::NotFound, "its folder does not exist; make it first")),
    }
}

/// The kernel's rule of `fs.protected_symlinks`, whatever it is set to: in a sticky folder that everybody may
/// write, somebody else's link does not lead us to a file of ours.
fn refuse_foreign_link(link: &Path, meta: &Metadata) -> io::Result<()> {
    let folder = folder_of(link).metadata()?;
    // SAFETY: geteuid has no arguments and cannot fail.
    let us = unsafe { libc::geteuid() };
    let is_shared = folder.mode() & 0o1002 == 0o1002;
    if is_shared && meta.uid() != us && meta.uid() != folder.uid() {
        return Err(said(io::ErrorKind::PermissionDenied, "it is another user's link in a shared folder"));
    }
    Ok(())
}

fn descriptor_of(path: &Path) -> Option<RawFd> {
    let text = path.to_str()?;
    match text {
        "/dev/stdout" => Some(libc::STDOUT_FILENO),
        "/dev/stderr" => Some(libc::STDERR_FILENO),
        _ => ["/dev/fd/", "/proc/self/fd/"]
            .iter()
            .find_map(|folder| text.strip_prefix(folder))
            .filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|number| number.parse().ok()),
    }
}

fn said(kind: io::ErrorKind, text: &'static str) -> io::Error {
    io::Error::new(kind, text)
}
