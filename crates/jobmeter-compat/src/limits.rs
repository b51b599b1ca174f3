//! What is taken from files of other programs, however they were made. A file of up to 10 MB costs at most about 2 s and
//! 300 MB; a larger one gets more in proportion, so that long sessions are read whole.

use crate::error::{CompatError, shown};
use jobmeter_record::open_regular;
use std::io::Read;
use std::path::Path;

/// Bytes of any file. A day of tracking ten times a second makes some 200 MB.
const FILE_MAX: u64 = 1 << 30;
const USUAL_FILE_BYTES: u64 = 10_000_000;
/// Cells of a table in a usual file; one takes about 100 bytes in memory. Files of the trackers hold about one cell for
/// ten bytes.
const CELLS: u64 = 2_000_000;
/// Bytes of text that cost as much as a cell.
pub(crate) const TEXT_BYTES_PER_CELL: u64 = 100;
/// Steps of SQLite's machine for each cell: reading a row takes about five and two per cell.
const STEPS_PER_CELL: u64 = 20;

/// A pickle may copy its texts into the memo and out of it, so many times its own length. A key of twenty letters that is
/// named again in two bytes takes ten times its length.
pub(crate) const PICKLE_COPIES: usize = 16;
/// However short it is.
pub(crate) const PICKLE_COPIES_MIN: usize = 1 << 20;
/// Bytes that an entry of the memo takes besides its text.
pub(crate) const PICKLE_COPY_COST: usize = 64;
/// Operations of a pickle: one for so many bytes, and some for a short one. A value takes up to 64 bytes in memory; in
/// results most values are numbers of nine bytes.
pub(crate) const PICKLE_BYTES_PER_STEP: usize = 3;
pub(crate) const PICKLE_STEPS_MIN: usize = 100_000;

/// The bytes of a regular file; a device or a pipe is refused without waiting for it.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, CompatError> {
    let failed = |error| CompatError::io("read", path, error);
    let (file, length) = open_regular(path).map_err(failed)?;
    if length > FILE_MAX {
        return Err(CompatError::Value(format!("cannot read {}: it is larger than 1 GiB.", shown(path))));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(FILE_MAX).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// The same as text.
pub(crate) fn read_text(path: &Path) -> Result<String, CompatError> {
    String::from_utf8(read_file(path)?)
        .map_err(|_| CompatError::file("read", path, "stream did not contain valid UTF-8"))
}

/// How many cells a table of a file of this length may have.
pub(crate) fn cells_for(file_bytes: u64) -> u64 {
    CELLS.max(file_bytes.saturating_mul(CELLS) / USUAL_FILE_BYTES)
}

/// How long SQLite may work on a file of this length.
pub(crate) fn steps_for(file_bytes: u64) -> u64 {
    cells_for(file_bytes).saturating_mul(STEPS_PER_CELL)
}

pub(crate) fn too_large(path: &Path) -> CompatError {
    CompatError::Value(format!(
        "{} holds far more than a file of its size should; it is not read.",
        shown(path)
    ))
}
