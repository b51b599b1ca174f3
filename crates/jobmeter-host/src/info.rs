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

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MemoryInfo {
    /// `MemTotal`: what the kernel manages, a little less than what is installed.
    pub total_bytes: Option<u64>,
    pub swap_bytes: Option<u64>,
}

/// A GPU as its driver names it; filled in by whoever speaks to drivers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GpuFact {
    pub name: String,
    pub uuid: Option<String>,
    pub memory_bytes: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct HostInfo {
    pub os: OsInfo,
    pub cpu: CpuInfo,
    pub memory: MemoryInfo,
    pub disks: Vec<DiskInfo>,
    /// `None` until the caller fills it: asking drivers may take long and does not belong here.
    pub gpus: Option<Vec<GpuFact>>,
    pub limits: HostLimits,
    pub container: Option<ContainerInfo>,
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
