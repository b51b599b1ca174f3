//! Which source each figure of a device came from, as the reason that stands beside its quality.

use jobmeter_model::metric::Scope;
use jobmeter_model::summary::{EntityFigures, Summary};

/// Begin of a key and the source of such figures. The first that fits counts.
type Row = (&'static str, &'static str);

const NVML: &[Row] = &[
    ("gpu_idle_", "NVML: process utilisation at each sample, for the time since the sample before"),
    ("gpu_watched_ns", "NVML: from the first sample to the last"),
    ("gpu_memory_busy_ppm", "NVML: utilisation rates"),
    ("gpu_busy_ppm", "NVML: utilisation rates"),
    ("gpu_memory", "NVML: memory info"),
    ("gpu_power_mw", "NVML: power usage"),
    ("gpu_temperature_mc", "NVML: temperature"),
    ("gpu_clocks_held", "NVML: clocks event reasons at each sample"),
    ("gpu_throttle_bits", "NVML: clocks event reasons at each sample"),
    ("gpu_clock", "NVML: clock info"),
    ("gpu_pcie", "NVML: GPM, else PCIe throughput, read about once a second"),
    ("gpu_xid", "NVML: events since the first sample"),
    ("gpu_ecc", "NVML: total ECC errors since the first sample"),
    ("gpu_", "NVML: GPM"),
];

const NVML_JOB: &[Row] = &[
    ("gpu_accounted", "NVML: accounting mode"),
    ("gpu_memory_bytes", "NVML: process lists"),
    ("gpu_", "NVML: process utilisation"),
];

const DRM: &[Row] = &[
    ("gpu_idle_", "fdinfo of the job's descriptors at each sample, for the time since the sample before"),
    ("gpu_watched_ns", "sysfs: from the first sample to the last"),
    ("gpu_power_mw", "sysfs: hwmon"),
    ("gpu_temperature_mc", "sysfs: hwmon"),
    ("gpu_", "sysfs: files of the card"),
];

const DRM_JOB: &[Row] = &[("gpu_", "fdinfo of the job's descriptors")];
const AMD_JOB: &[Row] = &[("gpu_", "fdinfo of the job's descriptors; /sys/class/kfd where they use ROCm")];

/// Fills in the source where a known figure of a device has no other reason.
pub(crate) fn name(summary: &mut Summary) {
    for gpu in &mut summary.gpus {
        let driver = gpu.facts.get("driver").cloned().unwrap_or_default();
        let energy = gpu.facts.get("energy_method").map(|method| format!("{driver}: {method}"));
        let EntityFigures { figures, .. } = gpu;
        for (key, figure) in figures.iter_mut().filter(|(_, figure)| figure.value.is_some()) {
            if figure.reason.is_none() {
                figure.reason = match key.starts_with("gpu_energy_uj") {
                    true => energy.clone(),
                    false => of(&driver, key).map(str::to_owned),
                };
            }
        }
    }
}

fn of(driver: &str, key: &str) -> Option<&'static str> {
    let job_key = Scope::JOB.iter().find_map(|scope| key.strip_prefix(scope.key())?.strip_prefix('_'));
    let rows = match (driver, job_key) {
        ("nvml", None) => NVML,
        ("nvml", Some(_)) => NVML_JOB,
        (_, None) => DRM,
        ("amdgpu", Some(_)) => AMD_JOB,
        (_, Some(_)) => DRM_JOB,
    };
    let key = job_key.unwrap_or(key);
    rows.iter().find(|(begin, _)| key.starts_with(begin)).map(|(_, source)| *source)
}
