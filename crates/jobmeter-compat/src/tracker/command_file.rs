//! The bare command `gpu-tracker` beside `jobmeter`, by choice: a few lines of shell that hand over to it.
//!
//! It is a file and no link, so that an installer that writes through a link cannot destroy the program itself. Only
//! files that this module wrote are replaced or removed.

use crate::error::{CompatError, shown};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const NAME: &str = "gpu-tracker";
const MARK: &str = "#!/bin/sh\n# Written by `jobmeter gpu-tracker --install-command`.\n";
/// Everybody who may run `jobmeter` may run it by the other name.
const MODE: u32 = 0o755;

/// Puts the command into `folder`, by default the one of `program`. Returns its path.
pub fn install(program: &Path, folder: Option<&Path>) -> Result<PathBuf, CompatError> {
    let path = place(program, folder)?;
    remove_ours(&path)?;
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(MODE)
        .open(&path)
        .and_then(|mut file| file.write_all(&script(program)));
    written.map_err(|error| CompatError::file("write", &path, error))?;
    Ok(path)
}

/// The shell takes everything between single quotes as it stands; one in the path is put between double quotes.
fn script(program: &Path) -> Vec<u8> {
    let mut text = [MARK.as_bytes(), b"exec '"].concat();
    for &byte in program.as_os_str().as_bytes() {
        match byte {
            b'\'' => text.extend_from_slice(b"'\"'\"'"),
            byte => text.push(byte),
        }
    }
    text.extend_from_slice(b"' gpu-tracker \"$@\"\n");
    text
}

/// Removes what `install` wrote. Returns its path.
pub fn uninstall(program: &Path, folder: Option<&Path>) -> Result<PathBuf, CompatError> {
    let path = place(program, folder)?;
    if remove_ours(&path)? {
        Ok(path)
    } else {
        Err(CompatError::File(format!("there is no {}", shown(&path))))
    }
}

fn place(program: &Path, folder: Option<&Path>) -> Result<PathBuf, CompatError> {
    let folder = folder.or_else(|| program.parent()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(CompatError::File(format!("{} is not a folder", shown(folder))));
    }
    Ok(folder.join(NAME))
}

/// Removes a file of ours; returns whether there was one. A foreign file, also a link, is an error.
fn remove_ours(path: &Path) -> Result<bool, CompatError> {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(CompatError::file("look at", path, error)),
    };
    let is_ours = found.is_file() && std::fs::read(path).is_ok_and(|text| text.starts_with(MARK.as_bytes()));
    if !is_ours {
        return Err(CompatError::File(format!(
            "{} is not from jobmeter and is left as it is; uninstall its package, or name another folder",
            shown(path)
        )));
    }
    std::fs::remove_file(path).map_err(|error| CompatError::file("replace", path, error))?;
    Ok(true)
}
