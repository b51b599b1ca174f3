//! The files of other trackers: their headers to the letter, our figures in their units.

use jobmeter_compat::layout::{Layout, write_layout};
use jobmeter_model::{Column, EntityKind, Metric, RunInfo, Scope, Sink};
use jobmeter_record::{Run, SharedBuffer, Target, Writer};

fn run() -> Run {
    use Metric::*;
    let buffer = SharedBuffer::default();
    let info = RunInfo {
        started_unix_ns: 1_000_000_000_000,
        expected_cores: 2.0,
        system_cores: 2,
        ..RunInfo::default()
    };
    let mut writer = Writer::create(Target::Memory(buffer.clone()), &info).unwrap();
    let disk = |metric, name| Column::entity(Scope::System, metric, EntityKind::Disk, name);
    let net = |name| Column::entity(Scope::System, NetReceiveBytes, EntityKind::Network, name);
    let columns = [
        (Column::of(Scope::Main, RssBytes), 2_000_000_000, 3_000_000_000),
        (Column::of(Scope::Main, CpuNs), 0, 3_000_000_000),
        (Column::of(Scope::System, CpuNs), 0, 2_000_000_000),
        (Column::of(Scope::System, CpuUserNs), 0, 1_500_000_000),
        (Column::of(Scope::System, MemoryTotalBytes), 8_000_000_000, 8_000_000_000),
        (Column::of(Scope::System, MemoryFreeBytes), 0, 1024 * 77),
        (Column::of(Scope::System, Forks), 5, 9),
        (disk(DiskReadBytes, "vda"), 100, 150),
        (disk(DiskReadBytes, "vdb"), 0, 7),
        (net("eth0"), 10, 30),
        (net("lo"), 0, 1_000_000),
    ];
    columns.iter().for_each(|(column, _, _)| writer.define(column));
    writer.tick(0, &columns.each_ref().map(|(_, first, _)| Some(*first)));
    writer.tick(2_000_000_000, &columns.each_ref().map(|(_, _, second)| Some(*second)));
    Run::from_bytes(buffer.snapshot()).unwrap()
}

fn lines(layout: Layout) -> Vec<String> {
    let mut out = Vec::new();
    write_layout(&run(), layout, &mut out, "x".as_ref()).unwrap();
    String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn resource_tracker() {
    let lines = lines(Layout::ResourceTracker);
    assert_eq!(
        lines[0],
        r#""timestamp","processes","utime","stime","cpu_usage","memory_free","memory_used","memory_buffers","memory_cached","memory_active","memory_inactive","disk_read_bytes","disk_write_bytes","disk_space_total_gb","disk_space_used_gb","disk_space_free_gb","net_recv_bytes","net_sent_bytes","gpu_usage","gpu_vram","gpu_utilized""#
    );
    assert_eq!(lines[1], "1002,9,150,,1,77,,,,,,57,,,,,20,,,,");
    assert_eq!(lines.len(), 2);
}

#[test]
fn gpu_tracker() {
    let lines = lines(Layout::GpuTracker);
    assert_eq!(lines[1], "gigabytes,gigabytes,seconds,8.0,,2,2,0,0");
    let cells: Vec<&str> = lines[3].split(',').collect();
    let names: Vec<&str> = lines[2].split(',').collect();
    assert_eq!((names.len(), cells.len(), lines.len()), (22, 22, 4));
    let cell = |name: &str| cells[names.iter().position(|known| *known == name).unwrap()];
    assert_eq!(cell("main_ram"), "3.0");
    assert_eq!(cell("cpu_main_sum_utilization_percent"), "150.0");
    assert_eq!(cell("cpu_main_hardware_utilization_percent"), "75.0");
    assert_eq!(cell("cpu_system_hardware_utilization_percent"), "50.0");
    assert_eq!(cell("cpu_descendants_sum_utilization_percent"), "", "unknown is not zero");
    assert_eq!(cell("timestamp"), "1002.0");
}
