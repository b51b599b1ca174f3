//! Sub-tracking files of several processes into one.

use super::sub_file::SubFile;
use crate::error::{CompatError, shown};
use crate::table::{FileKind, SUB_COLUMNS, cell, read_sub_tracking};
use crate::tree::Node;
use std::path::{Path, PathBuf};

/// Joins `files` into `target`, which must not exist. A single folder stands for the files in it, by name.
pub fn combine(target: &Path, files: &[PathBuf]) -> Result<(), CompatError> {
    let kind = FileKind::of(target)?;
    let files = match files {
        [folder] if folder.is_dir() => files_of(folder)?,
        files => files.to_vec(),
    };
    if target.symlink_metadata().is_ok() {
        return Err(CompatError::Value(format!(
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
    SubFile::create(target, &rows, false).map(drop)
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>, CompatError> {
    let failed = |error| CompatError::io("list", folder, error);
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut files = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    files.sort();
    Ok(files)
}
