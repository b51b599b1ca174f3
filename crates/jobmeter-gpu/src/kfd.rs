//! AMD's compute driver in sysfs: which GPUs it drives, in the order of the ROCm run-time, and what each process has on
//! them. Work on its queues passes by the counters of `fdinfo`.

use crate::textfile;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A GPU of the topology.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KfdGpu {
    /// By which the files of processes name it.
    pub(crate) gpu_id: u64,
    /// `0000:03:00.0`
    pub(crate) pci_id: String,
    pub(crate) compute_units: u64,
    /// CPU cores and GPU are one node: memory of the system is its own.
    pub(crate) is_apu: bool,
}

/// In the order in which the run-time numbers them; empty without the driver.
pub(crate) fn gpus(root: &Path) -> Vec<KfdGpu> {
    let folder = root.join("sys/class/kfd/kfd/topology/nodes");
    let names = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers.iter().filter_map(|number| gpu(&folder.join(number.to_string()))).collect()
}

fn gpu(node: &Path) -> Option<KfdGpu> {
    let gpu_id = textfile::number(&node.join("gpu_id")).ok().filter(|id| *id != 0)?;
    let text = textfile::read(&node.join("properties")).ok()?;
    let properties: BTreeMap<&str, u64> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(key, value)| Some((key, value.trim().parse().ok()?)))
        .collect();
    let get = |key: &str| properties.get(key).copied();
    let (domain, location) = (get("domain").unwrap_or(0), get("location_id")?);
    let (bus, device, function) = (location >> 8 & 0xff, location >> 3 & 0x1f, location & 7);
    Some(KfdGpu {
        gpu_id,
        pci_id: format!("{domain:04x}:{bus:02x}:{device:02x}.{function}"),
        compute_units: get("simd_count")? / get("simd_per_cu").unwrap_or(4).max(1),
        is_apu: get("cpu_cores_count").is_some_and(|cores| cores > 0),
    })
}

/// What a process has on one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct KfdUse {
    pub(crate) vram_bytes: Option<u64>,
    /// Time of its copies since it began.
    pub(crate) copy_us: Option<u64>,
    /// Compute units that hold waves of it at this moment.
    pub(crate) busy_units: Option<u64>,
}

pub(crate) struct KfdProcesses(PathBuf);

impl KfdProcesses {
    pub(crate) fn new(root: &Path) -> KfdProcesses {
        KfdProcesses(root.join("sys/class/kfd/kfd/proc"))
    }

    /// Processes that use the driver now.
    pub(crate) fn pids(&self) -> Vec<i32> {
        let names = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    pub(crate) fn read(&self, pid: i32, gpu_id: u64) -> KfdUse {
        let folder = self.0.join(pid.to_string());
        let number = |name: String| textfile::number(&folder.join(name)).ok();
        KfdUse {
            vram_bytes: number(format!("vram_{gpu_id}")),
            copy_us: number(format!("sdma_{gpu_id}")),
            busy_units: number(format!("stats_{gpu_id}/cu_occupancy")),
        }
    }
}
