//! The owner of a file is not known on this system, so settings in the working directory are not read.

use crate::trust::Found;
use std::fs::File;
use std::io;
use std::path::Path;

pub(crate) fn open_own(path: &Path) -> io::Result<Found> {
    match path.is_file() {
        true => Ok(Found::Untrusted("whose it is can be told on Linux only".to_owned())),
        false => Ok(Found::Nothing),
    }
}

pub(crate) fn is_callers(_file: &File) -> bool {
    true
}

pub(crate) fn is_elevated() -> bool {
    false
}
