//! Why a request gave no usable answer.

use std::fmt;
use std::io::ErrorKind;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The caller asked for something that cannot be sent.
    BadRequest(&'static str),
    /// The deadline passed.
    TimedOut,
    /// Refused, reset, unreachable: what the system said.
    Connection(String),
    /// An HTTP status other than 200.
    Status(u16),
    /// The answer is longer than is taken.
    TooLarge {
        /// The most that is taken.
        limit_bytes: usize,
    },
    /// Not HTTP, not complete, or not what this service answers.
    Garbage(&'static str),
}

impl Failure {
    /// What an error of the socket means.
    pub fn of(error: std::io::Error) -> Failure {
        match error.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => Failure::TimedOut,
            _ => Failure::Connection(error.to_string()),
        }
    }
}

/// To go on after the name of the service: "the price service " and this.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::BadRequest(what) => write!(f, "cannot be asked: {what}"),
            Failure::TimedOut => f.write_str("did not answer in time"),
            Failure::Connection(text) => write!(f, "cannot be reached: {text}"),
            Failure::Status(status @ 300..=399) => {
                write!(f, "redirects (status {status}), which is not followed")
            }
            Failure::Status(status) => write!(f, "answered with status {status}"),
            Failure::TooLarge { limit_bytes } => {
                write!(f, "answered with more than {} KiB", limit_bytes >> 10)
            }
            Failure::Garbage(what) => write!(f, "answered with {what}"),
        }
    }
}

impl std::error::Error for Failure {}
