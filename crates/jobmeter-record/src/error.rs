//! The one error type of this crate: what was attempted, on which file, and the cause.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a record could not be written or read.
#[derive(Debug)]
pub enum RecordError {
    /// A system call failed: `action` is a verb phrase such as "create".
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The store did not take the record in time.
    GivenUp {
        /// The record.
        path: PathBuf,
        /// Why.
        reason: &'static str,
    },
    /// The target exists and overwriting was not asked for.
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Bytes that are no run file, or of a version this program does not know.
    NotARun {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A selector that names no run, or more than one.
    Selector {
        /// What was written.
        selector: String,
        /// Why it names no run.
        reason: String,
    },
    /// The caller asked for something that cannot be done; the text says what would be right.
    Invalid(String),
    /// A figure could not be turned into its stored form.
    Encode(String),
}

impl RecordError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> RecordError {
        RecordError::Io { action, path: path.to_owned(), source }
    }

    /// The number of the system's error, also where we worded the cause ourselves.
    pub fn errno(&self) -> Option<i32> {
        let RecordError::Io { source, .. } = self else { return None };
        source.raw_os_error().or(match source.kind() {
            io::ErrorKind::NotFound => Some(libc::ENOENT),
            io::ErrorKind::IsADirectory => Some(libc::EISDIR),
            io::ErrorKind::NotADirectory => Some(libc::ENOTDIR),
            io::ErrorKind::PermissionDenied => Some(libc::EACCES),
            _ => None,
        })
    }

    /// The cause, when the system gave one.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            RecordError::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::Io { action, path, source } => {
                write!(f, "cannot {action} {}: {}", path.escape_default_lossy(), plain(source))
            }
            RecordError::GivenUp { path, reason } => {
                write!(f, "the disk of {} does not answer: {reason}", path.escape_default_lossy())
            }
            RecordError::Exists { path } => {
                write!(f, "{} exists already; use --force to replace it", path.escape_default_lossy())
            }
            RecordError::NotARun { path, reason } => {
                write!(f, "{} is not a readable run file: {reason}", path.escape_default_lossy())
            }
            RecordError::Selector { selector, reason } => {
                write!(f, "no run for `{}`: {reason}", crate::text::printable(selector))
            }
            RecordError::Invalid(text) | RecordError::Encode(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RecordError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// The system's sentence without Rust's "(os error 28)", in lower case as the middle of a sentence.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => text.to_owned(),
    }
}

/// Paths may hold control characters; messages go to a terminal.
trait EscapePath {
    fn escape_default_lossy(&self) -> String;
}

impl EscapePath for Path {
    fn escape_default_lossy(&self) -> String {
        crate::text::printable(&self.to_string_lossy())
    }
}
