//! The state file: what the imaginary machine looks like, now or frame by frame.

use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct State {
    pub driver_version: Option<String>,
    /// The devices, when there is one frame only.
    pub devices: Vec<Device>,
    /// The devices over time; the last frame stays.
    pub frames: Vec<Frame>,
    /// A frame lasts so long, counted from `start_unix_ms` (or from the first call).
    pub frame_ms: Option<u64>,
    pub start_unix_ms: Option<u64>,
    /// Or: each call of this function on device 0 begins the next frame (the first call shows frame 0).
    pub step_on: Option<String>,
    /// Function name to NVML return code.
    pub fail: BTreeMap<String, i32>,
    /// Functions that never return.
    pub hang: Vec<String>,
    /// Function name to milliseconds of sleep before it answers.
    pub delay_ms: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Frame {
    pub devices: Vec<Device>,
}

#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Device {
    pub name: Option<String>,
    pub uuid: String,
    /// `0000:65:00.0`
    pub pci: Option<String>,
    pub memory_total: u64,
    pub memory_used: u64,
    pub memory_reserved: u64,
    /// Per cent; absent is "not supported", as for every figure below.
    pub gpu_util: Option<u32>,
    pub memory_util: Option<u32>,
    pub power_mw: Option<u32>,
    pub energy_mj: Option<u64>,
    pub temperature_c: Option<u32>,
    pub sm_mhz: Option<u32>,
    pub memory_mhz: Option<u32>,
    pub throttle: Option<u64>,
    pub pcie_rx_kb: Option<u32>,
    pub pcie_tx_kb: Option<u32>,
    /// Every call on it answers "GPU is lost".
    pub lost: bool,
    pub compute: Vec<Process>,
    pub graphics: Vec<Process>,
    /// Utilisation samples; absent is "not supported".
    pub samples: Option<Vec<Sample>>,
    /// MIG instances; an empty list is MIG mode without instances.
    pub mig: Option<Vec<Device>>,
    /// Of a MIG instance.
    pub gpu_instance: Option<u32>,
    pub compute_instance: Option<u32>,
    pub fail: BTreeMap<String, i32>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    pub pid: Pid,
    /// Bytes; absent is "not available".
    #[serde(default)]
    pub memory: Option<u64>,
    #[serde(default)]
    pub gpu_instance: Option<u32>,
    #[serde(default)]
    pub compute_instance: Option<u32>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    pub pid: Pid,
    /// Microseconds since 1970. Absent: the moment of the call, so that each call has a new sample.
    #[serde(default)]
    pub at_us: Option<u64>,
    pub sm: u32,
    #[serde(default)]
    pub memory: u32,
}

/// A number, or a name: then the number is in the file `NAME.pid` beside the state file, and the entry does
/// not exist while there is no such file.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Pid {
    Number(u32),
    Name(String),
}

impl Pid {
    pub fn resolve(&self, folder: &Path, cache: &mut HashMap<String, u32>) -> Option<u32> {
        match self {
            Pid::Number(pid) => Some(*pid),
            Pid::Name(name) => {
                if let Some(pid) = cache.get(name) {
                    return Some(*pid);
                }
                let text = std::fs::read_to_string(folder.join(format!("{name}.pid"))).ok()?;
                let pid = text.trim().parse().ok()?;
                cache.insert(name.clone(), pid);
                Some(pid)
            }
        }
    }
}

impl State {
    pub fn path() -> Option<PathBuf> {
        std::env::var_os("FAKE_NVML_STATE").map(PathBuf::from)
    }

    pub fn load(path: &Path) -> Result<State, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The devices at this moment. `steps` is how often `step_on` was called so far; `first_ms` the time of
    /// the first call.
    pub fn devices_at(&self, steps: u64, first_ms: u64) -> &[Device] {
        let Some(last) = self.frames.len().checked_sub(1) else { return &self.devices };
        let frame = match self.frame_ms {
            Some(length) if length > 0 => {
                unix_ms().saturating_sub(self.start_unix_ms.unwrap_or(first_ms)) / length
            }
            _ => steps.saturating_sub(1),
        };
        &self.frames[last.min(frame as usize)].devices
    }
}

pub fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_millis() as u64)
}
