//! The state file: what the imaginary machine looks like, now or frame by frame.

use crate::parts::{Accounting, Attributes, Bar1, Ecc, Event, Link, Namespace, Process, Remapped, Sample};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct State {
    pub driver_version: Option<String>,
    /// As NVML numbers it: 12040 is 12.4.
    pub cuda_version: Option<i32>,
    /// Without the kernel module every way to initialise fails with 9.
    pub driver_missing: bool,
    /// The caller lives in a PID namespace of its own: what it sees of PIDs depends on the driver's version.
    pub pid_namespace: Option<Namespace>,
    /// Every call is noted in this file beside the state file: milliseconds since 1970, function, device.
    pub call_log: Option<String>,
    /// The devices, when there is one frame only.
    pub devices: Vec<Device>,
    /// The devices over time; the last frame stays.
    pub frames: Vec<Frame>,
    /// A frame lasts so long, counted from `start_unix_ms` (or from the first call).
    pub frame_ms: Option<u64>,
    pub start_unix_ms: Option<u64>,
    /// Or from when the process of this name wrote its number; until then the first frame stands.
    pub start_with: Option<String>,
    /// Or: each call of this function on device 0 begins the next frame (the first call shows frame 0).
    pub step_on: Option<String>,
    /// Function name to NVML return code.
    pub fail: BTreeMap<String, i32>,
    /// Functions that never return.
    pub hang: Vec<String>,
    /// Function name to milliseconds of sleep before it answers.
    pub delay_ms: BTreeMap<String, u64>,
    /// Function name to what it does to its caller's process.
    pub misbehave: BTreeMap<String, Misdeed>,
}

#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Frame {
    pub devices: Vec<Device>,
    /// In addition to those of the whole state, while the frame lasts.
    pub fail: BTreeMap<String, i32>,
    pub hang: Vec<String>,
    pub misbehave: BTreeMap<String, Misdeed>,
}

/// What drivers were seen to do to the process that loaded them.
#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Misdeed {
    Abort,
    Segv,
    /// Ends the process with status 3.
    Exit,
    /// SIGCHLD is ignored from then on, so that children cannot be waited for.
    IgnoreSigchld,
    /// Starts a child that lives for 300 ms and is never waited for; once per process.
    Fork,
    /// Writes a line to standard output.
    Print,
}

/// A device as a scene describes it. As many fields as NVML has questions: a scene sets those that its test asks.
#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Device {
    pub name: Option<String>,
    pub uuid: String,
    pub serial: Option<String>,
    /// `0000:65:00.0`
    pub pci: Option<String>,
    /// Device ID in the upper, vendor ID in the lower half.
    pub pci_device_id: Option<u32>,
    /// CUDA compute capability, such as `[9, 0]`.
    pub capability: Option<(i32, i32)>,
    pub memory_total: u64,
    pub memory_used: u64,
    pub memory_reserved: u64,
    pub bar1: Option<Bar1>,
    /// Per cent; absent is "not supported", as for every figure below.
    pub gpu_util: Option<u32>,
    pub memory_util: Option<u32>,
    pub encoder_util: Option<u32>,
    pub decoder_util: Option<u32>,
    pub power_mw: Option<u32>,
    pub power_limit_mw: Option<u32>,
    pub energy_mj: Option<u64>,
    /// The counter rises by so much, from the beginning of the scene.
    pub energy_mj_per_s: u64,
    pub temperature_c: Option<u32>,
    pub memory_temperature_c: Option<u32>,
    pub fan_percent: Option<u32>,
    pub sm_mhz: Option<u32>,
    pub memory_mhz: Option<u32>,
    pub video_mhz: Option<u32>,
    pub sm_max_mhz: Option<u32>,
    pub memory_max_mhz: Option<u32>,
    /// 0 is the fastest.
    pub performance_state: Option<u32>,
    pub compute_mode: Option<u32>,
    pub persistence: Option<bool>,
    pub display: Option<bool>,
    /// The bit set of the reasons that hold the clocks down at this moment.
    pub throttle: Option<u64>,
    /// Nanoseconds under each performance policy, by its number in NVML.
    pub violation_ns: BTreeMap<u32, u64>,
    pub pcie_rx_kb: Option<u32>,
    pub pcie_tx_kb: Option<u32>,
    pub pcie_generation: Option<u32>,
    pub pcie_width: Option<u32>,
    /// Each read of the PCIe throughput takes so long (real drivers: 20).
    pub pcie_delay_ms: u64,
    pub nvlink: Option<Vec<Link>>,
    pub ecc: Option<Ecc>,
    pub remapped: Option<Remapped>,
    /// Every call on it answers "GPU is lost".
    pub lost: bool,
    /// Every figure answers "reset required"; names and addresses are still told.
    pub reset_required: bool,
    /// `power/runtime_status` in sysfs, relative to the state file. A call that initialises the library, or is on
    /// the device, wakes the card: it writes `active` there.
    pub runtime_status: Option<String>,
    pub compute: Vec<Process>,
    pub graphics: Vec<Process>,
    /// Clients of the MPS server; absent is "not supported".
    pub mps: Option<Vec<Process>>,
    /// The driver's buffer of utilisation samples; absent is "not supported".
    pub samples: Option<Vec<Sample>>,
    /// Samples without a time of their own are taken this often; 0 is "at each call".
    pub sample_period_ms: u64,
    pub accounting: Option<Accounting>,
    /// GPM metrics by number or name; absent is a device without GPM.
    pub gpm: Option<BTreeMap<String, f64>>,
    pub events: Option<Vec<Event>>,
    /// Field values by number, beside those that other figures give.
    pub fields: BTreeMap<u32, serde_json::Number>,
    /// MIG instances; an empty list is MIG mode without instances.
    pub mig: Option<Vec<Device>>,
    /// Of a MIG instance.
    pub gpu_instance: Option<u32>,
    pub compute_instance: Option<u32>,
    pub attributes: Option<Attributes>,
    pub fail: BTreeMap<String, i32>,
}

impl Device {
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("Imaginary GPU")
    }

    /// What is neither used nor the driver's own.
    pub fn memory_free(&self) -> u64 {
        self.memory_total.saturating_sub(self.memory_used + self.memory_reserved)
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

    pub fn driver_version(&self) -> &str {
        self.driver_version.as_deref().unwrap_or("550.54.15")
    }

    /// Milliseconds since the scene began; `first_ms` is the time of the first call.
    pub fn age_ms(&self, folder: &Path, first_ms: u64) -> u64 {
        if let Some(name) = &self.start_with {
            let written =
                std::fs::metadata(folder.join(format!("{name}.pid"))).and_then(|data| data.modified());
            let age = written.ok().and_then(|time| time.elapsed().ok());
            return age.map_or(0, |age| age.as_millis() as u64);
        }
        unix_ms().saturating_sub(self.start_unix_ms.unwrap_or(first_ms))
    }

    /// The frame of this moment. `steps` is how often `step_on` was called so far.
    pub fn frame_at(&self, steps: u64, age_ms: impl FnOnce() -> u64) -> Option<&Frame> {
        let last = self.frames.len().checked_sub(1)?;
        let frame = match self.frame_ms {
            Some(length) if length > 0 => age_ms() / length,
            _ => steps.saturating_sub(1),
        };
        Some(&self.frames[last.min(frame as usize)])
    }
}

pub fn unix_ms() -> u64 {
    unix_us() / 1000
}

pub fn unix_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_micros() as u64)
}
