//! Sub-tracking files of several processes into one.

use super::tracking_file::{create_table, insert};
use crate::csv;
use crate::error::{CompatError, shown};
use crate::number::repr;
use crate::table::{FileKind, SUB_COLUMNS, cell, read_sub_tracking};
use crate::tree::Node;
use jobmeter_record::place::{self, AsideFile};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// Joins `files` into `target`, which must not exist. A single folder stands for the files in it, by name.
pub fn combine(target: &Path, files: &[PathBuf]) -> Result<(), CompatError> {
    let kind = FileKind::of(target)?;
    let files = match files {
        [folder] if folder.is_dir() => files_of(folder)?,
        files => files.to_vec(),
    };
    if target.symlink_metadata().is_ok() {
        return Err(CompatError::File(format!(
            "Cannot create sub-tracking file {}. File already exists.",
            shown(target)
        )));
    }
    let mut rows = Vec::new();
    for file in &files {
        if FileKind::of(file).ok() != Some(kind) {
            return Err(CompatError::Value(format!(
                "File {} does not end with the same extension as {}. Must end in \"{}\".",
                shown(file),
                shown(target),
                kind.extension()
            )));
        }
        for row in read_sub_tracking(file)? {
            rows.push(SUB_COLUMNS.map(|column| cell(&row, column).cloned().unwrap_or(Node::Null)).to_vec());
        }
    }
    match kind {
        FileKind::Csv => Ok(place::write(target, as_csv(&rows).as_bytes(), false)?),
        FileKind::Sqlite => as_database(target, &rows),
    }
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>, CompatError> {
    let failed = |error| CompatError::file("list", folder, error);
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut files = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    files.sort();
    Ok(files)
}

fn as_csv(rows: &[Vec<Node>]) -> String {
    let mut text = String::new();
    csv::put_row(&mut text, SUB_COLUMNS, "\n");
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .map(|value| match value {
                Node::Text(text) => text.clone(),
                Node::Int(value) => value.to_string(),
                Node::Float(value) => repr(*value),
                _ => String::new(),
            })
            .collect();
        csv::put_row(&mut text, cells.iter().map(String::as_str), "\n");
    }
    text
}

fn as_database(target: &Path, rows: &[Vec<Node>]) -> Result<(), CompatError> {
    let aside = AsideFile::create(target, false)?;
    let fill = |path: &Path| -> rusqlite::Result<()> {
        let mut database = Connection::open(path)?;
        create_table(&database, "data", &SUB_COLUMNS)?;
        insert(&mut database, "data", &SUB_COLUMNS, rows)?;
        database.close().map_err(|(_, error)| error)
    };
    fill(aside.path()?).map_err(|error| CompatError::file("write", target, error))?;
    Ok(aside.publish().map(drop)?)
}
