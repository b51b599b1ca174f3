//! One finished sample of all GPUs, as the thread publishes it and the tick picks it up.

use crate::device::{DeviceReading, GpuDevice};
use jobmeter_model::ProcessId;
use std::sync::Arc;

/// Where the thread stands. Told from outside, so that it can be asked while the thread hangs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// The driver is being initialised.
    Starting {
        /// What it was asked.
        call: &'static str,
        /// How long it has been asked.
        for_ms: u64,
    },
    /// Samples are taken.
    Ready,
    /// Nothing can be measured.
    Failed {
        /// Why.
        reason: String,
    },
    /// A driver has ended the process that it was loaded into: nothing more will come.
    Lost {
        /// Why.
        reason: String,
    },
    /// A call has not returned for longer than any healthy driver takes.
    Hung {
        /// What it was asked.
        call: &'static str,
        /// How long it has not answered.
        for_ms: u64,
    },
}

impl Status {
    /// One sentence for the record; `None` when all is well.
    pub fn reason(&self) -> Option<String> {
        match self {
            Status::Ready => None,
            Status::Failed { reason } | Status::Lost { reason } => Some(reason.clone()),
            Status::Starting { call, for_ms } => {
                Some(format!("the GPU driver was still initialising after {for_ms} ms (in {call})"))
            }
            Status::Hung { call, for_ms } => {
                Some(format!("the GPU driver has not returned from {call} for {for_ms} ms"))
            }
        }
    }
}

/// A figure that cannot be had, named once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// `None` speaks of all devices of the source.
    pub uuid: Option<String>,
    /// Field name, such as `power_mw` or `process_memory`.
    pub figure: &'static str,
    /// Why.
    pub reason: String,
}

/// Something that the user should read: a GPU lost, a driver that stopped answering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuWarning {
    /// The kind of the warning.
    pub kind: &'static str,
    /// The sentence.
    pub text: String,
    /// CLOCK_MONOTONIC when it was noticed.
    pub monotonic_ns: u64,
}

/// A user of a device that belongs to the job: an NVML process entry or a DRM client. Owners are the
/// members that hold it; a client shared by fork has several and is counted once per scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Index into [`GpuSnapshot::devices`].
    pub device: usize,
    /// The processes of the job behind it.
    pub owners: Vec<Owner>,
    /// Memory that it holds on the device.
    pub memory_bytes: Option<u64>,
    /// Over the last period.
    pub busy_ppm: Option<u64>,
    /// Share of the memory controller over the last period.
    pub memory_busy_ppm: Option<u64>,
}

/// A process of the job on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// Pid and start time.
    pub id: ProcessId,
    /// Whether it is the main process.
    pub main: bool,
}

/// What a scope of the job (main, descendants, combined) has on one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScopeReading {
    /// Memory on the device.
    pub memory_bytes: Option<u64>,
    /// Busy time, in millionths.
    pub busy_ppm: Option<u64>,
    /// Time of the memory controller, in millionths.
    pub memory_busy_ppm: Option<u64>,
}

/// All GPUs at one moment.
#[derive(Debug, Clone, Default)]
pub struct GpuSnapshot {
    /// Counts finished samples from 1.
    pub sequence: u64,
    /// CLOCK_MONOTONIC when the sample was begun, in nanoseconds.
    pub monotonic_ns: u64,
    /// The devices, in the order of the drivers.
    pub devices: Arc<Vec<GpuDevice>>,
    /// One per device, in the same order.
    pub readings: Vec<DeviceReading>,
    /// Users of the devices that belong to the job; strangers are not listed.
    pub clients: Vec<Client>,
    /// Per device: main, descendants, combined.
    pub scopes: Vec<[ScopeReading; 3]>,
    /// Everything missing so far and why, each once.
    pub failures: Arc<Vec<Failure>>,
    /// What went wrong so far.
    pub warnings: Arc<Vec<GpuWarning>>,
}
