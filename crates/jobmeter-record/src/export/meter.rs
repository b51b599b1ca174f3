//! How much an export may write. A small file can describe very large tables: columns that go on as foreseen take no
//! bytes, and the name of a device stands in every one of its rows.

use super::Format;
use crate::error::RecordError;
use crate::limits::{self, READ_LIMIT_VARIABLE};
use crate::reader::Run;
use crate::table::{Cell, RowSink};

/// Bytes of text that cost as much as one number.
const TEXT_BYTES_PER_CELL: u64 = 16;
/// What a row costs besides its cells, in cells.
const CELLS_PER_ROW: u64 = 3;

/// What all tables of one export may still hold.
#[derive(Debug)]
pub(super) struct Allowance {
    cells_left: u64,
}

impl Allowance {
    /// A part of the cells that are read, as writing one takes longer, in SQLite most of all.
    pub(super) fn new(run: &Run, format: Format) -> Allowance {
        let share = match format {
            Format::Csv | Format::Arrow => 2,
            Format::Jsonl | Format::Parquet => 3,
            Format::Sqlite => 4,
        };
        Allowance { cells_left: limits::cells_for(run.len()).map_or(u64::MAX, |cells| cells / share) }
    }

    pub(super) fn sink<'a>(&'a mut self, inner: &'a mut dyn RowSink) -> Metered<'a> {
        Metered { allowance: self, inner }
    }
}

pub(super) struct Metered<'a> {
    allowance: &'a mut Allowance,
    inner: &'a mut dyn RowSink,
}

impl RowSink for Metered<'_> {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), RecordError> {
        let text_bytes = |cell: &Cell<'_>| if let Cell::Text(text) = cell { text.len() as u64 } else { 0 };
        let texts: u64 = cells.iter().map(text_bytes).sum();
        let cost = CELLS_PER_ROW + cells.len() as u64 + texts / TEXT_BYTES_PER_CELL;
        self.allowance.cells_left = self.allowance.cells_left.checked_sub(cost).ok_or_else(|| {
            RecordError::Invalid(format!(
                "the tables of this run are far larger than its file; {READ_LIMIT_VARIABLE}=none writes all of a file \
                 that you trust"
            ))
        })?;
        self.inner.row(cells)
    }
}
