//! SQLite: one table per table, integers as integers. SQLite's integers end at 2^63 - 1; larger ones are
//! stored as a blob of their decimal digits (a text would silently become a rounded REAL in an INTEGER
//! column); `CAST(x AS TEXT)` shows them.

use crate::error::RecordError;
use crate::table::{Cell, CellKind, Field, RowSink};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, ToSql};
use std::path::{Path, PathBuf};

pub(super) struct Database {
    connection: Connection,
    place: PathBuf,
}

impl Database {
    /// Opens an empty file that nobody else knows yet, so neither journal nor syncing is needed.
    pub(super) fn open(place: &Path) -> Result<Database, RecordError> {
        let failed = |error| failure(place, error);
        let connection = Connection::open(place).map_err(failed)?;
        let settings = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN";
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
        let marks = vec!["?"; fields.len()].join(",");
        let insert = format!("INSERT INTO {} VALUES ({marks})", identifier(name));
        let insert = self.connection.prepare(&insert).map_err(failed)?;
        Ok(TableRows { insert, place: &self.place })
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
    insert: rusqlite::Statement<'a>,
    place: &'a Path,
}

impl RowSink for TableRows<'_> {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), RecordError> {
        let cells = cells.iter().map(Stored);
        let done = self.insert.execute(rusqlite::params_from_iter(cells));
        done.map(drop).map_err(|error| failure(self.place, error))
    }
}

struct Stored<'a>(&'a Cell<'a>);

impl ToSql for Stored<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Cell::Null => ToSqlOutput::Owned(Value::Null),
            Cell::Unsigned(value) => ToSqlOutput::Owned(match i64::try_from(*value) {
                Ok(value) => Value::Integer(value),
                Err(_) => Value::Blob(value.to_string().into_bytes()),
            }),
            Cell::Signed(value) => ToSqlOutput::Owned(Value::Integer(*value)),
            Cell::Real(value) => ToSqlOutput::Owned(Value::Real(*value)),
            Cell::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

fn failure(place: &Path, error: rusqlite::Error) -> RecordError {
    RecordError::io("write", place, std::io::Error::other(error.to_string()))
}
