//! A sub-tracking file while a program writes it: put in place with its first rows, then one row after the other.

use super::tracking_file::{create_table, insert};
use crate::csv;
use crate::error::{CompatError, shown};
use crate::table::{FileKind, SUB_COLUMNS, put_row};
use crate::tree::Node;
use jobmeter_record::RecordError;
use jobmeter_record::place::AsideFile;
use rusqlite::{Connection, OpenFlags};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a row waits for a reader that locks the database: the usual time of Python's own module.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// A file that this program began. Rows are added to this very file: what takes its name later is left alone.
#[derive(Debug, Clone)]
pub struct SubFile {
    named: PathBuf,
    /// Without links.
    real: PathBuf,
    kind: FileKind,
    device: u64,
    inode: u64,
}

impl SubFile {
    /// Puts a file with these rows in its place, each in the order of the columns. One that exists is replaced with
    /// `overwrite`, refused without.
    pub fn create(path: &Path, rows: &[Vec<Node>], overwrite: bool) -> Result<SubFile, CompatError> {
        let failed = |error| CompatError::io("write", path, error);
        let kind = FileKind::of(path)?;
        let aside = AsideFile::create(path, overwrite).map_err(|error| refused(path, error))?;
        match kind {
            FileKind::Csv => {
                let mut text = String::new();
                csv::put_row(&mut text, SUB_COLUMNS, "\r\n");
                rows.iter().for_each(|row| put_row(&mut text, row));
                aside.writer()?.write_all(text.as_bytes()).map_err(failed)?;
            }
            FileKind::Sqlite => {
                fill(aside.path()?, rows).map_err(|error| CompatError::file("write", path, error))?;
            }
        }
        let meta =
            aside.publish().map_err(|error| refused(path, error))?.into_file().metadata().map_err(failed)?;
        let real = path.canonicalize().map_err(failed)?;
        Ok(SubFile { named: path.to_owned(), real, kind, device: meta.dev(), inode: meta.ino() })
    }

    /// Whether the file is still in its place.
    pub fn is_there(&self) -> bool {
        self.real.symlink_metadata().is_ok_and(|meta| self.is_it(&meta))
    }

    /// The number of a file that was removed may go to a link.
    fn is_it(&self, meta: &std::fs::Metadata) -> bool {
        meta.is_file() && (meta.dev(), meta.ino()) == (self.device, self.inode)
    }

    /// Adds a row, in the order of the columns.
    pub fn append(&self, row: &[Node]) -> Result<(), CompatError> {
        let failed = |error: rusqlite::Error| CompatError::file("write", &self.named, error);
        match self.kind {
            FileKind::Csv => {
                let mut file = self.open()?;
                let mut text = String::new();
                put_row(&mut text, row);
                file.write_all(text.as_bytes()).map_err(|error| CompatError::io("write", &self.named, error))
            }
            FileKind::Sqlite => {
                drop(self.open()?);
                let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NOFOLLOW;
                let mut database = Connection::open_with_flags(&self.real, flags).map_err(failed)?;
                database.busy_timeout(LOCK_PATIENCE).map_err(failed)?;
                insert(&mut database, "data", &SUB_COLUMNS, &[row.to_vec()]).map_err(failed)
            }
        }
    }

    fn open(&self) -> Result<File, CompatError> {
        let failed = |error| CompatError::io("write", &self.named, error);
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = OpenOptions::new().append(true).custom_flags(flags).open(&self.real).map_err(failed)?;
        if self.is_it(&file.metadata().map_err(failed)?) {
            return Ok(file);
        }
        Err(CompatError::file("write", &self.named, "another file took its place"))
    }
}

fn fill(path: &Path, rows: &[Vec<Node>]) -> rusqlite::Result<()> {
    let mut database = Connection::open(path)?;
    create_table(&database, "data", &SUB_COLUMNS)?;
    insert(&mut database, "data", &SUB_COLUMNS, rows)?;
    database.close().map_err(|(_, error)| error)
}

fn refused(path: &Path, error: RecordError) -> CompatError {
    match error {
        RecordError::Exists { .. } => CompatError::System {
            errno: libc::EEXIST,
            text: format!(
                "File {} already exists. Set overwrite to True to overwrite the existing file.",
                shown(path)
            ),
        },
        error => CompatError::from(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::read_sub_tracking;

    fn row(position: i64) -> Vec<Node> {
        vec![Node::Int(7), Node::text("a, \"b\""), Node::Int(position), Node::Float(1.5)]
    }

    #[test]
    fn rows_are_added_to_the_file_that_was_begun_and_to_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["s.csv", "s.sqlite"] {
            let path = folder.path().join(name);
            let file = SubFile::create(&path, &[row(0)], false).expect("a file");
            file.append(&row(1)).expect("a row");
            assert_eq!(read_sub_tracking(&path).expect("rows").len(), 2, "{name}");
            let refused = SubFile::create(&path, &[row(0)], false).expect_err("it exists");
            assert!(refused.to_string().contains("already exists. Set overwrite to True"), "{refused}");
            // A link with that name must not lead a row to another file.
            let precious =
                folder.path().join("precious").with_extension(name.rsplit('.').next().unwrap_or_default());
            std::fs::rename(&path, &precious).expect("moved");
            std::os::unix::fs::symlink(&precious, &path).expect("a link");
            let before = std::fs::read(&precious).expect("content");
            assert!(!file.is_there() && file.append(&row(1)).is_err());
            assert_eq!(std::fs::read(&precious).expect("content"), before, "{name}");
        }
    }

    #[test]
    fn a_link_of_ones_own_stays_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let (target, link) = (folder.path().join("target.csv"), folder.path().join("link.csv"));
        std::fs::write(&target, "old").expect("the target");
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        let file = SubFile::create(&link, &[row(0)], true).expect("replaced");
        file.append(&row(1)).expect("a row");
        assert!(link.symlink_metadata().expect("there").is_symlink());
        assert_eq!(read_sub_tracking(&target).expect("rows").len(), 2);
    }
}
