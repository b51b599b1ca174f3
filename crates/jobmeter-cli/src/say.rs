//! Words on standard error, and paths in them.

use crate::platform;
use std::io::Write;
use std::path::Path;

/// One line to standard error; a closed standard error is nobody's loss, and one that nobody reads holds nothing up.
pub(crate) fn say(text: &str) {
    platform::bounded(|| drop(writeln!(std::io::stderr(), "{text}")));
}

/// A path for a message: what could confuse a terminal is escaped.
pub(crate) fn shown(path: &Path) -> String {
    jobmeter_model::text::printable(&path.to_string_lossy())
}
