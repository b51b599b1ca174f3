//! Where a run file is written to: a file that nobody else may read, or memory that others may read
//! while it grows.

use crate::error::RecordError;
use crate::place::{self, AsideFile};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Where [`crate::Writer::create`] puts the run.
#[derive(Debug, Clone)]
pub enum Target {
    /// A new file of mode 0600; an existing one is an error.
    New(PathBuf),
    /// As `New`, but an existing regular file is replaced; it keeps its mode, and a link stays a link.
    Replace(PathBuf),
    Memory(SharedBuffer),
}

/// The bytes of a run that is kept in memory. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct SharedBuffer {
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl SharedBuffer {
    /// The run as far as it is written: whole frames only, ready for [`crate::Run::from_bytes`].
    pub fn snapshot(&self) -> Vec<u8> {
        self.lock().clone()
    }

    pub fn len(&self) -> usize {
        self.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        // Appending bytes leaves nothing half done, so a panic elsewhere does not spoil the buffer.
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(crate) enum Output {
    File {
        file: File,
        path: PathBuf,
        /// RLIMIT_FSIZE. Writing past it would raise SIGXFSZ, which kills; we stop before.
        limit: u64,
    },
    Memory(SharedBuffer),
}

impl Output {
    pub(crate) fn create(target: Target) -> Result<Output, RecordError> {
        match target {
            Target::Memory(buffer) => Ok(Output::Memory(buffer)),
            Target::New(path) => Output::create_file(path),
            Target::Replace(path) => {
                place::refuse_stream(&path)?;
                let file = AsideFile::create(&path, true)?.publish()?.into_file();
                Ok(Output::File { file, path, limit: file_size_limit() })
            }
        }
    }

    fn create_file(path: PathBuf) -> Result<Output, RecordError> {
        // O_EXCL also refuses a symbolic link, so nobody can point us at another file.
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => Ok(Output::File { file, path, limit: file_size_limit() }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(RecordError::Exists { path }),
            Err(error) => Err(RecordError::io("create", &path, error)),
        }
    }

    /// Appends everything after `written` bytes; on failure the file is cut back to them where possible.
    pub(crate) fn append(&mut self, written: u64, bytes: &[u8]) -> Result<(), RecordError> {
        match self {
            Output::Memory(buffer) => {
                buffer.lock().extend_from_slice(bytes);
                Ok(())
            }
            Output::File { file, path, limit } => {
                if written.saturating_add(bytes.len() as u64) > *limit {
                    let error = io::Error::from_raw_os_error(libc::EFBIG);
                    return Err(RecordError::io("write", path, error));
                }
                file.write_all(bytes).map_err(|error| {
                    // Part of the bytes may have arrived. A reader would find the cut by itself; without
                    // it the file ends cleanly.
                    if file.set_len(written).is_err() {
                        // Nothing more can be done for a file that can be neither written nor cut.
                    }
                    RecordError::io("write", path, error)
                })
            }
        }
    }
}

fn file_size_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit writes one rlimit into the struct we own.
    let answer = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
    if answer == 0 { limit.rlim_cur } else { u64::MAX }
}
