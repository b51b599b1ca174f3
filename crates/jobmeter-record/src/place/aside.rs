//! Files that appear whole or not at all: written beside their place under another name, then moved.

use super::resolve::{Place, folder_of};
use super::stream::OutputWriter;
use super::{not_regular, publish};
use crate::error::RecordError;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Output under way. Dropped before it is published, it leaves nothing behind.
#[derive(Debug)]
pub struct AsideFile {
    /// As the caller named it, for messages.
    named: PathBuf,
    out: OutputWriter,
    /// `None`: a stream, which has no place to be moved to.
    aside: Option<Aside>,
}

#[derive(Debug)]
pub(super) struct Aside {
    pub(super) path: PathBuf,
    pub(super) target: PathBuf,
    /// The file that is to be replaced.
    pub(super) replaces: Option<Metadata>,
    pub(super) force: bool,
}

impl AsideFile {
    /// Refuses a target that exists unless `force` is given, and in any case a folder, a socket and a disk.
    pub fn create(path: &Path, force: bool) -> Result<AsideFile, RecordError> {
        AsideFile::open(path, force, None)
    }

    pub(super) fn create_within(
        path: &Path,
        force: bool,
        patience: Duration,
    ) -> Result<AsideFile, RecordError> {
        AsideFile::open(path, force, Some(patience))
    }

    fn open(path: &Path, force: bool, patience: Option<Duration>) -> Result<AsideFile, RecordError> {
        let failed = |error| RecordError::io("write", path, error);
        let stream = |out: io::Result<OutputWriter>| {
            Ok(AsideFile { named: path.to_owned(), out: out.map_err(failed)?, aside: None })
        };
        let (target, replaces) = match Place::of(path)? {
            Place::Descriptor(fd) => return stream(OutputWriter::to_descriptor(fd, patience)),
            Place::Special(special) => return stream(OutputWriter::to_special(&special, patience)),
            Place::Existing(..) if !force => return Err(RecordError::Exists { path: path.to_owned() }),
            Place::Existing(target, meta) => (target, Some(meta)),
            Place::New(target) => (target, None),
        };
        let (file, aside) = match create_unguessable(folder_of(&target)) {
            // The folder is closed to us, the file may be open: it gets the content when that is whole.
            Err(error) if replaces.is_some() => {
                publish::open_in_place(&target).map_err(|_| failed(error))?;
                create_unguessable(&std::env::temp_dir()).map_err(failed)?
            }
            other => other.map_err(failed)?,
        };
        let aside = Aside { path: aside, target, replaces, force };
        Ok(AsideFile { named: path.to_owned(), out: OutputWriter::to_file(file), aside: Some(aside) })
    }

    /// Where it is being written, for a library that wants a path. A stream has none.
    pub fn path(&self) -> Result<&Path, RecordError> {
        self.aside.as_ref().map(|aside| aside.path.as_path()).ok_or_else(|| not_regular(&self.named))
    }

    /// Writes to the file while it is not in its place yet.
    pub fn writer(&self) -> Result<OutputWriter, RecordError> {
        self.out.try_clone().map_err(|error| RecordError::io("write", &self.named, error))
    }

    /// Moves the file to its place, and gives the writer that goes on at its end. A target that came into
    /// being meanwhile is not replaced unasked.
    pub fn publish(mut self) -> Result<OutputWriter, RecordError> {
        let out = self.writer()?;
        let Some(aside) = &self.aside else { return Ok(out) };
        match publish::publish(aside, out.into_file()) {
            Ok(publish::Placed { file, aside_is_gone }) => {
                if aside_is_gone {
                    self.aside = None;
                }
                Ok(OutputWriter::to_file(file))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(RecordError::Exists { path: self.named.clone() })
            }
            Err(error) => Err(RecordError::io("write", &self.named, error)),
        }
    }
}

impl Drop for AsideFile {
    fn drop(&mut self) {
        let Some(aside) = &self.aside else { return };
        // A database that was cut short leaves its journal as well.
        for ending in ["", "-journal"] {
            let mut path = aside.path.clone().into_os_string();
            path.push(ending);
            if std::fs::remove_file(path).is_err() {
                // Already gone; there is nothing to tidy up.
            }
        }
    }
}

/// A new file of mode 0600 under a name that nobody can prepare a trap for. The name does not grow with that
/// of the target, which may be as long as the file system allows.
fn create_unguessable(folder: &Path) -> io::Result<(File, PathBuf)> {
    let mut bytes = [0_u8; 8];
    // SAFETY: getrandom fills the buffer that we own; so few bytes come whole. By number: glibc 2.17 has no function.
    let got = unsafe { libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), bytes.len(), 0) };
    if got != bytes.len() as libc::c_long {
        return Err(io::Error::last_os_error());
    }
    let path = folder.join(format!(".jobmeter-{:016x}.part", u64::from_ne_bytes(bytes)));
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(&path)?;
    Ok((file, path))
}

/// Whether a file can be made in the folder of `target`: by making one, nameless where the file system can.
pub(super) fn probe_folder(target: &Path) -> io::Result<()> {
    let folder = folder_of(target);
    match OpenOptions::new().write(true).mode(0o600).custom_flags(libc::O_TMPFILE).open(folder) {
        Err(error) if super::is_unsupported(&error) => {
            let (_, path) = create_unguessable(folder)?;
            std::fs::remove_file(path)
        }
        other => other.map(drop),
    }
}
