//! What to ask for next time, and which server has it: the rules of jobmeter-insight for `resource_tracker`.

use crate::away::away;
use jobmeter_insight::Error;
use jobmeter_insight::catalogue::Catalogue;
use jobmeter_insight::policy::{self, SimpleInput};
use pyo3::exceptions::{PyLookupError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Map, Value};

const MIB: f64 = 1024.0 * 1024.0;

/// Cores, MiB of memory, GPUs and MiB of VRAM, from averages and peaks in the same units.
#[pyfunction]
pub(crate) fn recommend_resources(
    cores_mean: f64,
    memory_mib: f64,
    gpus_mean: f64,
    gpus_max: f64,
    vram_mib: f64,
) -> (u64, u64, u64, u64) {
    let advice = policy::simple(SimpleInput {
        cores_mean,
        memory_peak_bytes: memory_mib * MIB,
        gpus_mean,
        gpus_max,
        vram_peak_bytes: vram_mib * MIB,
    });
    let mib = |bytes: u64| bytes / (MIB as u64);
    (advice.cores, mib(advice.memory_bytes), advice.gpus, mib(advice.vram_bytes))
}

/// The cheapest server with at least these cores, MiB, GPUs and MiB of VRAM; `filters` narrow the choice.
/// Dictionaries are JSON on the way in and out.
#[pyfunction]
pub(crate) fn recommend_server(py: Python<'_>, resources: &str, filters: &str) -> PyResult<String> {
    let resources = dictionary(resources)?;
    let filters = dictionary(filters)?;
    let offer = away(py, || Catalogue::embedded().recommend_dict(&resources, &filters));
    offer.map(|offer| offer.to_string()).map_err(lookup_error)
}

/// The `limit` cheapest servers that fit, as a JSON list; the same rules as for one.
#[pyfunction]
pub(crate) fn recommend_servers(py: Python<'_>, resources: &str, limit: usize) -> PyResult<String> {
    let resources = dictionary(resources)?;
    let offers = away(py, || Catalogue::embedded().recommend_dicts(&resources, &Map::new(), limit));
    offers.map(|offers| Value::Array(offers).to_string()).map_err(lookup_error)
}

/// The hourly price of a type in a region, else in the cheapest one; `None` for a type that is not in the catalogue.
#[pyfunction]
pub(crate) fn server_price(vendor: &str, region: &str, type_name: &str) -> Option<f64> {
    Catalogue::embedded().price_per_hour(vendor, region, type_name)
}

pub(crate) fn lookup_error(error: Error) -> PyErr {
    match &error {
        Error::UnknownValue { filter: "filter", .. } => PyTypeError::new_err(error.to_string()),
        Error::Unit { .. } | Error::UnknownValue { .. } => PyValueError::new_err(error.to_string()),
        _ => PyLookupError::new_err(error.to_string()),
    }
}

pub(crate) fn dictionary(json: &str) -> PyResult<Map<String, Value>> {
    serde_json::from_str(json).map_err(|error| PyValueError::new_err(format!("not a dictionary: {error}")))
}
