//! Exports: any table of a run in the formats that other programs read. Rows stream; memory stays bounded by
//! one batch, whatever the length of the run.

mod arrow;
mod batch;
mod csv;
mod jsonl;
mod meter;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(all(feature = "sqlite", target_os = "linux"))]
mod sqlite;

pub use csv::neutralise;

use crate::damage::Damage;
use crate::error::RecordError;
#[cfg(all(feature = "sqlite", target_os = "linux"))]
use crate::place::refuse_stream;
use crate::place::{self, AsideFile};
use crate::reader::Run;
use crate::table::{Field, RowSink, Table};
use meter::Allowance;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// What a table can be written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values with a header.
    Csv,
    /// One JSON object in each line.
    Jsonl,
    /// Apache Parquet.
    Parquet,
    /// A SQLite database.
    Sqlite,
    /// An Arrow stream.
    Arrow,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 5] = [Format::Csv, Format::Jsonl, Format::Parquet, Format::Sqlite, Format::Arrow];

    /// Also the usual file extension.
    pub fn key(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Jsonl => "jsonl",
            Format::Parquet => "parquet",
            Format::Sqlite => "sqlite",
            Format::Arrow => "arrow",
        }
    }

    /// The format of this name.
    pub fn from_key(key: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.key() == key)
    }

    /// Text that may go to a terminal or a pipe.
    pub fn is_text(self) -> bool {
        matches!(self, Format::Csv | Format::Jsonl)
    }
}

/// Takes rows and, at the end, writes what is still missing.
trait TableWriter: RowSink {
    fn finish(self: Box<Self>) -> Result<(), RecordError>;
}

/// One table to any stream. SQLite needs a file and is not for this.
///
/// ```
/// use jobmeter_record::export::{Format, write_table};
/// use jobmeter_record::{Run, table::Table};
/// use std::path::Path;
///
/// let run = Run::open("../../fixtures/runs/v1-phases.jobmeter".as_ref())?;
/// let damage = write_table(&run, Table::Phases, Format::Csv, std::io::stdout(), Path::new("standard output"))?;
/// assert!(damage.is_none());
/// # Ok::<(), jobmeter_record::RecordError>(())
/// ```
pub fn write_table<W: Write + Send + 'static>(
    run: &Run,
    table: Table,
    format: Format,
    out: W,
    out_name: &Path,
) -> Result<Option<Damage>, RecordError> {
    write_metered(run, table, format, out, out_name, &mut Allowance::new(run, format))
}

fn write_metered<W: Write + Send + 'static>(
    run: &Run,
    table: Table,
    format: Format,
    out: W,
    out_name: &Path,
    allowance: &mut Allowance,
) -> Result<Option<Damage>, RecordError> {
    let fields = table.fields(run);
    let out = BufWriter::with_capacity(1 << 20, out);
    let mut writer: Box<dyn TableWriter> = match format {
        Format::Csv => Box::new(csv::CsvWriter::new(out, &fields, out_name)?),
        Format::Jsonl => Box::new(jsonl::JsonlWriter::new(out, &fields, out_name)),
        #[cfg(feature = "parquet")]
        Format::Parquet => Box::new(parquet::ParquetWriter::new(out, &fields, out_name)?),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => return Err(left_out("Parquet")),
        Format::Arrow => Box::new(arrow::ArrowWriter::new(out, &fields, out_name)?),
        Format::Sqlite => {
            return Err(RecordError::Invalid("SQLite needs a file to write to; name one with -o".to_owned()));
        }
    };
    let damage = table.write(run, &mut allowance.sink(&mut *writer))?;
    writer.finish()?;
    Ok(damage)
}

/// One table to a new file of mode 0600, which appears only when it is whole.
pub fn export_file(
    run: &Run,
    table: Table,
    format: Format,
    path: &Path,
    force: bool,
) -> Result<Option<Damage>, RecordError> {
    if format == Format::Sqlite {
        return export_sqlite(run, &[table], path, force);
    }
    write_file(run, table, format, path, force, &mut Allowance::new(run, format))
}

fn write_file(
    run: &Run,
    table: Table,
    format: Format,
    path: &Path,
    force: bool,
    allowance: &mut Allowance,
) -> Result<Option<Damage>, RecordError> {
    let aside = AsideFile::create(path, force)?;
    let damage = write_metered(run, table, format, aside.writer()?, path, allowance)?;
    aside.publish()?;
    Ok(damage)
}

/// Several tables to one SQLite file.
#[cfg(all(feature = "sqlite", target_os = "linux"))]
pub fn export_sqlite(
    run: &Run,
    tables: &[Table],
    path: &Path,
    force: bool,
) -> Result<Option<Damage>, RecordError> {
    refuse_stream(path)?;
    let aside = AsideFile::create(path, force)?;
    let mut damage = None;
    let mut allowance = Allowance::new(run, Format::Sqlite);
    let mut database = sqlite::Database::open(aside.path()?)?;
    for table in tables {
        let mut rows = database.table(table.key(), &table.fields(run))?;
        // A table without rows may not have looked at the file.
        damage = damage.or(table.write(run, &mut allowance.sink(&mut rows))?);
        rows.finish()?;
    }
    database.finish()?;
    aside.publish()?;
    Ok(damage)
}

/// A build without SQLite says so.
#[cfg(not(all(feature = "sqlite", target_os = "linux")))]
pub fn export_sqlite(
    _run: &Run,
    _tables: &[Table],
    _path: &Path,
    _force: bool,
) -> Result<Option<Damage>, RecordError> {
    Err(left_out("SQLite"))
}

#[cfg(not(all(feature = "sqlite", feature = "parquet", target_os = "linux")))]
fn left_out(format: &str) -> RecordError {
    RecordError::Invalid(format!("this jobmeter was built without {format}; export csv, jsonl or arrow"))
}

/// Several tables, one file each, into a folder that is made if need be. Tables about devices the run knew
/// nothing of are left out. Gives the files written.
pub fn export_folder(
    run: &Run,
    tables: &[Table],
    format: Format,
    folder: &Path,
    force: bool,
) -> Result<(Vec<PathBuf>, Option<Damage>), RecordError> {
    std::fs::create_dir_all(folder).map_err(|error| RecordError::io("create", folder, error))?;
    let tables: Vec<(Table, PathBuf)> = tables
        .iter()
        .filter(|table| !is_vacant(&table.fields(run)))
        .map(|table| (*table, folder.join(format!("{}.{}", table.key(), format.key()))))
        .collect();
    // All or none, as far as that can be foreseen.
    tables.iter().try_for_each(|(_, path)| place::check(path, force))?;
    let mut damage = None;
    let mut allowance = Allowance::new(run, format);
    for (table, path) in &tables {
        damage = damage.or(write_file(run, *table, format, path, force, &mut allowance)?);
    }
    Ok((tables.into_iter().map(|(_, path)| path).collect(), damage))
}

/// A device table without any metric.
fn is_vacant(fields: &[Field]) -> bool {
    fields.len() == 2
}
