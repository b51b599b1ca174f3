//! What can be wrong with options, configuration and files; one sentence each.

use std::fmt;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompatError {
    /// The arguments match no usage; a word about it where there is one.
    Usage(Option<String>),
    /// An option, a configuration entry or the content of a file has a wrong value.
    Value(String),
    /// The operating system refused.
    File(String),
}

impl CompatError {
    pub(crate) fn file(doing: &str, path: &Path, error: impl fmt::Display) -> CompatError {
        CompatError::File(format!("cannot {doing} {}: {error}", shown(path)))
    }
}

impl From<jobmeter_record::RecordError> for CompatError {
    fn from(error: jobmeter_record::RecordError) -> CompatError {
        CompatError::File(error.to_string())
    }
}

impl fmt::Display for CompatError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompatError::Usage(None) => formatter.write_str(crate::help::USAGE),
            CompatError::Usage(Some(text)) => write!(formatter, "{text}\n{}", crate::help::USAGE),
            CompatError::Value(text) | CompatError::File(text) => formatter.write_str(text),
        }
    }
}

impl std::error::Error for CompatError {}

pub(crate) fn shown(path: &Path) -> String {
    jobmeter_model::text::printable(&path.to_string_lossy())
}
