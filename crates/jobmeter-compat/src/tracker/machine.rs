//! What does not change while tracking: units, capacities and counts; the first table of a tracking file.

use super::settings::Settings;
use super::units::{self, UnitOf};
use crate::error::CompatError;
use crate::rows::Scale;
use crate::tree::Node;
use jobmeter_engine::linux::sys::sysconf;
use jobmeter_gpu::{Brand, GpuConfig, GpuDevice, GpuError, GpuMonitor, JobEnv};
use jobmeter_model::text::printable;
use std::time::Duration;

/// A driver that takes longer is not going to tell.
const LISTING_PATIENCE: Duration = Duration::from_secs(10);
/// The original's message, because scripts look for it. jobmeter itself finds the driver without these commands.
const NO_GPU: &str = "Neither the nvidia-smi command nor the amd-smi command is installed. Install one of these to \
                      profile the GPU. Otherwise the GPU RAM and GPU utilization values will remain 0.0.";
/// Where no brand was asked for, one brand is tracked: the first of these, else whatever there is.
const PREFERRED: &[Brand] = &[Brand::Nvidia, Brand::Amd];

/// The machine, in the units that were asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Of RAM.
    pub ram_unit: UnitOf,
    /// Of GPU RAM.
    pub gpu_ram_unit: UnitOf,
    /// Of times.
    pub time_unit: UnitOf,
    /// RAM of the machine, in its unit.
    pub ram_capacity: f64,
    /// RAM of all GPUs, in its unit.
    pub gpu_ram_capacity: f64,
    /// Cores of the machine.
    pub core_count: u32,
    /// Cores that the command is expected to use.
    pub n_expected_cores: u32,
    /// GPUs of the machine.
    pub gpu_count: u32,
    /// GPUs that the command is expected to use.
    pub n_expected_gpus: u32,
    /// The GPUs whose utilization counts.
    pub uuids: Vec<String>,
}

/// What [`Machine::known`] is made of: names of units, and the rest as measured.
pub struct KnownMachine<'a> {
    /// Unit of RAM.
    pub ram_unit: &'a str,
    /// Unit of GPU RAM.
    pub gpu_ram_unit: &'a str,
    /// Unit of times.
    pub time_unit: &'a str,
    /// RAM of the machine.
    pub ram_bytes: u64,
    /// RAM of all GPUs.
    pub gpu_ram_bytes: u64,
    /// Cores of the machine.
    pub core_count: u32,
    /// Cores that the command is expected to use.
    pub n_expected_cores: u32,
    /// GPUs of the machine.
    pub gpu_count: u32,
    /// The GPUs whose utilization counts.
    pub uuids: Vec<String>,
}

/// The machine before the command starts.
pub struct Look {
    /// What was found.
    pub machine: Machine,
    /// How the GPUs are to be watched; `None`: not at all, and a warning says why. All of the brand are watched:
    /// chosen UUIDs narrow the utilization only.
    pub gpus: Option<GpuConfig>,
    /// What to warn of, in one sentence each.
    pub warnings: Vec<String>,
}

impl Machine {
    /// Looks at the machine. GPUs are listed here only when some were asked for by name, so that a wrong name is told
    /// before the command starts; else nobody waits for a driver, and [`Machine::add_gpus`] follows when it has answered.
    pub fn look(settings: &Settings) -> Result<Look, CompatError> {
        let ram_bytes = sysconf(libc::_SC_PHYS_PAGES) as f64 * sysconf(libc::_SC_PAGESIZE) as f64;
        let core_count = (sysconf(libc::_SC_NPROCESSORS_ONLN) as u32).max(1);
        let machine = Machine {
            ram_unit: settings.ram_unit,
            gpu_ram_unit: settings.gpu_ram_unit,
            time_unit: settings.time_unit,
            ram_capacity: ram_bytes * settings.ram_unit.factor,
            gpu_ram_capacity: 0.0,
            core_count,
            n_expected_cores: settings.n_expected_cores.unwrap_or(core_count),
            gpu_count: 0,
            n_expected_gpus: 0,
            uuids: Vec::new(),
        };
        let config = GpuConfig {
            brand: settings.gpu_brand,
            first_of: PREFERRED,
            job_env: JobEnv::from_lookup(|key| std::env::var(key).ok()),
            apart: true,
            ..GpuConfig::default()
        };
        let mut look = Look { machine, gpus: Some(config), warnings: Vec::new() };
        if settings.gpu_uuids.is_some() || settings.gpu_brand.is_some() {
            look.list_gpus(settings)?;
        }
        Ok(look)
    }

    /// A machine whose facts are known already.
    pub fn known(facts: KnownMachine<'_>) -> Result<Machine, CompatError> {
        let ram_unit = units::memory(facts.ram_unit, "RAM")?;
        let gpu_ram_unit = units::gpu_memory(facts.gpu_ram_unit)?;
        Ok(Machine {
            ram_unit,
            gpu_ram_unit,
            time_unit: units::time(facts.time_unit)?,
            ram_capacity: facts.ram_bytes as f64 * ram_unit.factor,
            gpu_ram_capacity: facts.gpu_ram_bytes as f64 * gpu_ram_unit.factor,
            core_count: facts.core_count,
            n_expected_cores: facts.n_expected_cores,
            gpu_count: facts.gpu_count,
            n_expected_gpus: facts.uuids.len() as u32,
            uuids: facts.uuids,
        })
    }

    /// Takes over what the driver listed. All count, unless UUIDs were chosen.
    pub fn add_gpus(&mut self, devices: &[GpuDevice]) {
        let whole = devices.iter().filter(|device| device.selected && device.mig_parent.is_none());
        let whole: Vec<&GpuDevice> = whole.collect();
        let bytes: u64 = whole.iter().filter_map(|device| device.memory_total_bytes).sum();
        self.gpu_ram_capacity = bytes as f64 * self.gpu_ram_unit.factor;
        self.gpu_count = whole.len() as u32;
        self.choose(whole.iter().map(|device| device.uuid.clone()).collect());
    }

    fn choose(&mut self, uuids: Vec<String>) {
        self.n_expected_gpus = uuids.len() as u32;
        self.uuids = uuids;
    }

    /// How figures become those of a row. The interface allows 0 expected cores or GPUs; nothing is divided by that.
    pub(crate) fn scale(&self) -> Scale {
        let units = |count: u32| f64::from(count.max(1));
        Scale {
            ram: self.ram_unit.factor,
            gpu_ram: self.gpu_ram_unit.factor,
            system_cores: units(self.core_count),
            expected_cores: units(self.n_expected_cores),
            expected_gpus: units(self.n_expected_gpus),
        }
    }

    /// The static data of a tracking file, in its order.
    pub fn static_data(&self) -> [(&'static str, Node); 9] {
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

impl Look {
    fn list_gpus(&mut self, settings: &Settings) -> Result<(), CompatError> {
        let config = self.gpus.clone().unwrap_or_default();
        let devices = match GpuMonitor::list(config, LISTING_PATIENCE) {
            Ok(devices) => devices,
            Err(error @ GpuError::Timeout { .. }) => {
                self.without_gpus(&error.to_string());
                return Ok(());
            }
            Err(error) => return Err(CompatError::Value(error.to_string())),
        };
        let devices: Vec<GpuDevice> = devices.into_iter().filter(|device| device.selected).collect();
        match (settings.gpu_brand, devices.is_empty()) {
            (Some(brand), true) => Err(CompatError::Value(format!(
                "No {} GPU was found; leave the GPU brand unset to take any.",
                brand.key()
            ))),
            (None, true) => {
                self.no_gpu();
                Ok(())
            }
            (_, false) => {
                self.machine.add_gpus(&devices);
                if let Some(wanted) = &settings.gpu_uuids {
                    self.machine.choose(chosen(wanted, &devices)?);
                }
                Ok(())
            }
        }
    }

    /// There is no trace of a driver.
    pub fn no_gpu(&mut self) {
        self.gpus = None;
        self.warnings.push(NO_GPU.to_owned());
    }

    fn without_gpus(&mut self, reason: &str) {
        self.gpus = None;
        self.warnings.push(remains_zero(reason));
    }
}

pub(crate) fn remains_zero(reason: &str) -> String {
    let reason = printable(reason);
    format!("{}. The GPU RAM and GPU utilization values will remain 0.0.", reason.trim_end_matches('.'))
}

fn chosen(wanted: &[String], devices: &[GpuDevice]) -> Result<Vec<String>, CompatError> {
    if wanted.iter().all(|uuid| uuid.is_empty()) {
        return Err(CompatError::Value(
            "gpu_uuids is not None but the set is empty. Please provide a set of at least one GPU UUID."
                .to_owned(),
        ));
    }
    let mut uuids = Vec::with_capacity(wanted.len());
    for uuid in wanted {
        let Some(device) = devices.iter().find(|device| device.is_called(uuid)) else {
            let names: Vec<&str> = devices.iter().map(|device| device.uuid.as_str()).collect();
            return Err(CompatError::Value(format!(
                "GPU UUID of {} is not valid. Available UUIDs are: {}",
                printable(uuid),
                printable(&names.join(", "))
            )));
        };
        uuids.push(device.uuid.clone());
    }
    uuids.sort();
    uuids.dedup();
    Ok(uuids)
}
