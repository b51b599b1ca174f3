//! What can be wrong with options, configuration and files; one sentence each.

use jobmeter_record::RecordError;
use std::fmt;
use std::path::Path;

/// What went wrong, by the Python exception that the original raises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompatError {
    /// The arguments match no usage; a word about it where there is one.
    Usage(Option<String>),
    /// An option, a configuration entry or the content of a file has a wrong value.
    Value(String),
    /// The operating system refused.
    File(String),
    /// The same, with the number of its error.
    System {
        /// The kernel's number.
        errno: i32,
        /// The sentence.
        text: String,
    },
}

impl CompatError {
    pub(crate) fn file(doing: &str, path: &Path, error: impl fmt::Display) -> CompatError {
        CompatError::File(format!("cannot {doing} {}: {error}", shown(path)))
    }

    pub(crate) fn io(doing: &str, path: &Path, error: std::io::Error) -> CompatError {
        // The number of the error goes beside the text.
        let said = error.to_string();
        let text =
            format!("cannot {doing} {}: {}", shown(path), said.split(" (os error").next().unwrap_or(&said));
        error
            .raw_os_error()
            .map_or(CompatError::File(text.clone()), |errno| CompatError::System { errno, text })
    }
}

impl From<RecordError> for CompatError {
    fn from(error: RecordError) -> CompatError {
        let text = error.to_string();
        error.errno().map_or(CompatError::File(text.clone()), |errno| CompatError::System { errno, text })
    }
}

impl fmt::Display for CompatError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompatError::Usage(None) => formatter.write_str(crate::help::USAGE),
            CompatError::Usage(Some(text)) => write!(formatter, "{text}\n{}", crate::help::USAGE),
            CompatError::Value(text) | CompatError::File(text) | CompatError::System { text, .. } => {
                formatter.write_str(text)
            }
        }
    }
}

impl std::error::Error for CompatError {}

pub(crate) fn shown(path: &Path) -> String {
    jobmeter_model::text::printable(&path.to_string_lossy())
}
