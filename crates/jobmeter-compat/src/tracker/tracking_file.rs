//! The tracking file while it grows: made aside with its static data, put in place, then one row per tick.

use super::machine::Machine;
use crate::csv;
use crate::error::{CompatError, shown};
use crate::table::{DATA_COLUMNS, FileKind, STATIC_COLUMNS, kind, put_row};
use crate::tree::Node;
use jobmeter_record::RecordError;
use jobmeter_record::place::{self, AsideFile, OutputWriter};
use rusqlite::{Connection, OpenFlags};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the end of a session waits for a reader that locks the database.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

struct TrackingFile {
    path: PathBuf,
    writer: Writer,
    /// Rows that a locked database did not take yet.
    pending: Vec<Vec<Node>>,
}

enum Writer {
    Csv(OutputWriter),
    Sqlite(Connection),
}

/// A tracking file that begins when the machine is known; what comes before waits for it.
pub struct Track {
    path: PathBuf,
    overwrite: bool,
    file: Option<TrackingFile>,
    early: Vec<Vec<Node>>,
}

impl Track {
    /// A file that begins once the machine is known.
    pub fn new(path: PathBuf, overwrite: bool) -> Track {
        Track { path, overwrite, file: None, early: Vec::new() }
    }

    /// Makes the file, once.
    pub(crate) fn begin(&mut self, machine: &Machine) -> Result<(), CompatError> {
        if self.file.is_some() {
            return Ok(());
        }
        let file = self.file.insert(TrackingFile::create(&self.path, self.overwrite, machine)?);
        self.early.drain(..).try_for_each(|row| file.append(row))
    }

    pub(crate) fn append(&mut self, row: Vec<Node>) -> Result<(), CompatError> {
        match &mut self.file {
            Some(file) => file.append(row),
            None => {
                self.early.push(row);
                Ok(())
            }
        }
    }

    pub(crate) fn finish(self) -> Result<(), CompatError> {
        self.file.map_or(Ok(()), |mut file| file.finish())
    }
}

/// Refuses a wrong name, a missing folder and a file that is there, before the command starts.
pub fn check_tracking_path(path: &Path, overwrite: bool) -> Result<(), CompatError> {
    FileKind::of(path)?;
    // Rows are added from the first tick on: to a regular file, whatever its format.
    place::check_record(path, overwrite).map_err(|error| refused(path, error))
}

fn refused(path: &Path, error: RecordError) -> CompatError {
    match error {
        RecordError::Exists { .. } => CompatError::File(format!(
            "File {} already exists. Set overwrite to True to overwrite the existing file.",
            shown(path)
        )),
        error => CompatError::from(error),
    }
}

impl TrackingFile {
    fn create(path: &Path, overwrite: bool, machine: &Machine) -> Result<TrackingFile, CompatError> {
        let kind = FileKind::of(path)?;
        let aside = AsideFile::create(path, overwrite).map_err(|error| refused(path, error))?;
        match kind {
            FileKind::Csv => csv_head(&mut aside.writer()?, machine)
                .map_err(|error| CompatError::io("write", path, error))?,
            FileKind::Sqlite => {
                tables(aside.path()?, machine).map_err(|error| CompatError::file("write", path, error))?;
            }
        }
        let file = aside.publish().map_err(|error| refused(path, error))?;
        let writer = match kind {
            FileKind::Csv => Writer::Csv(file),
            FileKind::Sqlite => Writer::Sqlite(reopen(path, &file.into_file())?),
        };
        Ok(TrackingFile { path: path.to_owned(), writer, pending: Vec::new() })
    }

    /// Appends a row. A database locked by a reader gets it with a later one.
    fn append(&mut self, row: Vec<Node>) -> Result<(), CompatError> {
        self.pending.push(row);
        match self.flush() {
            Err(error) if self.pending.is_empty() => Err(error),
            _ => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), CompatError> {
        match &mut self.writer {
            Writer::Csv(file) => {
                let mut text = String::new();
                for row in self.pending.drain(..) {
                    put_row(&mut text, &row);
                }
                file.write_all(text.as_bytes()).map_err(|error| CompatError::io("write", &self.path, error))
            }
            Writer::Sqlite(database) => {
                let done = insert(database, "data", &DATA_COLUMNS, &self.pending);
                let is_locked = matches!(
                    done.as_ref().map_err(rusqlite::Error::sqlite_error_code),
                    Err(Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked))
                );
                if !is_locked {
                    self.pending.clear();
                }
                done.map_err(|error| CompatError::file("write", &self.path, error))
            }
        }
    }

    fn finish(&mut self) -> Result<(), CompatError> {
        if let Writer::Sqlite(database) = &self.writer {
            let patience = database.busy_timeout(LAST_PATIENCE);
            patience.map_err(|error| CompatError::file("write", &self.path, error))?;
        }
        if self.pending.is_empty() { Ok(()) } else { self.flush() }
    }
}

fn csv_head(file: &mut OutputWriter, machine: &Machine) -> std::io::Result<()> {
    let mut text = String::new();
    csv::put_row(&mut text, STATIC_COLUMNS, "\r\n");
    put_row(&mut text, &machine.static_data().map(|(_, value)| value));
    csv::put_row(&mut text, DATA_COLUMNS, "\r\n");
    file.write_all(text.as_bytes())
}

/// The database that was just put in place, and no other file that took its name since.
fn reopen(path: &Path, placed: &std::fs::File) -> Result<Connection, CompatError> {
    let failed = |error| CompatError::io("write", path, error);
    let real = path.canonicalize().map_err(failed)?;
    let database = open(&real).map_err(|error| CompatError::file("write", path, error))?;
    let (ours, there) = (placed.metadata().map_err(failed)?, real.symlink_metadata().map_err(failed)?);
    if (ours.dev(), ours.ino()) != (there.dev(), there.ino()) {
        return Err(CompatError::file("write", path, "another file took its place"));
    }
    Ok(database)
}

/// Nothing is synced: a stalled disk must not stall the meter, and a power cut may cost the file.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let database = Connection::open_with_flags(path, flags)?;
    database.busy_timeout(Duration::ZERO)?;
    database.execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF")?;
    Ok(database)
}

fn tables(aside: &Path, machine: &Machine) -> rusqlite::Result<()> {
    let mut database = open(aside)?;
    create_table(&database, "static_data", &STATIC_COLUMNS)?;
    create_table(&database, "data", &DATA_COLUMNS)?;
    let row = machine.static_data().map(|(_, value)| value).to_vec();
    insert(&mut database, "static_data", &STATIC_COLUMNS, &[row])?;
    database.close().map_err(|(_, error)| error)
}

/// Table and column names are our own constants.
pub(crate) fn create_table(database: &Connection, table: &str, columns: &[&str]) -> rusqlite::Result<()> {
    let columns: Vec<String> =
        columns.iter().map(|column| format!("\n\t{column} {}", kind(column))).collect();
    database.execute_batch(&format!("CREATE TABLE {table} ({}\n)", columns.join(", ")))
}

pub(crate) fn insert(
    database: &mut Connection,
    table: &str,
    columns: &[&str],
    rows: &[Vec<Node>],
) -> rusqlite::Result<()> {
    let marks = vec!["?"; columns.len()].join(", ");
    let transaction = database.transaction()?;
    {
        let text = format!("INSERT INTO {table} ({}) VALUES ({marks})", columns.join(", "));
        let mut statement = transaction.prepare(&text)?;
        for row in rows {
            statement.execute(rusqlite::params_from_iter(row.iter().map(stored)))?;
        }
    }
    transaction.commit()
}

fn stored(value: &Node) -> rusqlite::types::Value {
    match value {
        Node::Text(text) => text.clone().into(),
        Node::Int(value) => (*value).into(),
        Node::Float(value) => (*value).into(),
        _ => rusqlite::types::Value::Null,
    }
}
