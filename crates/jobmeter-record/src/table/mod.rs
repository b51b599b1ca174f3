//! The tables of a run: what exports write and `show` prints, built from the frames in one pass.
//!
//! Columns are named by the metric table, units at their ends; absent figures are null.

mod entities;
mod marks;
mod phase_rows;
mod processes;
mod samples;

pub use jobmeter_model::phase::{Course, Phase, PhaseBuilder, PhaseTable, Span, TakeSpan, Used};
pub use processes::{ProcessBuilder, ProcessRow};

use crate::damage::Damage;
use crate::error::RecordError;
use crate::reader::Run;
use jobmeter_model::EntityKind;

/// What a column of a table holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// A whole number that is not negative.
    Unsigned,
    /// A whole number.
    Signed,
    /// A number.
    Real,
    /// From the job: hostile.
    Text,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its header.
    pub name: String,
    /// What it holds.
    pub kind: CellKind,
}

/// One value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// Unknown.
    Null,
    /// A whole number that is not negative.
    Unsigned(u64),
    /// A whole number.
    Signed(i64),
    /// A number.
    Real(f64),
    /// Text of the job or of us; hostile, escape it.
    Text(&'a str),
}

impl From<Option<u64>> for Cell<'_> {
    fn from(value: Option<u64>) -> Self {
        value.map_or(Cell::Null, Cell::Unsigned)
    }
}

impl From<Option<i32>> for Cell<'_> {
    fn from(value: Option<i32>) -> Self {
        value.map_or(Cell::Null, |value| Cell::Signed(i64::from(value)))
    }
}

impl From<Option<f64>> for Cell<'_> {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Cell::Null, Cell::Real)
    }
}

/// Takes rows whose cells fit the fields of the table, one cell per field.
pub trait RowSink {
    /// Takes one row, a cell for each field.
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), RecordError>;
}

/// The tables of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// One row per tick: the time and every column that speaks of a whole scope. A last row may hold the
    /// settled totals, with nulls for what was not settled.
    Samples,
    /// One row per process that lived.
    Processes,
    /// One row per phase name.
    Phases,
    /// One row per call of a phase.
    Spans,
    /// Marks of the job.
    Marks,
    /// Doubts about figures.
    Warnings,
    /// One row per tick and core, disk …
    Cores,
    /// The block devices over time.
    Disks,
    /// The file systems over time.
    Mounts,
    /// The network interfaces over time.
    Networks,
    /// The GPUs over time.
    Gpus,
}

impl Table {
    /// Every table.
    pub const ALL: [Table; 11] = [
        Table::Samples,
        Table::Processes,
        Table::Phases,
        Table::Spans,
        Table::Marks,
        Table::Warnings,
        Table::Cores,
        Table::Disks,
        Table::Mounts,
        Table::Networks,
        Table::Gpus,
    ];

    /// The word that people choose it by.
    pub fn key(self) -> &'static str {
        match self {
            Table::Samples => "samples",
            Table::Processes => "processes",
            Table::Phases => "phases",
            Table::Spans => "spans",
            Table::Marks => "marks",
            Table::Warnings => "warnings",
            Table::Cores => "cores",
            Table::Disks => "disks",
            Table::Mounts => "mounts",
            Table::Networks => "networks",
            Table::Gpus => "gpus",
        }
    }

    /// The table of this name.
    pub fn from_key(key: &str) -> Option<Table> {
        Table::ALL.into_iter().find(|table| table.key() == key)
    }

    fn entity_kind(self) -> Option<EntityKind> {
        match self {
            Table::Cores => Some(EntityKind::Core),
            Table::Disks => Some(EntityKind::Disk),
            Table::Mounts => Some(EntityKind::Mount),
            Table::Networks => Some(EntityKind::Network),
            Table::Gpus => Some(EntityKind::Gpu),
            _ => None,
        }
    }

    /// Its columns for this run.
    pub fn fields(self, run: &Run) -> Vec<Field> {
        match self {
            Table::Samples => samples::fields(&run.columns()),
            Table::Processes => processes::fields(),
            Table::Phases => phase_rows::phase_fields(),
            Table::Spans => phase_rows::span_fields(),
            Table::Marks => marks::mark_fields(),
            Table::Warnings => marks::warning_fields(),
            Table::Cores | Table::Disks | Table::Mounts | Table::Networks | Table::Gpus => {
                self.entity_kind().map(|kind| entities::fields(&run.columns(), kind)).unwrap_or_default()
            }
        }
    }

    /// Whether writing the table reads the run: one about devices that the run does not know has no rows.
    pub fn is_read(self, run: &Run) -> bool {
        self.entity_kind().is_none() || self.fields(run).len() > 2
    }

    /// Sends every row to the sink; tells where the file was damaged, if it was.
    pub fn write(self, run: &Run, sink: &mut dyn RowSink) -> Result<Option<Damage>, RecordError> {
        match self {
            Table::Samples => samples::write(run, sink),
            Table::Processes => processes::write(run, sink),
            Table::Phases => phase_rows::write_phases(run, sink),
            Table::Spans => phase_rows::write_spans(run, sink),
            Table::Marks => marks::write_marks(run, sink),
            Table::Warnings => marks::write_warnings(run, sink),
            Table::Cores | Table::Disks | Table::Mounts | Table::Networks | Table::Gpus => {
                self.entity_kind().map_or(Ok(None), |kind| entities::write(run, kind, sink))
            }
        }
    }
}

fn field(name: &str, kind: CellKind) -> Field {
    Field { name: name.to_owned(), kind }
}
