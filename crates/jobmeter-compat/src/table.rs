//! The tables of tracking and sub-tracking files: their columns, and how they are read back.

use crate::csv;
use crate::database::select;
use crate::error::{CompatError, shown};
use crate::limits;
use crate::number::repr;
use crate::tree::Node;
use std::path::Path;

/// Columns of the static data of a tracking file.
pub const STATIC_COLUMNS: [&str; 9] = [
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

/// Columns of the measurements of a tracking file.
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

/// Columns of a sub-tracking file.
pub const SUB_COLUMNS: [&str; 4] = ["process_id", "code_block_name", "position", "timestamp"];

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

/// What a tracking file is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Comma-separated values.
    Csv,
    /// A SQLite database.
    Sqlite,
}

impl FileKind {
    /// Told by the end of the name.
    pub fn of(path: &Path) -> Result<FileKind, CompatError> {
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
pub type Row = Vec<(String, Node)>;

pub(crate) fn cell<'a>(row: &'a Row, column: &str) -> Option<&'a Node> {
    row.iter().find(|(name, _)| name == column).map(|(_, value)| value)
}

/// One line of a CSV file; unknown is an empty cell.
pub(crate) fn put_row(out: &mut String, row: &[Node]) {
    let cells: Vec<String> = row
        .iter()
        .map(|value| match value {
            Node::Text(text) => text.clone(),
            Node::Int(value) => value.to_string(),
            Node::Float(value) => repr(*value),
            _ => String::new(),
        })
        .collect();
    csv::put_row(out, cells.iter().map(String::as_str), "\r\n");
}

/// Static data and measurements of a tracking file.
pub fn read_tracking(path: &Path) -> Result<(Row, Vec<Row>), CompatError> {
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

/// The rows of a sub-tracking file.
pub fn read_sub_tracking(path: &Path) -> Result<Vec<Row>, CompatError> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
