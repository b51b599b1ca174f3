//! The server catalogue for `recommend_server`.

use jobmeter_insight::catalogue::{Catalogue, Filters};
use pyo3::exceptions::{PyLookupError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

const MIB: u64 = 1024 * 1024;

/// The cheapest server with at least these cores, MiB, GPUs and MiB of VRAM; `filters` narrow the choice by
/// `vendor_id` (or `vendor`), `region_id` (or `region`), `arch`, `category` and `max_price_per_hour`.
#[pyfunction]
pub(crate) fn recommend_server<'py>(
    py: Python<'py>,
    resources: &Bound<'py, PyDict>,
    filters: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let wanted =
        |key: &str| -> PyResult<u64> { resources.get_item(key)?.map_or(Ok(0), |value| value.extract()) };
    let count = |value: u64| (value > 0).then(|| u32::try_from(value).unwrap_or(u32::MAX));
    let mut query = Filters {
        cpu: count(wanted("cpu")?),
        memory_bytes: Some(wanted("memory")? * MIB),
        gpu: count(wanted("gpu")?),
        vram_bytes: Some(wanted("vram")? * MIB).filter(|bytes| *bytes > 0),
        ..Filters::default()
    };
    for (key, value) in filters.iter() {
        let key: String = key.extract()?;
        match key.as_str() {
            "vendor" | "vendor_id" => query.vendor = Some(value.extract()?),
            "region" | "region_id" => query.region = Some(value.extract()?),
            "arch" | "architecture" => query.arch = Some(value.extract()?),
            "category" => query.category = Some(value.extract()?),
            "max_price_per_hour" => query.max_usd_per_hour = Some(value.extract()?),
            _ => {
                let text = "choose from vendor_id, region_id, arch, category, max_price_per_hour";
                return Err(PyTypeError::new_err(format!("the catalogue knows no filter {key:?}; {text}")));
            }
        }
    }
    let offer = Catalogue::embedded()
        .recommend_server(&query)
        .map_err(|error| PyLookupError::new_err(error.to_string()))?;
    let json = serde_json::to_string(&offer).map_err(|error| PyLookupError::new_err(error.to_string()))?;
    py.import("json")?.call_method1("loads", (json,))
}
