//! Files of the Python package, put in their place as those of the command line are.

use jobmeter_record::{RecordError, place};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Puts `data` there, whole: an existing file is replaced and keeps its mode, a link stays a link. Raises OSError.
#[pyfunction]
pub(crate) fn write_file(py: Python<'_>, path: PathBuf, data: &[u8]) -> PyResult<()> {
    py.detach(|| place::write(&path, data, true)).map_err(|error| {
        let number = match &error {
            RecordError::Io { source, .. } => source.raw_os_error().unwrap_or(match source.kind() {
                ErrorKind::NotFound => libc::ENOENT,
                ErrorKind::IsADirectory => libc::EISDIR,
                ErrorKind::NotADirectory => libc::ENOTDIR,
                ErrorKind::PermissionDenied => libc::EACCES,
                _ => libc::EIO,
            }),
            _ => libc::EINVAL,
        };
        PyOSError::new_err((number, error.to_string(), path))
    })
}
