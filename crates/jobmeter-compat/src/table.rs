//! The tables of tracking and sub-tracking files: their columns, and how they are read back.

use crate::csv;
use crate::error::{CompatError, shown};
use crate::limits;
use crate::tree::Node;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

pub(crate) const STATIC_COLUMNS: [&str; 9] = [
    "ram_unit",
    "gpu_ram_unit",
    "time_unit",
    "ram_system_capacity",
    "gpu_ram_system_capacity",
    "system_core_count",
    "n_expected_cores",
    "system_gpu_count",
    "n_expected_gpus",
];

pub const DATA_COLUMNS: [&str; 22] = [
    "main_ram",
    "descendants_ram",
    "combined_ram",
    "system_ram",
    "main_gpu_ram",
    "descendants_gpu_ram",
    "combined_gpu_ram",
    "system_gpu_ram",
    "gpu_sum_utilization_percent",
    "gpu_hardware_utilization_percent",
    "main_n_threads",
    "descendants_n_threads",
    "combined_n_threads",
    "cpu_system_sum_utilization_percent",
    "cpu_system_hardware_utilization_percent",
    "cpu_main_sum_utilization_percent",
    "cpu_main_hardware_utilization_percent",
    "cpu_descendants_sum_utilization_percent",
    "cpu_descendants_hardware_utilization_percent",
    "cpu_combined_sum_utilization_percent",
    "cpu_combined_hardware_utilization_percent",
    "timestamp",
];

pub(crate) const SUB_COLUMNS: [&str; 4] = ["process_id", "code_block_name", "position", "timestamp"];

/// The type of a column, in SQLite's words.
pub(crate) fn kind(column: &str) -> &'static str {
    match column {
        "ram_unit" | "gpu_ram_unit" | "time_unit" | "code_block_name" => "VARCHAR",
        "system_core_count"
        | "n_expected_cores"
        | "system_gpu_count"
        | "n_expected_gpus"
        | "main_n_threads"
        | "descendants_n_threads"
        | "combined_n_threads"
        | "process_id"
        | "position" => "INTEGER",
        _ => "FLOAT",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Csv,
    Sqlite,
}

impl FileKind {
    pub(crate) fn of(path: &Path) -> Result<FileKind, CompatError> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => Ok(FileKind::Csv),
            Some("sqlite") => Ok(FileKind::Sqlite),
            _ => Err(CompatError::Value(format!(
                "Invalid file name: \"{}\". Valid file extensions are \".csv\" and \".sqlite\".",
                shown(path)
            ))),
        }
    }

    pub(crate) fn extension(self) -> &'static str {
        match self {
            FileKind::Csv => ".csv",
            FileKind::Sqlite => ".sqlite",
        }
    }
}

/// A row: values by column, in the file's order.
pub(crate) type Row = Vec<(String, Node)>;

pub(crate) fn cell<'a>(row: &'a Row, column: &str) -> Option<&'a Node> {
    row.iter().find(|(name, _)| name == column).map(|(_, value)| value)
}

/// Static data and measurements of a tracking file.
pub(crate) fn read_tracking(path: &Path) -> Result<(Row, Vec<Row>), CompatError> {
    let wrong = || {
        CompatError::Value(format!(
            "{} has no static data; it is not a tracking file written by a Tracker.",
            shown(path)
        ))
    };
    match FileKind::of(path)? {
        FileKind::Sqlite => {
            let fixed = select(path, "static_data")?.into_iter().next().ok_or_else(wrong)?;
            if !fixed.iter().map(|(name, _)| name.as_str()).eq(STATIC_COLUMNS) {
                return Err(wrong());
            }
            Ok((fixed, select(path, "data")?))
        }
        FileKind::Csv => {
            let mut lines = csv_lines(path)?.into_iter();
            let header = lines.next().filter(|header| header == &STATIC_COLUMNS).ok_or_else(wrong)?;
            let fixed = typed(path, &header, &lines.next().ok_or_else(wrong)?)?;
            let header = lines.next().unwrap_or_default();
            let data = lines.map(|line| typed(path, &header, &line)).collect::<Result<_, _>>()?;
            Ok((fixed, data))
        }
    }
}

pub(crate) fn read_sub_tracking(path: &Path) -> Result<Vec<Row>, CompatError> {
    let wrong = || {
        CompatError::Value(format!("{} must begin with the header {}.", shown(path), SUB_COLUMNS.join(",")))
    };
    let rows = match FileKind::of(path)? {
        FileKind::Sqlite => select(path, "data")?,
        FileKind::Csv => {
            let mut lines = csv_lines(path)?.into_iter();
            let header = lines.next().filter(|header| header == &SUB_COLUMNS).ok_or_else(wrong)?;
            lines.map(|line| typed(path, &header, &line)).collect::<Result<_, _>>()?
        }
    };
    let is_right = |row: &Row| SUB_COLUMNS.iter().all(|column| cell(row, column).is_some());
    if rows.iter().all(is_right) { Ok(rows) } else { Err(wrong()) }
}

fn csv_lines(path: &Path) -> Result<Vec<Vec<String>>, CompatError> {
    let text = limits::read_text(path)?;
    csv::read(&text, limits::cells_for(text.len() as u64)).ok_or_else(|| limits::too_large(path))
}

fn typed(path: &Path, header: &[String], line: &[String]) -> Result<Row, CompatError> {
    let value = |column: &str, text: &str| match kind(column) {
        "VARCHAR" => Some(Node::text(text)),
        _ if text.is_empty() => Some(Node::Null),
        "INTEGER" => text.parse().ok().map(Node::Int),
        _ => text.parse().ok().map(Node::Float),
    };
    header
        .iter()
        .zip(line)
        .map(|(column, text)| {
            let value = value(column, text).ok_or_else(|| {
                CompatError::Value(format!(
                    "{}: '{}' in the column {} is not a number.",
                    shown(path),
                    jobmeter_model::text::printable(text),
                    jobmeter_model::text::printable(column)
                ))
            })?;
            Ok((column.clone(), value))
        })
        .collect()
}

/// Opens a database that anybody may have made: read-only, within bounds of work, and with no function of SQL to be
/// called by what its schema holds. `table` must be a plain table: a view could ask for any amount of work.
fn open(path: &Path, table: &str, file_bytes: u64) -> Result<Connection, rusqlite::Error> {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    database.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES)?;
    database.set_limit(Limit::SQLITE_LIMIT_COLUMN, COLUMNS_MAX)?;
    let mut steps_left = limits::steps_for(file_bytes);
    database.progress_handler(
        STEPS_PER_CALL as i32,
        Some(move || {
            steps_left = steps_left.saturating_sub(STEPS_PER_CALL);
            steps_left == 0
        }),
    )?;
    let is_plain = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND rootpage > 0 \
                    AND sql NOT LIKE '%GENERATED%' AND sql NOT LIKE '% AS %'";
    let found: i64 = database.query_row(is_plain, [table], |row| row.get(0))?;
    if found != 1 {
        return Err(rusqlite::Error::InvalidParameterName("there is no plain table of that name".to_owned()));
    }
    Ok(database)
}

/// Bytes of one value: the longest is the name of a code block.
const VALUE_MAX_BYTES: i32 = 1 << 20;
const COLUMNS_MAX: i32 = 100;
const STEPS_PER_CALL: u64 = 1000;

/// `table` is one of our own names, never text from outside.
fn select(path: &Path, table: &str) -> Result<Vec<Row>, CompatError> {
    let failed = |error: rusqlite::Error| {
        let text = jobmeter_model::text::printable(&error.to_string());
        CompatError::file(&format!("read the table \"{table}\" of"), path, text)
    };
    let meta = std::fs::metadata(path).map_err(|error| CompatError::file("read", path, error))?;
    if !meta.is_file() {
        return Err(CompatError::file("read", path, "it is not a regular file"));
    }
    let database = open(path, table, meta.len()).map_err(failed)?;
    let mut cells_left = limits::cells_for(meta.len());
    let mut statement = database.prepare(&format!("SELECT * FROM {table}")).map_err(failed)?;
    let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let mut found = statement.query([]).map_err(failed)?;
    let mut rows = Vec::new();
    while let Some(record) = found.next().map_err(failed)? {
        let mut row = Row::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            let value = match record.get_ref(index).map_err(failed)? {
                ValueRef::Integer(value) if kind(name) == "FLOAT" => Node::Float(value as f64),
                ValueRef::Integer(value) => Node::Int(value),
                ValueRef::Real(value) => Node::Float(value),
                ValueRef::Text(text) => {
                    cells_left = cells_left.saturating_sub(text.len() as u64 / limits::TEXT_BYTES_PER_CELL);
                    Node::Text(String::from_utf8_lossy(text).into_owned())
                }
                ValueRef::Null | ValueRef::Blob(_) => Node::Null,
            };
            row.push((name.clone(), value));
        }
        cells_left = cells_left.saturating_sub(names.len() as u64);
        if cells_left == 0 {
            return Err(limits::too_large(path));
        }
        rows.push(row);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(sql: &str) -> String {
        let room = tempfile::tempdir().expect("a folder");
        let path = room.path().join("x.sqlite");
        Connection::open(&path).expect("a database").execute_batch(sql).expect("the statements");
        read_sub_tracking(&path).expect_err("too much").to_string()
    }

    #[test]
    fn a_database_that_asks_for_work_is_refused() {
        let endless = "CREATE VIEW data AS WITH RECURSIVE r(process_id, code_block_name, position, timestamp) AS \
                       (SELECT 1, 'a', 0, 1.0 UNION ALL SELECT process_id + 1, 'a', 0, 1.0 FROM r) SELECT * FROM r";
        assert!(refused(endless).contains("no plain table"), "{}", refused(endless));
        let made = "CREATE TABLE data (process_id INTEGER, code_block_name AS (hex(zeroblob(1000))), position, \
                    timestamp); INSERT INTO data (process_id) VALUES (1)";
        assert!(refused(made).contains("no plain table"), "{}", refused(made));
        let long = "CREATE TABLE data (process_id, code_block_name, position, timestamp); \
                    INSERT INTO data VALUES (1, hex(zeroblob(2000000)), 0, 1.0)";
        assert!(refused(long).contains("cannot read"), "{}", refused(long));
    }

    #[test]
    fn a_csv_file_of_nothing_but_commas_is_refused() {
        let room = tempfile::tempdir().expect("a folder");
        let path = room.path().join("x.csv");
        std::fs::write(&path, ",".repeat(3_000_000)).expect("the file");
        let error = read_sub_tracking(&path).expect_err("too much").to_string();
        assert!(error.contains("far more than a file of its size"), "{error}");
        let pipe = Path::new("/dev/zero.csv");
        assert!(read_sub_tracking(pipe).is_err());
    }
}
