//! What does not change while tracking: units, capacities and counts; the first table of a tracking file.

use crate::error::CompatError;
use crate::settings::Settings;
use crate::tree::Node;
use crate::units::UnitOf;
use jobmeter_core::sys::sysconf;
use jobmeter_core::text::printable;
use jobmeter_gpu::{Brand, GpuConfig, GpuDevice, GpuError, GpuMonitor, JobEnv};
use std::time::Duration;

/// A driver that takes longer is not going to tell.
const LISTING_PATIENCE: Duration = Duration::from_secs(10);
const NO_GPU: &str = "No GPU driver was found (neither the NVIDIA library nor a DRM device), so the GPU RAM \
    and GPU utilization values will remain 0.0.";

#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    pub ram_unit: UnitOf,
    pub gpu_ram_unit: UnitOf,
    pub time_unit: UnitOf,
    pub ram_capacity: f64,
    pub gpu_ram_capacity: f64,
    pub core_count: u32,
    pub n_expected_cores: u32,
    pub gpu_count: u32,
    pub n_expected_gpus: u32,
    pub brand: Option<Brand>,
    /// The GPUs whose utilization counts.
    pub uuids: Vec<String>,
}

impl Machine {
    /// Looks at the machine; the second part is what to warn of.
    pub fn look(settings: &Settings) -> Result<(Machine, Vec<String>), CompatError> {
        let mut warnings = Vec::new();
        let (brand, devices) = devices(settings, &mut warnings)?;
        let whole: Vec<&GpuDevice> = devices.iter().filter(|device| device.mig_parent.is_none()).collect();
        let known: Vec<String> = whole.iter().map(|device| device.uuid.clone()).collect();
        let uuids = chosen(settings.gpu_uuids.as_deref(), &devices, known)?;
        let ram_bytes = sysconf(libc::_SC_PHYS_PAGES) as f64 * sysconf(libc::_SC_PAGESIZE) as f64;
        let gpu_bytes: u64 = whole.iter().filter_map(|device| device.memory_total_bytes).sum();
        let core_count = (sysconf(libc::_SC_NPROCESSORS_ONLN) as u32).max(1);
        let machine = Machine {
            ram_unit: settings.ram_unit,
            gpu_ram_unit: settings.gpu_ram_unit,
            time_unit: settings.time_unit,
            ram_capacity: ram_bytes * settings.ram_unit.factor,
            gpu_ram_capacity: gpu_bytes as f64 * settings.gpu_ram_unit.factor,
            core_count,
            n_expected_cores: settings.n_expected_cores.unwrap_or(core_count),
            gpu_count: whole.len() as u32,
            n_expected_gpus: uuids.len() as u32,
            brand,
            uuids,
        };
        Ok((machine, warnings))
    }

    /// How the GPUs are to be watched. All of the brand are: chosen UUIDs narrow the utilization only.
    pub fn gpu_config(&self) -> GpuConfig {
        config(self.brand, self.gpu_count > 0)
    }

    /// The static data of a tracking file, in its order.
    pub(crate) fn static_data(&self) -> [(&'static str, Node); 9] {
        let count = |value: u32| Node::Int(i64::from(value));
        [
            ("ram_unit", Node::text(self.ram_unit.name)),
            ("gpu_ram_unit", Node::text(self.gpu_ram_unit.name)),
            ("time_unit", Node::text(self.time_unit.name)),
            ("ram_system_capacity", Node::Float(self.ram_capacity)),
            ("gpu_ram_system_capacity", Node::Float(self.gpu_ram_capacity)),
            ("system_core_count", count(self.core_count)),
            ("n_expected_cores", count(self.n_expected_cores)),
            ("system_gpu_count", count(self.gpu_count)),
            ("n_expected_gpus", count(self.n_expected_gpus)),
        ]
    }
}

fn config(brand: Option<Brand>, enabled: bool) -> GpuConfig {
    GpuConfig {
        enabled,
        brand,
        job_env: JobEnv::from_lookup(|key| std::env::var(key).ok()),
        ..GpuConfig::default()
    }
}

/// The devices of one brand: the one asked for, else NVIDIA's, else AMD's, else all there are.
fn devices(
    settings: &Settings,
    warnings: &mut Vec<String>,
) -> Result<(Option<Brand>, Vec<GpuDevice>), CompatError> {
    let found = match GpuMonitor::list(config(settings.gpu_brand, true), LISTING_PATIENCE) {
        Ok(found) => found,
        Err(error @ GpuError::Timeout { .. }) => {
            warnings.push(format!("{error} The GPU RAM and GPU utilization values will remain 0.0."));
            return Ok((settings.gpu_brand, Vec::new()));
        }
        Err(error) => return Err(CompatError::Value(error.to_string())),
    };
    match settings.gpu_brand {
        Some(brand) if found.is_empty() => Err(CompatError::Value(format!(
            "No {} GPU was found; leave the GPU brand unset to take any.",
            brand.key()
        ))),
        Some(brand) => Ok((Some(brand), found)),
        None => {
            if found.is_empty() {
                warnings.push(NO_GPU.to_owned());
            }
            let brands = [Brand::Nvidia, Brand::Amd];
            let first = brands.into_iter().find(|&brand| found.iter().any(|device| device.brand == brand));
            let keep = |device: &GpuDevice| first.is_none_or(|brand| device.brand == brand);
            Ok((first, found.into_iter().filter(keep).collect()))
        }
    }
}

fn chosen(
    wanted: Option<&[String]>,
    devices: &[GpuDevice],
    all: Vec<String>,
) -> Result<Vec<String>, CompatError> {
    let Some(wanted) = wanted.filter(|_| !devices.is_empty()) else { return Ok(all) };
    if wanted.iter().all(|uuid| uuid.is_empty()) {
        return Err(CompatError::Value(
            "gpu_uuids is not None but the set is empty. Please provide a set of at least one GPU UUID."
                .to_owned(),
        ));
    }
    for uuid in wanted {
        if !devices.iter().any(|device| device.uuid == *uuid) {
            let names: Vec<&str> = devices.iter().map(|device| device.uuid.as_str()).collect();
            return Err(CompatError::Value(format!(
                "GPU UUID of {} is not valid. Available UUIDs are: {}",
                printable(uuid),
                printable(&names.join(", "))
            )));
        }
    }
    let mut uuids = wanted.to_vec();
    uuids.sort();
    uuids.dedup();
    Ok(uuids)
}
