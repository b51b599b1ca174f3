//! What can go wrong with a call, in words that hold no secret.

use jobmeter_http::Failure;
use std::fmt;

/// Why a call gave no result.
#[derive(Debug)]
pub enum Error {
    /// An address, a credential or a region is missing or makes no sense.
    Setup(String),
    /// No usable answer.
    Failed(Failure),
    /// The service refused: the HTTP status and its own code, such as `AccessDenied`.
    Refused {
        /// HTTP status.
        status: u16,
        /// May be empty.
        code: String,
    },
    /// A file on this machine.
    File(std::io::Error),
}

impl Error {
    pub(crate) fn setup(text: impl Into<String>) -> Error {
        Error::Setup(text.into())
    }
}

/// To go on after a colon.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Setup(text) => f.write_str(text),
            Error::Failed(failure) => write!(f, "the object storage {failure}"),
            Error::Refused { status, code } if code.is_empty() => {
                write!(f, "the object storage answered with status {status}")
            }
            Error::Refused { status, code } => {
                write!(f, "the object storage answered {code} (status {status})")
            }
            Error::File(error) => write!(f, "the file cannot be read or written: {error}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        Error::Failed(failure)
    }
}
