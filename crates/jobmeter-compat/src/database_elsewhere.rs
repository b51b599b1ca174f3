//! Builds for other systems than Linux have no SQLite, which is C.

use crate::error::CompatError;
use crate::table::Row;
use std::path::Path;

pub(crate) fn select(path: &Path, _table: &str) -> Result<Vec<Row>, CompatError> {
    Err(CompatError::file("read", path, "SQLite files are read on Linux only; name the .csv file"))
}
