//! The machine and its cloud, in the words of resource_tracker.

use crate::away::away;
use crate::devices;
use jobmeter_host::{GpuFact, HostInfo, MetadataConfig, cloud_info_compat, discover, server_info_compat};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Cores, memory and GPUs of this machine, as JSON.
#[pyfunction]
pub(crate) fn server_info(py: Python<'_>) -> PyResult<String> {
    away(py, || Ok(server_info_compat(&host()?).to_string()))
}

/// Everything that is known of this machine, as JSON.
#[pyfunction]
pub(crate) fn host_info(py: Python<'_>) -> PyResult<String> {
    away(py, || json(&host()?))
}

fn host() -> PyResult<HostInfo> {
    let mut host = HostInfo::of(Path::new("/"));
    let facts = devices::list()?.into_iter().map(|device| GpuFact {
        name: device.name,
        uuid: Some(device.uuid),
        memory_bytes: device.memory_total_bytes,
    });
    host.gpus = Some(facts.collect());
    Ok(host)
}

/// Vendor, type, region and zone with their source and reason, as JSON. Nobody is asked without `ask`.
#[pyfunction]
pub(crate) fn cloud_facts(py: Python<'_>, root: PathBuf, ask: bool) -> PyResult<String> {
    away(py, || json(&discover(&root, ask.then(MetadataConfig::from_environment).as_ref())))
}

fn json(facts: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(facts).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Whose machine this is, as JSON. The firmware below `root` tells the vendor; only with `ask` is the metadata
/// service of a vendor that the firmware names asked, or the one at `JOBMETER_METADATA_BASE`.
#[pyfunction]
pub(crate) fn cloud_info(py: Python<'_>, root: PathBuf, ask: bool) -> String {
    away(py, || found(&root, ask))
}

fn found(root: &Path, ask: bool) -> String {
    let allowed = ask.then(MetadataConfig::from_environment);
    cloud_info_compat(&discover(root, allowed.as_ref())).to_string()
}

/// Discovery on a native thread of its own: it needs no interpreter, and the program neither waits for it nor
/// is kept alive by it.
#[pyclass(frozen, module = "jobmeter._native")]
pub(crate) struct CloudSearch {
    root: PathBuf,
    answer: Mutex<Receiver<String>>,
}

/// The search ends by its own time-out. A forked child has no such thread and would wait for ever.
const PATIENCE: Duration = Duration::from_secs(2);

#[pymethods]
impl CloudSearch {
    #[new]
    fn new(root: PathBuf) -> CloudSearch {
        let (sender, answer) = channel();
        let searched = root.clone();
        let search = move || {
            // Nobody may be left to hear it.
            let _ = sender.send(found(&searched, true));
        };
        // Without a thread nothing comes, and the firmware alone has to answer.
        let _ = std::thread::Builder::new().name("jobmeter-cloud".to_owned()).spawn(search);
        CloudSearch { root, answer: Mutex::new(answer) }
    }

    /// What was found, as JSON; asked a second time, what the firmware alone tells.
    fn wait(&self, py: Python<'_>) -> String {
        away(py, || {
            let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
            answer.recv_timeout(PATIENCE).unwrap_or_else(|_| found(&self.root, false))
        })
    }
}
