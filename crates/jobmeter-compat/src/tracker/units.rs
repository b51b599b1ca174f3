//! Decimal units of memory and units of time, as factors onto bytes and seconds.

use crate::error::CompatError;

const MEMORY: &[(&str, f64)] =
    &[("bytes", 1.0), ("gigabytes", 1e-9), ("kilobytes", 1e-3), ("megabytes", 1e-6), ("terabytes", 1e-12)];
const TIME: &[(&str, f64)] =
    &[("days", 1.0 / 86400.0), ("hours", 1.0 / 3600.0), ("minutes", 1.0 / 60.0), ("seconds", 1.0)];

/// A unit by name; `factor` is multiplied onto bytes or seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitOf {
    pub name: &'static str,
    pub factor: f64,
}

pub(crate) fn memory(name: &str, what: &str) -> Result<UnitOf, CompatError> {
    find(name, what, MEMORY)
}

/// Set to `mib`, GPU RAM is told as gpu_tracker tells it, which takes the MiB of the driver's tools for megabytes: for
/// those who compare with results of it. Without it a megabyte is a million bytes.
const AS_GPU_TRACKER: &str = "JOBMETER_GPU_TRACKER_RAM";
const MIB: f64 = (1u64 << 20) as f64;

pub(crate) fn gpu_memory(name: &str) -> Result<UnitOf, CompatError> {
    let unit = memory(name, "GPU RAM")?;
    let is_mib = std::env::var_os(AS_GPU_TRACKER).is_some_and(|value| value.eq_ignore_ascii_case("mib"));
    Ok(if is_mib { UnitOf { factor: unit.factor * 1e6 / MIB, ..unit } } else { unit })
}

pub(crate) fn time(name: &str) -> Result<UnitOf, CompatError> {
    find(name, "time", TIME)
}

fn find(name: &str, what: &str, units: &'static [(&'static str, f64)]) -> Result<UnitOf, CompatError> {
    let found = units.iter().find(|(known, _)| *known == name);
    found.map(|&(name, factor)| UnitOf { name, factor }).ok_or_else(|| {
        let valid: Vec<&str> = units.iter().map(|(known, _)| *known).collect();
        CompatError::Value(format!(
            "\"{}\" is not a valid {what} unit. Valid values are {}",
            jobmeter_model::text::printable(name),
            valid.join(", ")
        ))
    })
}
