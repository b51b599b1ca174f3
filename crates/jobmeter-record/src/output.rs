//! Where a run file is written to: a file that nobody else may read, or memory that others may read
//! while it grows.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Where [`crate::Writer::create`] puts the run.
#[derive(Debug, Clone)]
pub enum Target {
    /// A new file of mode 0600; an existing one is an error.
    New(PathBuf),
    /// As `New`, but an existing regular file is replaced; it keeps its mode, and a link stays a link.
    Replace(PathBuf),
    /// As `New`; folders that are missing are made, of mode 0700.
    Stored(PathBuf),
    /// Into memory, for whoever shares the buffer.
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

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether nothing was written so far.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn append(&self, bytes: &[u8]) {
        self.lock().extend_from_slice(bytes);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        // Appending bytes leaves nothing half done, so a panic elsewhere does not spoil the buffer.
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
