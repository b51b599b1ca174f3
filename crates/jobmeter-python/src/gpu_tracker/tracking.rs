//! `GpuTracking`: the samples of a session as gpu_tracker's figures, and as rows of a tracking file.

use super::compat_error;
use super::tree::{row_to_python, to_python};
use crate::away::away;
use jobmeter_compat::{KnownMachine, Machine, Timepoints, Track, usage};
use jobmeter_model::{Column, EntityKind, Metric, Scope, Sink, Summary};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

#[pyclass(frozen, module = "jobmeter._native")]
pub(crate) struct GpuTracking {
    machine: Machine,
    state: Mutex<State>,
    /// In a forked child a lock may be held for ever by a thread that is not there.
    owner: u32,
}

#[derive(Default)]
struct State {
    points: Option<Timepoints>,
    /// Names of the columns that the rows use, in the order in which they were defined.
    names: Vec<String>,
    /// All names that were seen, used or not.
    seen: HashSet<String>,
    until_ns: Option<u64>,
}

#[pymethods]
impl GpuTracking {
    /// Raises ValueError for a unit that is not one.
    #[new]
    // Keyword arguments of the Python class, each by its own name.
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (*, ram_unit, gpu_ram_unit, time_unit, ram_bytes, gpu_ram_bytes, core_count, n_expected_cores, gpu_count, uuids))]
    fn new(
        ram_unit: &str,
        gpu_ram_unit: &str,
        time_unit: &str,
        ram_bytes: u64,
        gpu_ram_bytes: u64,
        core_count: u32,
        n_expected_cores: u32,
        gpu_count: u32,
        uuids: Vec<String>,
    ) -> PyResult<GpuTracking> {
        let facts = KnownMachine {
            ram_unit,
            gpu_ram_unit,
            time_unit,
            ram_bytes,
            gpu_ram_bytes,
            core_count,
            n_expected_cores,
            gpu_count,
            uuids,
        };
        let machine = Machine::known(facts).map_err(compat_error)?;
        Ok(GpuTracking { machine, state: Mutex::default(), owner: std::process::id() })
    }

    /// Units, capacities and counts, as the first table of a tracking file has them.
    fn static_data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let data: Vec<_> =
            self.machine.static_data().into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        row_to_python(py, &data)
    }

    /// Begins; a tracking file is put in its place. Raises OSError.
    #[pyo3(signature = (started_unix_ns, tracking_file=None))]
    fn start(&self, py: Python<'_>, started_unix_ns: u64, tracking_file: Option<PathBuf>) -> PyResult<()> {
        // Whether it may be replaced was asked before.
        let track = tracking_file.map(|path| Track::new(path, true));
        self.with(py, |state| {
            let mut points = Timepoints::new(self.machine.clone(), None, started_unix_ns, track);
            let checked = points.check();
            *state = State { points: Some(points), ..State::default() };
            checked.map_err(compat_error)
        })?
    }

    /// Takes in the rows of a table that are later than those it had.
    fn feed(&self, py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<()> {
        let all: Vec<String> = table.getattr("column_names")?.extract()?;
        let t_ns: Vec<u64> = table.call_method1("column", ("t_ns",))?.extract()?;
        let known = self.with(py, |state| state.define(&all))?;
        let mut columns: Vec<Vec<Option<u64>>> = Vec::with_capacity(known.len());
        for name in &known {
            columns.push(match all.contains(name) {
                true => table.call_method1("column", (name,))?.extract()?,
                false => Vec::new(),
            });
        }
        self.with(py, |state| state.ticks(&t_ns, &columns))
    }

    /// Ends the tracking file. Raises OSError for what went wrong with it.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |state| state.points.as_mut().map_or(Ok(()), Timepoints::finish))?.map_err(compat_error)
    }

    /// What went wrong with the tracking file so far. Raises OSError.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |state| state.points.as_mut().map_or(Ok(()), Timepoints::check))?.map_err(compat_error)
    }

    /// The usage as nested dictionaries, from a summary and the rows so far.
    #[pyo3(signature = (summary))]
    fn usage<'py>(&self, py: Python<'py>, summary: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        let summary: Option<Summary> = summary
            .map(serde_json::from_str)
            .transpose()
            .map_err(|error| PyValueError::new_err(format!("not a summary: {error}")))?;
        let found = self.with(py, |state| {
            let points =
                state.points.get_or_insert_with(|| Timepoints::new(self.machine.clone(), None, 0, None));
            usage(summary.as_ref(), points)
        })?;
        to_python(py, found.tree())
    }
}

impl GpuTracking {
    /// Runs `work` without the interpreter lock: a disk may be slow.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut State) -> T + Send) -> PyResult<T> {
        if self.owner != std::process::id() {
            let text = "this tracker belongs to the parent process; start a new one in the forked child";
            return Err(PyRuntimeError::new_err(text));
        }
        Ok(away(py, || work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))))
    }
}

impl State {
    /// Takes new columns in and returns the names of those that rows are made of.
    fn define(&mut self, names: &[String]) -> Vec<String> {
        for name in names {
            if !self.seen.insert(name.clone()) {
                continue;
            }
            if let (Some(column), Some(points)) = (column_of(name), &mut self.points) {
                points.define(&column);
                self.names.push(name.clone());
            }
        }
        self.names.clone()
    }

    fn ticks(&mut self, t_ns: &[u64], columns: &[Vec<Option<u64>>]) {
        let Some(points) = &mut self.points else { return };
        for (row, t_ns) in t_ns.iter().enumerate() {
            if self.until_ns.is_some_and(|until_ns| *t_ns <= until_ns) {
                continue;
            }
            let values: Vec<Option<u64>> =
                columns.iter().map(|column| column.get(row).copied().flatten()).collect();
            points.tick(*t_ns, &values);
            self.until_ns = Some(*t_ns);
        }
    }
}

/// The column of a name, of those that rows are made of.
fn column_of(name: &str) -> Option<Column> {
    let (plain, device) = match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
        Some((plain, device)) => (plain, Some(device)),
        None => (name, None),
    };
    let scopes = [Scope::Main, Scope::Descendants, Scope::Combined, Scope::System];
    let (scope, key) = scopes.into_iter().find_map(|scope| {
        let key = plain.strip_prefix(scope.key())?.strip_prefix('_')?;
        Some((scope, key))
    })?;
    let metric = Metric::from_key(key)?;
    match (metric, device) {
        (Metric::GpuBusyPpm | Metric::GpuMemoryBytes, Some(device)) => {
            Some(Column::entity(scope, metric, EntityKind::Gpu, device))
        }
        (
            Metric::RssBytes
            | Metric::MemoryUsedBytes
            | Metric::GpuMemoryBytes
            | Metric::Threads
            | Metric::CpuNs,
            None,
        ) => Some(Column::of(scope, metric)),
        _ => None,
    }
}
