//! `Session` and `Recording`: a measurement under way, and a run file, with one way to read both.

use crate::away::away;
use crate::background::{Background, Options, StartError};
use crate::guidance::Guidance;
use crate::own_io::OwnRow;
use crate::page;
use crate::rows;
use crate::table::Table;
use crate::ticks::Ticks;
use jobmeter_engine::run::attach::TargetError;
use jobmeter_model::{MarkKind, Summary};
use jobmeter_record::{RecordError, Run};
use pyo3::exceptions::{
    PyFileExistsError, PyOSError, PyPermissionError, PyProcessLookupError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A measurement on a native thread. In a forked child it is inert: it belongs to the process that made it.
#[pyclass(frozen, module = "jobmeter._native")]
pub(crate) struct Session {
    /// Not dropped in a forked child, where the thread does not exist and locks may be held for ever.
    inner: ManuallyDrop<Mutex<Background>>,
    owner: u32,
}

impl Session {
    fn is_ours(&self) -> bool {
        self.owner == std::process::id()
    }

    /// Runs `work` without the interpreter lock.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Background) -> T + Send) -> PyResult<T> {
        if !self.is_ours() {
            let text = "this tracker belongs to the parent process; start a new one in the forked child";
            return Err(PyRuntimeError::new_err(text));
        }
        Ok(away(py, || work(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))))
    }

    fn summary(&self, py: Python<'_>) -> PyResult<Summary> {
        self.with(py, |background| background.summary())?.ok_or_else(|| {
            PyRuntimeError::new_err("the measurement broke off; its samples up to then are there")
        })
    }

    fn run(&self, py: Python<'_>) -> PyResult<Run> {
        self.with(py, |background| Run::from_bytes(background.bytes()))?.map_err(record_error)
    }

    fn table(&self, py: Python<'_>, make: fn(&Run) -> Result<Table, RecordError>) -> PyResult<Table> {
        let run = self.run(py)?;
        away(py, || make(&run)).map_err(record_error)
    }
}

#[pymethods]
impl Session {
    #[new]
    // Keyword arguments of the Python class, each by its own name.
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (*, pid, interval_ns, name, expected_cores, gpu_uuids, record, followed=false, own_io=false))]
    fn new(
        py: Python<'_>,
        pid: Option<i32>,
        interval_ns: Option<u64>,
        name: Option<String>,
        expected_cores: Option<f64>,
        gpu_uuids: Option<Vec<String>>,
        record: Option<PathBuf>,
        followed: bool,
        own_io: bool,
    ) -> PyResult<Session> {
        let pid = pid.filter(|pid| *pid != std::process::id() as i32);
        let options = Options {
            pid,
            interval_ns,
            name,
            expected_cores,
            gpu_uuids,
            record,
            is_followed: followed,
            has_own_io: own_io && pid.is_none(),
        };
        let background = away(py, || Background::start(options)).map_err(start_error)?;
        Ok(Session { inner: ManuallyDrop::new(Mutex::new(background)), owner: std::process::id() })
    }

    #[getter]
    fn running(&self, py: Python<'_>) -> PyResult<bool> {
        if !self.is_ours() {
            return Ok(false);
        }
        self.with(py, |background| background.is_running())
    }

    /// Names this moment (`point`), or the `begin` or `end` of a phase.
    fn mark(&self, py: Python<'_>, name: &str, kind: &str) -> PyResult<()> {
        let kind = mark_kind(kind)?;
        if self.is_ours() { self.with(py, |background| background.mark(name, kind)) } else { Ok(()) }
    }

    /// Ends the measurement; once more does nothing.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        if !self.is_ours() {
            return Ok(());
        }
        self.with(py, Background::stop)?.map_err(record_error)
    }

    /// Time of each tick with the bytes that the meter's own thread has read and written until then; of a session with
    /// `own_io` that measures its own process.
    fn own_io(&self, py: Python<'_>) -> PyResult<Vec<OwnRow>> {
        self.with(py, |background| background.own_io())
    }

    fn summary_json(&self, py: Python<'_>) -> PyResult<String> {
        json(&self.summary(py)?)
    }

    /// The summary as aligned lines.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        Ok(page::summary_text(&self.summary(py)?))
    }

    /// One self-contained page.
    fn page(&self, py: Python<'_>, guidance: &str) -> PyResult<String> {
        let guidance = Guidance::parse(guidance)?;
        let summary = self.summary(py)?;
        let run = self.run(py)?;
        away(py, || page::page(&run, summary, &guidance))
    }

    /// The first screen as HTML, for notebooks.
    fn fragment(&self, py: Python<'_>) -> PyResult<String> {
        let summary = self.summary(py)?;
        let run = self.run(py)?;
        Ok(away(py, || page::fragment(&run, summary)))
    }

    /// The rows since the last call; for sessions made with `followed`.
    fn take_rows(&self, py: Python<'_>) -> PyResult<Table> {
        self.with(py, |background| background.take_rows())?
            .ok_or_else(|| PyRuntimeError::new_err("this session was not started with followed=True"))
    }

    fn samples(&self, py: Python<'_>) -> PyResult<Table> {
        let run = self.run(py)?;
        Ok(away(py, || Ticks::of(&run).samples()))
    }

    fn processes(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, rows::processes)
    }

    fn phases(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, rows::phases)
    }

    fn marks(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, rows::marks)
    }

    /// The run and its summary, for `restore` in any process.
    fn packed<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, String)> {
        let summary = json(&self.summary(py)?)?;
        let bytes = self.with(py, |background| background.bytes())?;
        Ok((PyBytes::new(py, &bytes), summary))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let state = if self.running(py)? { "running" } else { "stopped" };
        Ok(format!("<jobmeter._native.Session of process {}, {state}>", self.owner))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.is_ours() {
            // SAFETY: dropped once, here.
            unsafe { ManuallyDrop::drop(&mut self.inner) };
        }
    }
}

/// A run file: of a run that ended, crashed or still goes on.
#[pyclass(frozen, module = "jobmeter._native")]
pub(crate) struct Recording {
    run: Run,
    /// Of a run that was measured in memory, whose bytes have none.
    summary: Option<Box<Summary>>,
}

impl Recording {
    fn summary(&self) -> Summary {
        self.summary.as_deref().cloned().unwrap_or_else(|| self.run.told_summary())
    }
}

#[pymethods]
impl Recording {
    fn summary_json(&self, py: Python<'_>) -> PyResult<String> {
        json(&away(py, || self.summary()))
    }

    /// That the file is damaged, in one sentence. A run that was cut short is not.
    fn damage(&self, py: Python<'_>) -> Option<String> {
        away(py, || self.run.find_damage()?.warning().map(|warning| warning.text))
    }

    fn text(&self, py: Python<'_>) -> String {
        away(py, || page::summary_text(&self.summary()))
    }

    fn page(&self, py: Python<'_>, guidance: &str) -> PyResult<String> {
        let guidance = Guidance::parse(guidance)?;
        away(py, || page::page(&self.run, self.summary(), &guidance))
    }

    /// The first screen as HTML, for notebooks.
    fn fragment(&self, py: Python<'_>) -> String {
        away(py, || page::fragment(&self.run, self.summary()))
    }

    fn samples(&self, py: Python<'_>) -> Table {
        away(py, || Ticks::of(&self.run).samples())
    }

    fn processes(&self, py: Python<'_>) -> PyResult<Table> {
        away(py, || rows::processes(&self.run)).map_err(record_error)
    }

    fn phases(&self, py: Python<'_>) -> PyResult<Table> {
        away(py, || rows::phases(&self.run)).map_err(record_error)
    }

    fn marks(&self, py: Python<'_>) -> PyResult<Table> {
        away(py, || rows::marks(&self.run)).map_err(record_error)
    }

    /// The run and its summary, for `restore` in any process.
    fn packed<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, String)> {
        let bytes = away(py, || self.run.to_bytes()).map_err(record_error)?;
        Ok((PyBytes::new(py, &bytes), json(&away(py, || self.summary()))?))
    }

    fn __repr__(&self) -> String {
        format!("<jobmeter._native.Recording of {:?}>", self.run.path().display().to_string())
    }
}

fn json(summary: &Summary) -> PyResult<String> {
    serde_json::to_string(summary).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Opens a run file.
#[pyfunction]
pub(crate) fn load(py: Python<'_>, path: PathBuf) -> PyResult<Recording> {
    let run = away(py, || Run::open(&path)).map_err(record_error)?;
    Ok(Recording { run, summary: None })
}

/// What `packed` gave, in another process or on another machine: no file is looked for.
#[pyfunction]
pub(crate) fn restore(py: Python<'_>, bytes: &[u8], summary: &str) -> PyResult<Recording> {
    let wrong = |error: serde_json::Error| {
        PyValueError::new_err(format!("the summary of the run is unreadable: {error}"))
    };
    let summary = serde_json::from_str(summary).map_err(wrong)?;
    let bytes = bytes.to_vec();
    let run = away(py, || Run::from_bytes(bytes)).map_err(record_error)?;
    Ok(Recording { run, summary: Some(Box::new(summary)) })
}

/// Passes a mark on to the run that wraps this process; without one, nothing happens.
#[pyfunction]
pub(crate) fn mark_outer(py: Python<'_>, name: String, kind: &str) -> PyResult<()> {
    let kind = mark_kind(kind)?;
    away(py, || {
        let tid = jobmeter_engine::linux::sys::thread_id();
        let mark = jobmeter_engine::run::marks::Mark { kind, pid: std::process::id() as i32, tid, name };
        // A program must run the same whether somebody measures it or not.
        drop(jobmeter_engine::run::marks::send(&mark));
    });
    Ok(())
}

fn mark_kind(kind: &str) -> PyResult<MarkKind> {
    match kind {
        "point" => Ok(MarkKind::Point),
        "begin" => Ok(MarkKind::Begin),
        "end" => Ok(MarkKind::End),
        _ => Err(PyValueError::new_err(format!("a mark is a point, a begin or an end, not {kind:?}"))),
    }
}

fn start_error(error: StartError) -> PyErr {
    match error {
        StartError::Target(error @ TargetError::NotThere(_)) => {
            PyProcessLookupError::new_err(error.to_string())
        }
        StartError::Target(error) => PyValueError::new_err(error.to_string()),
        StartError::Gpu(error) => PyValueError::new_err(error.to_string()),
        StartError::Record(error) => record_error(error),
        StartError::System(error) => system_error(&error, format!("cannot start to measure: {error}")),
    }
}

fn record_error(error: RecordError) -> PyErr {
    match &error {
        RecordError::Exists { path } => PyFileExistsError::new_err(format!(
            "{} exists already; choose another name or remove it first",
            path.display()
        )),
        RecordError::Io { source, .. } => system_error(source, error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// Python's own kind of an error of the system.
fn system_error(error: &io::Error, text: String) -> PyErr {
    match error.kind() {
        io::ErrorKind::PermissionDenied => PyPermissionError::new_err(text),
        _ => match error.raw_os_error() {
            // Python picks the subclass by the number: FileNotFoundError, IsADirectoryError …
            Some(number) => PyOSError::new_err((number, text)),
            None => PyOSError::new_err(text),
        },
    }
}
