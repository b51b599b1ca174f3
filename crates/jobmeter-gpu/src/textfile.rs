//! Small kernel files: one value each, or `key: value` lines.

use std::io::{self, Read};
use std::path::Path;

/// A sysfs or fdinfo file is at most a page or two; anything longer is not what we think it is.
const LIMIT: u64 = 64 * 1024;

pub(crate) fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::with_capacity(512);
    std::fs::File::open(path)?.take(LIMIT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub(crate) fn line(path: &Path) -> io::Result<String> {
    Ok(read(path)?.trim().to_owned())
}

pub(crate) fn number(path: &Path) -> io::Result<u64> {
    let text = read(path)?;
    text.trim()
        .parse()
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("{:?} is no number", text.trim())))
}

/// Why a file could not be read, in words for the record.
pub(crate) fn reason(path: &Path, error: &io::Error) -> String {
    let name = path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy());
    match error.kind() {
        io::ErrorKind::NotFound => format!("the driver offers no {name}"),
        io::ErrorKind::PermissionDenied => format!("{name} may not be read by this user"),
        _ => format!("{name} cannot be read: {error}"),
    }
}
