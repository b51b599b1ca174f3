//! Files that appear whole or not at all: written beside their place under another name, then moved.

use crate::error::RecordError;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct AsideFile {
    target: PathBuf,
    aside: PathBuf,
    file: File,
    force: bool,
    published: bool,
}

impl AsideFile {
    /// Refuses a target that exists unless `force` is given, and in any case one that is not a regular file.
    pub fn create(target: &Path, force: bool) -> Result<AsideFile, RecordError> {
        match target.symlink_metadata() {
            Ok(meta) if !meta.is_file() => {
                return Err(RecordError::Invalid(format!(
                    "{} is not a regular file and is not replaced; name a file",
                    crate::text::printable(&target.to_string_lossy())
                )));
            }
            Ok(_) if !force => return Err(RecordError::Exists { path: target.to_owned() }),
            _ => {}
        }
        let Some(name) = target.file_name() else {
            return Err(RecordError::Invalid("the output has no file name; name a file".to_owned()));
        };
        let mut aside_name = std::ffi::OsString::from(".");
        aside_name.push(name);
        aside_name.push(format!(".{}.part", std::process::id()));
        let aside = target.with_file_name(aside_name);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&aside)
            .map_err(|error| RecordError::io("create", &aside, error))?;
        Ok(AsideFile { target: target.to_owned(), aside, file, force, published: false })
    }

    /// Where it is being written.
    pub fn path(&self) -> &Path {
        &self.aside
    }

    pub fn file(&self) -> Result<File, RecordError> {
        self.file.try_clone().map_err(|error| RecordError::io("write", &self.aside, error))
    }

    /// Moves the file to its place. A target that came into being meanwhile is not replaced unasked.
    pub fn publish(mut self) -> Result<(), RecordError> {
        if !self.force {
            match std::fs::hard_link(&self.aside, &self.target) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    return Err(RecordError::Exists { path: self.target.clone() });
                }
                // File systems without hard links: the check at the beginning has to do.
                Err(_) => {}
            }
        }
        std::fs::rename(&self.aside, &self.target)
            .map_err(|error| RecordError::io("create", &self.target, error))?;
        self.published = true;
        Ok(())
    }
}

impl Drop for AsideFile {
    fn drop(&mut self) {
        if !self.published && std::fs::remove_file(&self.aside).is_err() {
            // Already gone; there is nothing to tidy up.
        }
    }
}
