//! NVIDIA devices through NVML: list them once, then read each of them per sample.

mod accounting;
mod activity;
mod api;
mod enumerate;
mod health;
mod pcie;
mod sample;
mod sys;
mod window;

pub(crate) use sys::Progress;

use crate::device::GpuDevice;
use crate::energy::EnergyMeter;
use crate::gather::Gather;
use crate::snapshot::Owner;
use crate::source::GpuSource;
use api::{Api, Fault};
use std::path::PathBuf;
use std::time::Instant;
use window::{Level, Window};

/// The use of the device by one owner.
#[derive(Debug, Clone, Copy)]
struct OwnShare {
    owner: Owner,
    /// Given to an entry of this sample.
    placed: bool,
    level: Level,
}

/// A device or MIG instance with what has to be remembered between samples.
struct Unit {
    handle: sys::Device,
    /// Place in the common device list.
    slot: usize,
    /// Compute and GPU instance, for a MIG instance.
    mig_ids: Option<(u32, u32)>,
    is_instance: bool,
    /// Processes are listed by the instances of this GPU.
    lists_by_instance: bool,
    lost: bool,
    /// Says whether the card sleeps, where the kernel has it.
    power: Option<PathBuf>,
    asleep: bool,
    reset_told: bool,
    window: Window,
    /// The driver's entries of this sample, before anybody asked whose they are.
    entries: Vec<sys::UtilizationSample>,
    /// Ordered by pid.
    shares: Vec<OwnShare>,
    energy: EnergyMeter,
    pcie: Option<Pcie>,
    activity: Option<activity::Activity>,
    health: health::Health,
    /// Where accounting mode is on.
    accounts: Option<accounting::Accounts>,
}

#[derive(Debug, Clone, Copy)]
struct Pcie {
    receive_bytes_per_s: Option<u64>,
    transmit_bytes_per_s: Option<u64>,
    at: Instant,
}

pub(crate) struct NvmlSource {
    api: Api,
    units: Vec<Unit>,
    events: health::Events,
    /// No PCIe reading before this.
    pcie_due: Instant,
    processes: Vec<sys::Process>,
}

impl GpuSource for NvmlSource {
    fn sample(&mut self, gather: &mut Gather<'_>) {
        self.read_all(gather);
    }

    fn shutdown(&self) {
        self.api.shutdown();
    }
}

/// A device that was found, and how to reach it.
struct Found {
    device: GpuDevice,
    unit: Unit,
    /// What it would not tell of itself.
    missing: Vec<(&'static str, Fault)>,
}
