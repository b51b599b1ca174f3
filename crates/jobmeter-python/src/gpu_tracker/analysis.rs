//! Files of sessions, their analysis and comparison, and the texts of results.

use super::compat_error;
use super::tree::{from_python, row_to_python, to_python};
use crate::away::away;
use jobmeter_compat::sub_track::{self, Comparison, Span, SubTrackingResults};
use jobmeter_compat::table::{DATA_COLUMNS, read_sub_tracking, read_tracking};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;

type Any<'py> = Bound<'py, PyAny>;

/// The columns of a tracking file.
#[pyfunction]
pub(crate) fn gpu_tracker_columns() -> Vec<&'static str> {
    DATA_COLUMNS.to_vec()
}

/// Units, capacities and counts of a tracking file.
#[pyfunction]
pub(crate) fn gpu_tracker_static_data(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let (fixed, _) = away(py, || read_tracking(&path)).map_err(compat_error)?;
    row_to_python(py, &fixed)
}

/// The rows of a tracking file.
#[pyfunction]
pub(crate) fn gpu_tracker_data(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyList>> {
    let (_, rows) = away(py, || read_tracking(&path)).map_err(compat_error)?;
    list(py, &rows)
}

/// The rows of a sub-tracking file.
#[pyfunction]
pub(crate) fn gpu_tracker_sub_data(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyList>> {
    let rows = away(py, || read_sub_tracking(&path)).map_err(compat_error)?;
    list(py, &rows)
}

fn list<'py>(py: Python<'py>, rows: &[jobmeter_compat::table::Row]) -> PyResult<Bound<'py, PyList>> {
    let found = PyList::empty(py);
    rows.iter().try_for_each(|row| found.append(row_to_python(py, row)?))?;
    Ok(found)
}

/// Names of the code blocks, sorted.
#[pyfunction]
pub(crate) fn gpu_tracker_code_blocks(py: Python<'_>, path: PathBuf) -> PyResult<Vec<String>> {
    away(py, || sub_track::code_block_names(&path)).map_err(compat_error)
}

/// Start and stop of each call of a code block.
#[pyfunction]
pub(crate) fn gpu_tracker_spans(py: Python<'_>, path: PathBuf, name: &str) -> PyResult<Vec<Span>> {
    away(py, || sub_track::spans_of(&path, name)).map_err(compat_error)
}

/// The rows of a tracking file inside the spans.
#[pyfunction]
pub(crate) fn gpu_tracker_timepoints(
    py: Python<'_>,
    path: PathBuf,
    spans: Vec<Span>,
) -> PyResult<Bound<'_, PyList>> {
    let rows = away(py, || sub_track::timepoints(&path, &spans)).map_err(compat_error)?;
    list(py, &rows)
}

/// Statistics over all rows of a tracking file.
#[pyfunction]
pub(crate) fn gpu_tracker_overall(py: Python<'_>, path: PathBuf) -> PyResult<Any<'_>> {
    let found = away(py, || sub_track::overall(&path)).map_err(compat_error)?;
    to_python(py, &found)
}

/// The whole analysis in its JSON form.
#[pyfunction]
pub(crate) fn gpu_tracker_analyze(
    py: Python<'_>,
    tracking: PathBuf,
    sub_tracking: PathBuf,
) -> PyResult<Any<'_>> {
    let found = away(py, || sub_track::analyze(&tracking, &sub_tracking)).map_err(compat_error)?;
    to_python(py, &found.tree())
}

/// Joins sub-tracking files into one that must not exist.
#[pyfunction]
pub(crate) fn gpu_tracker_combine(py: Python<'_>, target: PathBuf, files: Vec<PathBuf>) -> PyResult<()> {
    away(py, || jobmeter_compat::combine(&target, &files)).map_err(compat_error)
}

/// Results that were pickled, in their JSON form; nothing that the file names is called.
#[pyfunction]
pub(crate) fn gpu_tracker_load_results(py: Python<'_>, path: PathBuf) -> PyResult<Any<'_>> {
    let found = away(py, || sub_track::read_results(&path)).map_err(compat_error)?;
    to_python(py, &found.tree())
}

/// Sessions, by name with their results, side by side; and warnings about code blocks that were matched.
#[pyfunction]
pub(crate) fn gpu_tracker_compare<'py>(
    py: Python<'py>,
    sessions: Vec<(String, Any<'py>)>,
    statistic: String,
) -> PyResult<(Any<'py>, Vec<String>)> {
    let mut loaded = Vec::with_capacity(sessions.len());
    for (name, tree) in sessions {
        let results = SubTrackingResults::from_tree(&from_python(&tree)?);
        let wrong = || PyValueError::new_err(format!("the results of session {name:?} have a wrong shape"));
        loaded.push((name.clone(), results.ok_or_else(wrong)?));
    }
    let comparison = Comparison::of(loaded, statistic).map_err(compat_error)?;
    let found = comparison.results().map_err(compat_error)?;
    Ok((to_python(py, &found.tree())?, comparison.warnings))
}

/// The text of results of a kind, `SubTrackingResults` or `ComparisonResults`.
#[pyfunction]
pub(crate) fn gpu_tracker_text(kind: &str, tree: &Any<'_>) -> PyResult<String> {
    sub_track::text_of(kind, &from_python(tree)?)
        .ok_or_else(|| PyValueError::new_err(format!("the {kind} have a wrong shape")))
}

/// The text of a usage: three spaces a level, floats to three places.
#[pyfunction]
pub(crate) fn gpu_tracker_report(tree: &Any<'_>) -> PyResult<String> {
    Ok(from_python(tree)?.to_report())
}
