//! Rows gathered into columns, for the formats that store columns.

use crate::table::{Cell, CellKind, Field};

/// Rows per batch: columns long enough to pack well, short enough to keep memory small.
pub(super) const BATCH_ROWS: usize = 32_768;

/// Cells per batch, so that many columns cannot make it large: 10 bytes each.
const BATCH_CELLS: usize = 1 << 22;

/// Bytes of text per batch, so that long names cannot make it large.
const BATCH_TEXT_BYTES: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct ColumnBatch {
    pub(super) kind: CellKind,
    /// 1 where a value is present, 0 where it is null.
    pub(super) present: Vec<i16>,
    /// Present values of integer columns; unsigned ones as their bits.
    pub(super) integers: Vec<i64>,
    pub(super) reals: Vec<f64>,
    /// Present texts one after the other, and where each ends.
    pub(super) text: Vec<u8>,
    pub(super) text_ends: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct Batch {
    pub(super) columns: Vec<ColumnBatch>,
    pub(super) rows: usize,
}

impl Batch {
    pub(super) fn new(fields: &[Field]) -> Batch {
        let column = |field: &Field| ColumnBatch {
            kind: field.kind,
            present: Vec::new(),
            integers: Vec::new(),
            reals: Vec::new(),
            text: Vec::new(),
            text_ends: Vec::new(),
        };
        Batch { columns: fields.iter().map(column).collect(), rows: 0 }
    }

    pub(super) fn push(&mut self, cells: &[Cell<'_>]) {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(cell);
        }
        self.rows += 1;
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS
            || self.rows * self.columns.len() >= BATCH_CELLS
            || self.columns.iter().map(|column| column.text.len()).sum::<usize>() >= BATCH_TEXT_BYTES
    }

    pub(super) fn clear(&mut self) {
        self.rows = 0;
        for column in &mut self.columns {
            column.present.clear();
            column.integers.clear();
            column.reals.clear();
            column.text.clear();
            column.text_ends.clear();
        }
    }
}

impl ColumnBatch {
    fn push(&mut self, cell: &Cell<'_>) {
        match (self.kind, cell) {
            (CellKind::Unsigned, Cell::Unsigned(value)) => self.integers.push(*value as i64),
            (CellKind::Signed, Cell::Signed(value)) => self.integers.push(*value),
            (CellKind::Real, Cell::Real(value)) => self.reals.push(*value),
            (CellKind::Text, Cell::Text(text)) => {
                self.text.extend_from_slice(text.as_bytes());
                self.text_ends.push(self.text.len());
            }
            // Null, or a cell that does not fit its field: absent rather than wrong.
            _ => {
                self.present.push(0);
                return;
            }
        }
        self.present.push(1);
    }
}
