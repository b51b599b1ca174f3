//! SQLite: one table per table, integers as integers. SQLite's integers end at 2^63 - 1; larger ones are
//! stored as a blob of their decimal digits (a text would silently become a rounded REAL in an INTEGER
//! column); `CAST(x AS TEXT)` shows them.

use crate::error::RecordError;
use crate::table::{Cell, CellKind, Field, RowSink};
use rusqlite::types::Value;
use rusqlite::{Connection, Statement};
use std::path::{Path, PathBuf};

/// Values that one statement takes: a statement of many short rows costs a fraction of as many statements.
const VALUES_PER_STATEMENT: usize = 384;

pub(super) struct Database {
    connection: Connection,
    place: PathBuf,
}

impl Database {
    /// Opens an empty file that nobody else knows yet, so neither journal, syncing nor locks are needed.
    pub(super) fn open(place: &Path) -> Result<Database, RecordError> {
        let failed = |error| failure(place, error);
        let connection = Connection::open(place).map_err(failed)?;
        let settings = "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; \
                        PRAGMA locking_mode = EXCLUSIVE; BEGIN";
        connection.execute_batch(settings).map_err(failed)?;
        Ok(Database { connection, place: place.to_owned() })
    }

    pub(super) fn table(&mut self, name: &str, fields: &[Field]) -> Result<TableRows<'_>, RecordError> {
        let failed = |error| failure(&self.place, error);
        let column = |field: &Field| {
            let kind = match field.kind {
                CellKind::Unsigned | CellKind::Signed => "INTEGER",
                CellKind::Real => "REAL",
                CellKind::Text => "TEXT",
            };
            format!("{} {kind}", identifier(&field.name))
        };
        let columns: Vec<String> = fields.iter().map(column).collect();
        let create = format!("CREATE TABLE {} ({})", identifier(name), columns.join(", "));
        self.connection.execute_batch(&create).map_err(failed)?;
        let row = format!("({})", vec!["?"; fields.len()].join(","));
        let insert = |rows: usize| {
            let values = vec![row.as_str(); rows].join(",");
            self.connection
                .prepare(&format!("INSERT INTO {} VALUES {values}", identifier(name)))
                .map_err(failed)
        };
        let rows_at_once = (VALUES_PER_STATEMENT / fields.len().max(1)).max(1);
        Ok(TableRows {
            many: insert(rows_at_once)?,
            one: insert(1)?,
            rows_at_once,
            waiting: Vec::new(),
            columns: fields.len(),
            place: &self.place,
        })
    }

    pub(super) fn finish(self) -> Result<(), RecordError> {
        self.connection.execute_batch("COMMIT").map_err(|error| failure(&self.place, error))?;
        self.connection.close().map_err(|(_, error)| failure(&self.place, error))
    }
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

pub(super) struct TableRows<'a> {
    many: Statement<'a>,
    one: Statement<'a>,
    rows_at_once: usize,
    /// The cells of the rows that wait until `many` is full.
    waiting: Vec<Value>,
    columns: usize,
    place: &'a Path,
}

impl TableRows<'_> {
    /// Writes the rows that still wait.
    pub(super) fn finish(mut self) -> Result<(), RecordError> {
        let rows = self.waiting.chunks(self.columns.max(1));
        rows.into_iter().try_for_each(|row| insert(&mut self.one, row, self.place))
    }
}

impl RowSink for TableRows<'_> {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), RecordError> {
        self.waiting.extend(cells.iter().map(stored));
        if self.waiting.len() == self.rows_at_once * self.columns {
            insert(&mut self.many, &self.waiting, self.place)?;
            self.waiting.clear();
        }
        Ok(())
    }
}

fn insert(statement: &mut Statement<'_>, values: &[Value], place: &Path) -> Result<(), RecordError> {
    let failed = |error| failure(place, error);
    for (index, value) in values.iter().enumerate() {
        statement.raw_bind_parameter(index + 1, value).map_err(failed)?;
    }
    statement.raw_execute().map(drop).map_err(failed)
}

fn stored(cell: &Cell<'_>) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Unsigned(value) => match i64::try_from(*value) {
            Ok(value) => Value::Integer(value),
            Err(_) => Value::Blob(value.to_string().into_bytes()),
        },
        Cell::Signed(value) => Value::Integer(*value),
        Cell::Real(value) => Value::Real(*value),
        Cell::Text(text) => Value::Text((*text).to_owned()),
    }
}

fn failure(place: &Path, error: rusqlite::Error) -> RecordError {
    RecordError::io("write", place, std::io::Error::other(error.to_string()))
}
