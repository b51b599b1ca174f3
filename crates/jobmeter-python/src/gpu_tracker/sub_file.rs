//! `GpuSubFile`: a sub-tracking file that this program began, for its threads and forked children.

use super::compat_error;
use crate::away::away;
use jobmeter_compat::{Node, SubFile};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Process, code block, position and time stamp.
type Stamp = (i64, String, i64, f64);

#[pyclass(frozen, module = "jobmeter._native")]
pub(crate) struct GpuSubFile(SubFile);

#[pymethods]
impl GpuSubFile {
    /// Puts a file with these rows in its place. Raises FileExistsError for one that exists, unless `overwrite` is set.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, rows: Vec<Stamp>, overwrite: bool) -> PyResult<GpuSubFile> {
        let rows: Vec<Vec<Node>> = rows.into_iter().map(nodes).collect();
        away(py, || SubFile::create(&path, &rows, overwrite)).map(GpuSubFile).map_err(compat_error)
    }

    /// Whether it is still in its place.
    fn is_there(&self) -> bool {
        self.0.is_there()
    }

    fn append(&self, py: Python<'_>, row: Stamp) -> PyResult<()> {
        away(py, || self.0.append(&nodes(row))).map_err(compat_error)
    }
}

fn nodes((process_id, name, position, timestamp): Stamp) -> Vec<Node> {
    vec![Node::Int(process_id), Node::Text(name), Node::Int(position), Node::Float(timestamp)]
}
