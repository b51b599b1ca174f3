//! The machine and its cloud, in the words of resource_tracker.

use crate::devices;
use jobmeter_host::{GpuFact, HostInfo, MetadataConfig, cloud_info_compat, discover, server_info_compat};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// Cores, memory and GPUs of this machine, as JSON.
#[pyfunction]
pub(crate) fn server_info(py: Python<'_>) -> PyResult<String> {
    py.detach(|| {
        let mut host = HostInfo::of(Path::new("/"));
        let facts = devices::list()?.into_iter().map(|device| GpuFact {
            name: device.name,
            uuid: Some(device.uuid),
            memory_bytes: device.memory_total_bytes,
        });
        host.gpus = Some(facts.collect());
        Ok(server_info_compat(&host).to_string())
    })
}

/// Whose machine this is, as JSON. The firmware below `root` tells the vendor; only with `ask` is the metadata
/// service of a vendor that the firmware names asked, or the one at `JOBMETER_METADATA_BASE`.
#[pyfunction]
pub(crate) fn cloud_info(py: Python<'_>, root: PathBuf, ask: bool) -> String {
    py.detach(|| {
        let allowed = ask.then(MetadataConfig::from_environment);
        cloud_info_compat(&discover(&root, allowed.as_ref())).to_string()
    })
}
