//! The one error of this crate. Every variant prints as one sentence: what is wrong, where, what would be right.

use std::fmt;

/// Why advice, a comparison or a catalogue could not be made.
#[derive(Debug)]
pub enum Error {
    /// A size, ratio or price that cannot be read.
    Unit {
        /// What was written.
        text: String,
        /// What can be written instead.
        expected: &'static str,
    },
    /// A filter names something the catalogue does not hold.
    UnknownValue {
        /// The option.
        filter: &'static str,
        /// What was written.
        value: String,
        /// What can be written instead.
        valid: Vec<String>,
    },
    /// No server meets all constraints; `why` says which one is in the way.
    NothingFits {
        /// The reason.
        why: String,
    },
    /// A catalogue file is malformed; `line` counts from 1.
    Catalogue {
        /// The file.
        path: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// A file could not be read.
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Advice was asked for without a single usable run.
    NoRuns {
        /// Why.
        reason: String,
    },
    /// The live price service did not give a usable answer.
    Live {
        /// The service that was asked.
        endpoint: String,
        /// Why it gave no prices.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unit { text, expected } => write!(out, "`{}` is not {expected}", clean(text)),
            Error::UnknownValue { filter, value, valid } => {
                write!(out, "unknown {filter} `{}`; known: {}", clean(value), valid.join(", "))
            }
            Error::NothingFits { why } => write!(out, "no server fits: {why}"),
            Error::Catalogue { path, line, message } => write!(out, "{} line {line}: {message}", clean(path)),
            Error::Read { path, source } => write!(out, "cannot read {}: {source}", clean(path)),
            Error::NoRuns { reason } => write!(out, "no advice possible: {reason}"),
            Error::Live { endpoint, reason } => {
                write!(out, "no live prices from {}: {reason}", clean(endpoint))
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Read { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Makes foreign text safe for a terminal line: control characters become `?`, long text is cut.
pub fn clean(text: &str) -> String {
    const LONGEST: usize = 200;
    text.chars()
        .take(LONGEST)
        .map(|c| if c.is_control() || ('\u{202a}'..='\u{2069}').contains(&c) { '?' } else { c })
        .collect()
}
