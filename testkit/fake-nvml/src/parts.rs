//! The smaller parts of the state file.

use serde::Deserialize;
use std::collections::HashMap;
use std::path::Path;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Namespace {
    /// A process with the PID n in the caller's namespace is n + this on the host.
    pub host_pid_offset: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    pub pid: Pid,
    /// Bytes; absent is "not available".
    #[serde(default)]
    pub memory: Option<u64>,
    /// The part of it that is protected by confidential computing.
    #[serde(default)]
    pub protected: Option<u64>,
    #[serde(default)]
    pub gpu_instance: Option<u32>,
    #[serde(default)]
    pub compute_instance: Option<u32>,
    /// Lives outside of the caller's PID namespace; its PID is that of the host.
    #[serde(default)]
    pub outside: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    pub pid: Pid,
    /// Microseconds since 1970. Absent: the end of the last sample period (`sample_period_ms`).
    #[serde(default)]
    pub at_us: Option<u64>,
    /// Or: so long before the first call.
    #[serde(default)]
    pub ago_ms: Option<u64>,
    pub sm: u32,
    #[serde(default)]
    pub memory: u32,
    #[serde(default)]
    pub encoder: u32,
    #[serde(default)]
    pub decoder: u32,
    #[serde(default)]
    pub outside: bool,
    /// Garbage: given as it stands at each call, whatever the caller has seen already.
    #[serde(default)]
    pub garbage: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bar1 {
    pub total: u64,
    pub used: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    #[serde(default)]
    pub active: bool,
    /// Counters of payload, in KiB.
    #[serde(default)]
    pub tx_kib: u64,
    #[serde(default)]
    pub rx_kib: u64,
    #[serde(default)]
    pub version: Option<u32>,
    /// By number: 0 replay, 1 recovery, 2 CRC flit, 3 CRC data, 4 ECC data.
    #[serde(default)]
    pub errors: HashMap<u32, u64>,
}

#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Ecc {
    pub enabled: bool,
    pub corrected_volatile: u64,
    pub uncorrected_volatile: u64,
    pub corrected_aggregate: u64,
    pub uncorrected_aggregate: u64,
}

impl Ecc {
    /// By NVML's numbers: the kind of error (0 corrected) and of counter (0 since the driver was loaded).
    pub fn count(&self, error: u32, counter: u32) -> Option<u64> {
        match (error, counter) {
            (0, 0) => Some(self.corrected_volatile),
            (1, 0) => Some(self.uncorrected_volatile),
            (0, 1) => Some(self.corrected_aggregate),
            (1, 1) => Some(self.uncorrected_aggregate),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Remapped {
    pub corrected: u32,
    pub uncorrected: u32,
    pub pending: bool,
    pub failed: bool,
}

#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Accounting {
    pub enabled: bool,
    pub buffer_size: Option<u32>,
    pub processes: Vec<Accounted>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accounted {
    pub pid: Pid,
    /// Per cent of the process's life; absent is "not available".
    #[serde(default)]
    pub gpu_util: Option<u32>,
    #[serde(default)]
    pub memory_util: Option<u32>,
    /// Bytes; absent is "not available".
    #[serde(default)]
    pub max_memory: Option<u64>,
    /// 0 while the process runs.
    #[serde(default)]
    pub time_ms: u64,
    #[serde(default)]
    pub start_us: u64,
    #[serde(default)]
    pub running: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// NVML's bit: 1 corrected ECC, 2 uncorrected ECC, 8 XID.
    #[serde(rename = "type")]
    pub kind: u64,
    /// Of an XID event its number.
    #[serde(default)]
    pub data: u64,
    /// After `start_unix_ms` (or the first call). Absent: as soon as somebody has registered for it.
    #[serde(default)]
    pub at_ms: Option<u64>,
    #[serde(default)]
    pub gpu_instance: Option<u32>,
    #[serde(default)]
    pub compute_instance: Option<u32>,
}

/// Of a MIG instance.
#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Attributes {
    pub multiprocessors: u32,
    pub gpu_slices: u32,
    pub compute_slices: u32,
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
