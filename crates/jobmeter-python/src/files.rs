//! Files of the Python package, put in their place as those of the command line are.

use crate::away::away;
use jobmeter_record::RecordError;
use jobmeter_record::place::{self, AsideFile};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::os::fd::{IntoRawFd, RawFd};
use std::path::PathBuf;

/// A new file in that place, empty and open for writing, for what grows line by line: its descriptor. What exists is
/// replaced as by `write_file`; a pipe or a device is opened. Raises OSError.
#[pyfunction]
pub(crate) fn create_file(py: Python<'_>, path: PathBuf) -> PyResult<RawFd> {
    let created = away(py, || AsideFile::create(&path, true)?.publish());
    created.map(|out| out.into_file().into_raw_fd()).map_err(|error| os_error(&error, path))
}

/// Puts `data` there, whole: an existing file is replaced and keeps its mode, a link stays a link. Raises OSError.
#[pyfunction]
pub(crate) fn write_file(py: Python<'_>, path: PathBuf, data: &[u8]) -> PyResult<()> {
    away(py, || place::write(&path, data, true)).map_err(|error| os_error(&error, path))
}

fn os_error(error: &RecordError, path: PathBuf) -> PyErr {
    let number = match error {
        RecordError::Io { .. } => error.errno().unwrap_or(libc::EIO),
        _ => libc::EINVAL,
    };
    PyOSError::new_err((number, error.to_string(), path))
}
