//! The dictionaries that programs written for resource_tracker expect of `get_server_info` and
//! `get_cloud_info`. Their conventions (`"unknown"`, rounded mebibytes, zero GPUs) live here and nowhere else.

use crate::cloud::{CloudInfo, Vendor};
use crate::info::HostInfo;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Keys of the releases that say `memory_mb` and of those that say `memory_mib`: the same number in MiB.
pub fn server_info_compat(host: &HostInfo) -> Value {
    let memory_mib = host.memory.total_bytes.map(mib);
    // The tracker says zero GPUs when it could not ask; so does this, and only here.
    let gpus = host.gpus.as_deref().unwrap_or_default();
    let gpu_memory_mib = gpus.iter().map(|gpu| gpu.memory_bytes).sum::<Option<u64>>().map(mib);
    let names: Vec<&str> = gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    json!({
        "os": "Linux",
        "vcpus": host.cpu.vcpus,
        "memory_mb": memory_mib,
        "memory_mib": memory_mib,
        "gpu_count": gpus.len(),
        "gpu_names": names,
        "gpu_name": most_common(&names),
        "gpu_memory_mb": gpu_memory_mib,
        "gpu_memory_mib": gpu_memory_mib,
    })
}

/// The machine's cloud in the keys of the other program.
pub fn cloud_info_compat(cloud: &CloudInfo) -> Value {
    let vendor = match cloud.vendor {
        None => "unknown",
        // The identifiers of the tracker's server catalogue.
        Some(Vendor::Hetzner) => "hcloud",
        Some(Vendor::Alibaba) => "alicloud",
        Some(vendor) => vendor.key(),
    };
    json!({
        "vendor": vendor,
        "instance_type": cloud.instance_type.as_deref().unwrap_or("unknown"),
        "region": cloud.region.as_deref().unwrap_or("unknown"),
        "discovery_time": cloud.discovery_time_s,
    })
}

/// Two decimals, as the tracker rounds.
fn mib(bytes: u64) -> f64 {
    (bytes as f64 / 1024.0 / 1024.0 * 100.0).round() / 100.0
}

/// The first of the most frequent, or nothing as an empty string.
fn most_common<'a>(names: &[&'a str]) -> &'a str {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let most = counts.values().max();
    names.iter().find(|name| counts.get(*name) == most).copied().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::GpuFact;

    #[test]
    fn the_documented_example_comes_out() {
        let mut host = HostInfo::default();
        host.cpu.vcpus = Some(4);
        host.memory.total_bytes = Some(16_167_127 * 1024);
        host.gpus = Some(vec![GpuFact {
            name: "Tesla T4".into(),
            uuid: None,
            memory_bytes: Some(15_360 * 1024 * 1024),
        }]);
        let info = server_info_compat(&host);
        assert_eq!(info["vcpus"], 4);
        assert_eq!(info["memory_mb"], 15788.21);
        assert_eq!(info["gpu_count"], 1);
        assert_eq!(info["gpu_names"], json!(["Tesla T4"]));
        assert_eq!(info["gpu_name"], "Tesla T4");
        assert_eq!(info["gpu_memory_mb"], 15360.0);
    }

    #[test]
    fn unknown_is_not_zero_but_no_gpu_is() {
        let info = server_info_compat(&HostInfo::default());
        assert_eq!(info["memory_mb"], Value::Null);
        assert_eq!(info["gpu_count"], 0);
        assert_eq!(info["gpu_memory_mb"], 0.0);
        assert_eq!(info["gpu_name"], "");
    }

    #[test]
    fn the_most_common_name_wins_and_the_first_among_equals() {
        assert_eq!(most_common(&["a", "b", "b"]), "b");
        assert_eq!(most_common(&["z", "a"]), "z");
    }
}
