//! One finished sample of all GPUs, as the thread publishes it and the tick picks it up.

use crate::device::{DeviceReading, GpuDevice};
use jobmeter_model::ProcessId;
use std::sync::Arc;

/// Where the thread stands. Told from outside, so that it can be asked while the thread hangs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// The driver is being initialised.
    Starting {
        call: &'static str,
        for_ms: u64,
    },
    Ready,
    /// Nothing can be measured.
    Failed {
        reason: String,
    },
    /// A driver has ended the process that it was loaded into: nothing more will come.
    Lost {
        reason: String,
    },
    /// A call has not returned for longer than any healthy driver takes.
    Hung {
        call: &'static str,
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
    pub reason: String,
}

/// Something that the user should read: a GPU lost, a driver that stopped answering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuWarning {
    pub kind: &'static str,
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
    pub owners: Vec<Owner>,
    pub memory_bytes: Option<u64>,
    /// Over the last period.
    pub busy_ppm: Option<u64>,
    /// Share of the memory controller over the last period.
    pub memory_busy_ppm: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    pub id: ProcessId,
    pub main: bool,
}

/// What a scope of the job (main, descendants, combined) has on one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScopeReading {
    pub memory_bytes: Option<u64>,
    pub busy_ppm: Option<u64>,
    pub memory_busy_ppm: Option<u64>,
}

#[derive(Debug, Clone, Default)]
pub struct GpuSnapshot {
    /// Counts finished samples from 1.
    pub sequence: u64,
    /// CLOCK_MONOTONIC when the sample was begun, in nanoseconds.
    pub monotonic_ns: u64,
    pub devices: Arc<Vec<GpuDevice>>,
    /// One per device, in the same order.
    pub readings: Vec<DeviceReading>,
    /// Users of the devices that belong to the job; strangers are not listed.
    pub clients: Vec<Client>,
    /// Per device: main, descendants, combined.
    pub scopes: Vec<[ScopeReading; 3]>,
    /// Everything missing so far and why, each once.
    pub failures: Arc<Vec<Failure>>,
    pub warnings: Arc<Vec<GpuWarning>>,
}
