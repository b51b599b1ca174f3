//! Processors: how many the kernel runs, how they sit in sockets and cores, and what they are called.

use crate::root::{Root, list_count};
use serde::Serialize;
use std::collections::BTreeSet;

/// The processors of the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CpuInfo {
    /// Online logical processors of the machine. What the job may use is in the limits.
    pub vcpus: Option<u32>,
    /// Processor packages.
    pub sockets: Option<u32>,
    /// Physical cores (a hypervisor may present threads as cores).
    pub cores: Option<u32>,
    /// `None` where the cores are not all alike.
    pub threads_per_core: Option<u32>,
    /// As the processor names itself.
    pub model: Option<String>,
    /// Who made it.
    pub vendor: Option<String>,
    /// Highest frequency that the frequency driver offers; absent on most virtual machines.
    pub max_hz: Option<u64>,
    /// Memory nodes.
    pub numa_nodes: Option<u32>,
}

impl CpuInfo {
    pub(crate) fn read(root: Root<'_>) -> CpuInfo {
        let cpuinfo = root.text("proc/cpuinfo").unwrap_or_default();
        let listed = cpuinfo.lines().filter(|line| key_of(line) == Some("processor")).count() as u32;
        let vcpus = root
            .value("sys/devices/system/cpu/online")
            .and_then(|list| list_count(&list))
            .or((listed > 0).then_some(listed));
        let places = sysfs_places(root).or_else(|| cpuinfo_places(&cpuinfo));
        let sockets = places
            .as_ref()
            .map(|places| places.iter().map(|(socket, _)| socket).collect::<BTreeSet<_>>().len() as u32);
        let cores = places.as_ref().map(|places| places.iter().collect::<BTreeSet<_>>().len() as u32);
        CpuInfo {
            vcpus,
            sockets,
            cores,
            threads_per_core: match (vcpus, cores) {
                (Some(threads), Some(cores)) if cores > 0 && threads % cores == 0 => Some(threads / cores),
                _ => None,
            },
            model: model(&cpuinfo),
            vendor: field(&cpuinfo, "vendor_id"),
            max_hz: root
                .number("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
                .and_then(|khz| khz.checked_mul(1000)),
            numa_nodes: root.value("sys/devices/system/node/online").and_then(|list| list_count(&list)),
        }
    }
}

/// (socket, core) of every online processor; `None` unless all of them tell.
fn sysfs_places(root: Root<'_>) -> Option<Vec<(i64, i64)>> {
    let base = "sys/devices/system/cpu";
    let mut places = Vec::new();
    for name in root.names(base) {
        let Some(number) = name.strip_prefix("cpu") else { continue };
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        // An offline processor has no topology folder.
        if !root.exists(&format!("{base}/{name}/topology")) {
            continue;
        }
        let socket = root.value(&format!("{base}/{name}/topology/physical_package_id"))?.parse().ok()?;
        let core = root.value(&format!("{base}/{name}/topology/core_id"))?.parse().ok()?;
        places.push((socket, core));
    }
    (!places.is_empty()).then_some(places)
}

fn cpuinfo_places(text: &str) -> Option<Vec<(i64, i64)>> {
    let mut places = Vec::new();
    for block in text.split("\n\n").filter(|block| field(block, "processor").is_some()) {
        places.push((field(block, "physical id")?.parse().ok()?, field(block, "core id")?.parse().ok()?));
    }
    (!places.is_empty()).then_some(places)
}

fn key_of(line: &str) -> Option<&str> {
    line.split_once(':').map(|(key, _)| key.trim())
}

fn field(text: &str, key: &str) -> Option<String> {
    let value = text.lines().find(|line| key_of(line) == Some(key))?.split_once(':')?.1.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// x86 writes `model name`, POWER `cpu`, s390 `processor 0: …machine = …`; ARM only numbers.
fn model(cpuinfo: &str) -> Option<String> {
    field(cpuinfo, "model name").or_else(|| field(cpuinfo, "cpu")).or_else(|| {
        let implementer = field(cpuinfo, "CPU implementer")?;
        let part = field(cpuinfo, "CPU part")?;
        Some(match arm_name(&implementer, &part) {
            Some(name) => name.to_owned(),
            None => format!("ARM implementer {implementer} part {part}"),
        })
    })
}

/// The server cores met in clouds and clusters.
fn arm_name(implementer: &str, part: &str) -> Option<&'static str> {
    Some(match (implementer, part) {
        ("0x41", "0xd07") => "Cortex-A57",
        ("0x41", "0xd08") => "Cortex-A72",
        ("0x41", "0xd0b") => "Cortex-A76",
        ("0x41", "0xd0c") => "Neoverse-N1",
        ("0x41", "0xd40") => "Neoverse-V1",
        ("0x41", "0xd49") => "Neoverse-N2",
        ("0x41", "0xd4f") => "Neoverse-V2",
        ("0xc0", "0xac3") => "Ampere-1",
        ("0xc0", "0xac4") => "Ampere-1a",
        ("0x46", "0x001") => "A64FX",
        _ => return None,
    })
}

#[cfg(test)]
#[path = "cpu_tests.rs"]
mod tests;
