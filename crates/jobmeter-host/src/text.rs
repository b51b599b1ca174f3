//! The machine in a few lines for people. Unknown rows are left out; foreign text is made harmless.

use crate::cloud::CloudInfo;
use crate::info::HostInfo;
use jobmeter_model::text::printable;
use jobmeter_model::units::format_bytes as size;
use std::fmt::Write;

/// Readable description; `cloud` only when it was looked for.
pub fn render(host: &HostInfo, cloud: Option<&CloudInfo>) -> String {
    let mut rows: Vec<(&str, String)> = Vec::new();
    let mut row = |title: &'static str, text: Option<String>| {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            // Host names, models and scheduler variables come from elsewhere.
            rows.push((title, printable(&text)));
        }
    };
    row("Host", host.os.hostname.clone());
    row("System", host.os.name.clone());
    row("Kernel", join(" ", [host.os.kernel.clone(), host.os.arch.clone()]));
    row("Processor", host.cpu.model.clone());
    row("", topology(host));
    row(
        "Memory",
        join(
            ", ",
            [
                host.memory.total_bytes.map(size),
                host.memory
                    .swap_bytes
                    .map(|swap| if swap == 0 { "no swap".into() } else { format!("swap {}", size(swap)) }),
            ],
        ),
    );
    for disk in &host.disks {
        let kind = disk.rotational.map(|spins| if spins { "rotational" } else { "solid state" }.to_owned());
        let stacked = disk.stacked.then(|| "stacked".to_owned());
        let size = disk.size_bytes.map(size);
        row("Disk", join(", ", [Some(disk.name.clone()), size, kind, disk.model.clone(), stacked]));
    }
    for gpu in host.gpus.iter().flatten() {
        row("GPU", join(", ", [Some(gpu.name.clone()), gpu.memory_bytes.map(size), gpu.uuid.clone()]));
    }
    row("Limits", limits(host));
    if let Some(container) = &host.container {
        let id = container.id.as_ref().map(|id| id.chars().take(12).collect());
        row("Container", join(" ", [Some(container.kind.clone()), id]));
        row("", Some(container.evidence.join("; ")));
    }
    for job in &host.jobs {
        let facts = job.facts.iter().map(|(fact, value)| Some(format!("{fact}={value}")));
        row("Started by", join(" ", [Some(job.system.to_owned()), join(" ", facts)]));
    }
    if let Some(cloud) = cloud {
        let vendor = cloud.vendor.map_or("unknown", |vendor| vendor.title()).to_owned();
        let region = cloud.region.as_ref().map(|region| format!("region {region}"));
        let zone = cloud.zone.as_ref().map(|zone| format!("zone {zone}"));
        row("Cloud", join(", ", [Some(vendor), cloud.instance_type.clone(), region, zone]));
        row("", cloud.reason.clone());
        row("", Some(format!("found in {:.0} ms", cloud.discovery_time_s * 1e3)));
    }
    let width = rows.iter().map(|(title, _)| title.len()).max().unwrap_or(0);
    rows.iter().fold(String::new(), |mut text, (title, value)| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{title:width$}  {value}");
        text
    })
}

fn topology(host: &HostInfo) -> Option<String> {
    let cpu = &host.cpu;
    join(
        ", ",
        [
            cpu.vcpus.map(|count| plural(count, "vCPU")),
            cpu.sockets.map(|count| plural(count, "socket")),
            cpu.cores.map(|count| plural(count, "core")),
            cpu.threads_per_core.map(|count| format!("{} per core", plural(count, "thread"))),
            cpu.numa_nodes.map(|count| plural(count, "NUMA node")),
        ],
    )
}

fn limits(host: &HostInfo) -> Option<String> {
    let limits = &host.limits;
    join(
        ", ",
        [
            limits.affinity_cores.map(|cores| format!("affinity {}", plural(cores, "core"))),
            limits.cgroup_cores.map(|cores| format!("CPU quota {cores:.2} cores")),
            limits.cgroup_memory_bytes.map(|bytes| format!("cgroup memory {}", size(bytes))),
            limits.address_space_bytes.map(|bytes| format!("address space {}", size(bytes))),
            limits.open_files_soft.map(|count| format!("{count} open files")),
        ],
    )
}

fn plural(count: u32, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn join(separator: &str, parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(separator))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn hostile_text_cannot_steer_the_terminal() {
        let mut host = HostInfo::default();
        host.os.hostname = Some("node\u{1b}]0;owned\u{7}\u{202e}\nCloud  fake".into());
        let text = render(&host, None);
        assert_eq!(text.lines().count(), 1);
        assert!(!text.chars().any(|c| c != '\n' && c.is_control()) && !text.contains('\u{202e}'));
    }

    #[test]
    fn an_unknown_machine_says_nothing_rather_than_zero() {
        assert_eq!(render(&HostInfo::default(), None), "");
    }

    #[test]
    fn this_machine_is_described() {
        let host = HostInfo::read(Path::new("/"), []);
        let text = render(&host, None);
        assert!(host.memory.total_bytes.is_some_and(|bytes| bytes > 0));
        let online = std::thread::available_parallelism().unwrap().get() as u32;
        // The standard library's own reading of affinity is the witness; a quota may only lower it.
        assert!(host.limits.affinity_cores.is_some_and(|cores| cores >= online));
        assert!(text.contains("Memory") && text.contains("vCPU"), "{text}");
    }
}
