//! All of it together.

use crate::container::{self, ContainerInfo};
use crate::cpu::CpuInfo;
use crate::disk::{self, DiskInfo};
use crate::job::{self, JobIdentity};
use crate::limits::HostLimits;
use crate::os::OsInfo;
use crate::root::Root;
use serde::Serialize;
use std::path::Path;

/// The memory of the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MemoryInfo {
    /// `MemTotal`: what the kernel manages, a little less than what is installed.
    pub total_bytes: Option<u64>,
    /// Swap space.
    pub swap_bytes: Option<u64>,
}

/// A GPU as its driver names it; filled in by whoever speaks to drivers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GpuFact {
    /// As the driver names it.
    pub name: String,
    /// The driver's number for it, unique in the world.
    pub uuid: Option<String>,
    /// Its memory.
    pub memory_bytes: Option<u64>,
}

/// All that is known of the machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct HostInfo {
    /// The operating system.
    pub os: OsInfo,
    /// Its processors.
    pub cpu: CpuInfo,
    /// Its memory.
    pub memory: MemoryInfo,
    /// Its block devices.
    pub disks: Vec<DiskInfo>,
    /// `None` until the caller fills it: asking drivers may take long and does not belong here.
    pub gpus: Option<Vec<GpuFact>>,
    /// What binds programs here.
    pub limits: HostLimits,
    /// The container that we run in; `None` outside of one.
    pub container: Option<ContainerInfo>,
    /// The jobs of schedulers that we are part of.
    pub jobs: Vec<JobIdentity>,
}

impl HostInfo {
    /// Reads the machine below `root`, with the identity of the job from `environment`.
    pub fn read(root: &Path, environment: impl IntoIterator<Item = (String, String)>) -> HostInfo {
        let root = Root::new(root);
        let environment: Vec<(String, String)> = environment.into_iter().collect();
        let cpu = CpuInfo::read(root);
        let memory = MemoryInfo::read(root);
        HostInfo {
            os: OsInfo::read(root),
            limits: HostLimits::read(root, cpu.vcpus, memory.total_bytes),
            cpu,
            memory,
            disks: disk::read(root),
            gpus: None,
            container: container::read(root, &environment),
            jobs: job::read(&environment),
        }
    }

    /// The same with this process's environment; variables that are not UTF-8 are left out.
    pub fn of(root: &Path) -> HostInfo {
        let environment = std::env::vars_os()
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
        HostInfo::read(root, environment)
    }
}

impl MemoryInfo {
    fn read(root: Root<'_>) -> MemoryInfo {
        let text = root.text("proc/meminfo").unwrap_or_default();
        let bytes = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
            line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
        };
        MemoryInfo { total_bytes: bytes("MemTotal"), swap_bytes: bytes("SwapTotal") }
    }
}
