//! AMD and Intel through fake roots: the figures equal what the files say.

mod common;

use common::{PATIENCE, Series, sample, temporary};
use jobmeter_gpu::powercap::Powercap;
use jobmeter_gpu::{Brand, GpuConfig, GpuMonitor, GpuSnapshot, Member};
use jobmeter_model::ProcessId;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MIB: u64 = 1 << 20;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// Copies a tree over another, links as links.
fn lay(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            lay(&entry.path(), &target);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path()).unwrap(), &target).unwrap();
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

fn job() -> Vec<Member> {
    [(100, 5000), (101, 5010), (102, 5020)]
        .map(|(pid, start_ticks)| Member { id: ProcessId { pid, start_ticks }, main: pid == 100 })
        .to_vec()
}

struct Machine {
    root: PathBuf,
    monitor: GpuMonitor,
    series: Series,
}

impl Machine {
    fn start(driver: &str, change: impl FnOnce(&mut GpuConfig)) -> Machine {
        let root = temporary(&format!("drm-{driver}"));
        lay(&fixture(&format!("drm/{driver}")), &root);
        let mut config = GpuConfig { root: root.clone(), ..GpuConfig::default() };
        change(&mut config);
        let monitor = GpuMonitor::start(config).unwrap().expect("cards are there");
        monitor.set_processes(job());
        Machine { root, monitor, series: Series::default() }
    }

    fn later(&self, driver: &str) {
        lay(&fixture(&format!("drm/{driver}-later")), &self.root);
    }

    fn sample(&mut self) -> Arc<GpuSnapshot> {
        let snapshot = sample(&self.monitor);
        self.series.push(&snapshot);
        snapshot
    }

    fn end(self) {
        self.monitor.stop(PATIENCE);
        fs::remove_dir_all(self.root).unwrap();
    }
}

/// Share of the time between two samples, as the monitor computes it.
fn ppm(busy_ns: u64, first: &GpuSnapshot, second: &GpuSnapshot) -> Option<u64> {
    let span = second.monotonic_ns - first.monotonic_ns;
    Some((busy_ns * 1_000_000 / span).min(1_000_000))
}

#[test]
fn amdgpu_figures_equal_the_files() {
    let mut machine = Machine::start("amdgpu", |_| {});
    let first = machine.sample();
    machine.later("amdgpu");
    let second = machine.sample();
    let s = &machine.series;
    let uuids: Vec<&str> = first.devices.iter().map(|d| d.uuid.as_str()).collect();
    assert_eq!(uuids, ["GPU-1a2b3c4d5e6f7081", "pci-0000:43:00.0"], "the management board is no GPU");
    assert!(first.devices.iter().all(|device| device.brand == Brand::Amd && device.driver == "amdgpu"));
    assert_eq!(first.devices[0].name, "AMD Radeon Pro W7700");
    assert_eq!(first.devices[1].name, "AMD GPU 1002:73ff");
    for (key, values) in [
        ("gpu_busy_ppm", [420_000, 770_000]),
        ("gpu_memory_busy_ppm", [130_000, 210_000]),
        ("gpu_memory_bytes", [2048 * MIB, 3072 * MIB]),
        ("gpu_memory_total_bytes", [17_163_091_968; 2]),
        ("gpu_power_mw", [145_000, 201_000]),
        ("gpu_temperature_mc", [54_000, 61_000]),
        ("gpu_clock_sm_hz", [2_304_000_000, 2_520_000_000]),
        ("gpu_clock_memory_hz", [1_124_000_000; 2]),
    ] {
        assert_eq!(s.column(&format!("system_{key}[GPU-1a2b3c4d5e6f7081]")), values.map(Some), "{key}");
    }
    assert_eq!(s.column("system_gpu_power_mw"), [Some(154_000), Some(208_000)]);
    assert_eq!(first.readings[0].gtt_used_bytes, Some(20 * MIB));
    assert_eq!(second.devices[0].energy_method, Some("integrated power"));
    // Client 28 has two descriptors in main and one in its child: once in each scope.
    let card = "[GPU-1a2b3c4d5e6f7081]";
    let memory = |scope: &str| s.column(&format!("{scope}_gpu_memory_bytes{card}"));
    assert_eq!(memory("main"), [Some(1024 * MIB), Some(1536 * MIB)]);
    assert_eq!(memory("descendants"), [Some(1536 * MIB), Some(2048 * MIB)]);
    assert_eq!(memory("combined"), [Some(1536 * MIB), Some(2048 * MIB)]);
    assert_eq!(s.column("combined_gpu_memory_bytes"), [Some(1538 * MIB), Some(2050 * MIB)]);
    // Busiest engine: 50 ms of client 28 and 20 ms of client 31.
    assert_eq!(second.scopes[0][0].busy_ppm, ppm(50_000_000, &first, &second));
    let shares = [ppm(50_000_000, &first, &second), ppm(20_000_000, &first, &second)];
    let sum = shares.iter().flatten().sum::<u64>().min(1_000_000);
    assert_eq!(second.scopes[0][1].busy_ppm, Some(sum));
    assert_eq!(second.scopes[0][2].busy_ppm, Some(sum));
    machine.end();
}

#[test]
fn i915_figures_equal_the_files() {
    let mut machine = Machine::start("i915", |_| {});
    let first = machine.sample();
    machine.later("i915");
    let second = machine.sample();
    let s = &machine.series;
    assert!(first.devices.iter().all(|device| device.brand == Brand::Intel));
    assert_eq!(
        s.column("system_gpu_clock_sm_hz[pci-0000:00:02.0]"),
        [Some(1_150_000_000), Some(1_400_000_000)]
    );
    assert_eq!(
        s.column("system_gpu_clock_sm_hz[pci-0000:03:00.0]"),
        [Some(2_050_000_000), Some(2_400_000_000)]
    );
    assert_eq!(s.column("system_gpu_energy_uj[pci-0000:03:00.0]"), [Some(0), Some(500_000)]);
    assert_eq!(second.devices[1].energy_method, Some("driver counter"));
    let span_ns = second.monotonic_ns - first.monotonic_ns;
    assert_eq!(second.readings[1].power_mw, Some(500_000 * 1_000_000 / span_ns));
    assert_eq!(s.column("main_gpu_memory_bytes[pci-0000:00:02.0]"), [Some(64 * MIB), Some(96 * MIB)]);
    assert_eq!(s.column("combined_gpu_memory_bytes[pci-0000:00:02.0]"), [Some(64 * MIB), Some(96 * MIB)]);
    assert_eq!(
        s.column("descendants_gpu_memory_bytes[pci-0000:03:00.0]"),
        [Some(256 * MIB), Some(300 * MIB)]
    );
    // 30 ms on two video engines is 15 ms of the class, more than 12 ms of render.
    assert_eq!(second.scopes[0][0].busy_ppm, ppm(15_000_000, &first, &second));
    assert_eq!(second.scopes[1][0].busy_ppm, Some(0));
    assert_eq!(second.scopes[1][1].busy_ppm, ppm(8_000_000, &first, &second));
    assert_eq!(second.readings[0].busy_ppm, None);
    let failure = second.failures.iter().find(|failure| failure.figure == "busy_ppm").unwrap();
    assert_eq!(failure.reason, "i915 publishes none in sysfs");
    machine.end();
}

#[test]
fn xe_figures_equal_the_files() {
    let mut machine = Machine::start("xe", |_| {});
    machine.sample();
    machine.later("xe");
    let second = machine.sample();
    let s = &machine.series;
    let card = "[pci-0000:03:00.0]";
    assert_eq!(
        s.column(&format!("system_gpu_clock_sm_hz{card}")),
        [Some(1_200_000_000), Some(2_850_000_000)]
    );
    assert_eq!(s.column(&format!("system_gpu_energy_uj{card}")), [Some(0), Some(900_000)]);
    assert_eq!(s.column(&format!("system_gpu_temperature_mc{card}")), [Some(48_000), Some(57_000)]);
    assert_eq!(s.column(&format!("system_gpu_memory_total_bytes{card}")), [Some(12 << 30); 2]);
    assert_eq!(s.column(&format!("main_gpu_memory_bytes{card}")), [Some(23_992 << 10), Some(8 << 30)]);
    assert_eq!(s.column(&format!("descendants_gpu_memory_bytes{card}")), [Some(MIB); 2]);
    // 2,000,000 of 1,000,000 cycles on 4 compute engines: half; the child 400,000: a tenth. The share is
    // made into nanoseconds and back, so the last digit may be lost.
    for (scope, expected) in [(0, 500_000), (1, 100_000), (2, 600_000)] {
        let busy = second.scopes[0][scope].busy_ppm.unwrap();
        assert!(busy.abs_diff(expected) <= 2, "{busy} against {expected}");
    }
    machine.end();
}

#[test]
fn a_reused_number_and_compute_queues() {
    let mut machine = Machine::start("amdgpu", |_| {});
    machine.sample();
    // 102 ends and a stranger takes its number; 101 begins to use ROCm.
    fs::remove_dir_all(machine.root.join("proc/102")).unwrap();
    lay(&fixture("drm/amdgpu/proc/200"), &machine.root.join("proc/102"));
    std::os::unix::fs::symlink("/dev/kfd", machine.root.join("proc/101/fd/12")).unwrap();
    machine.monitor.set_processes(job());
    // The descriptors of a process are looked through again after a second at the latest.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let second = machine.sample();
    assert_eq!(second.scopes[0][2].memory_bytes, Some(1024 * MIB), "neither 102 nor the stranger");
    assert_eq!(second.scopes[0][2].busy_ppm, None);
    assert!(second.failures.iter().any(|f| f.figure == "process_busy" && f.reason.contains("ROCm")));
    machine.end();
}

#[test]
fn a_card_that_disappears_is_a_warning() {
    let mut machine = Machine::start("amdgpu", |_| {});
    machine.sample();
    fs::remove_dir_all(machine.root.join("sys/class/drm/card1")).unwrap();
    let second = machine.sample();
    assert_eq!(second.warnings.len(), 1);
    assert!(second.warnings[0].text.contains("pci-0000:43:00.0"));
    assert_eq!(second.scopes[1][2].memory_bytes, None);
    assert_eq!(second.scopes[0][2].memory_bytes, Some(1536 * MIB));
    machine.end();
}

#[test]
fn a_sleeping_card_is_not_woken() {
    let mut machine = Machine::start("amdgpu", |_| {});
    fs::write(machine.root.join("sys/class/drm/card1/device/power/runtime_status"), "suspended\n").unwrap();
    let snapshot = machine.sample();
    assert_eq!(snapshot.readings[1].busy_ppm, Some(0));
    assert_eq!(snapshot.readings[1].power_mw, None);
    let power = snapshot
        .failures
        .iter()
        .find(|f| f.figure == "power_mw" && f.uuid.as_deref() == Some("pci-0000:43:00.0"));
    assert_eq!(power.map(|failure| failure.reason.as_str()), Some("not read while the card is asleep"));
    machine.end();
}

#[test]
fn powercap_sums_sockets_and_bridges_the_wrap_around() {
    let root = temporary("powercap");
    lay(&fixture("powercap"), &root);
    let mut powercap = Powercap::open(&root);
    let reading = powercap.read();
    assert_eq!((reading.package_uj, reading.dram_uj), (Some(0), Some(0)));
    let set = |domain: &str, value: u64| {
        fs::write(root.join("sys/class/powercap").join(domain).join("energy_uj"), format!("{value}\n"))
            .unwrap();
    };
    set("intel-rapl:0", 171_150);
    set("intel-rapl:1", 1_000_007);
    set("intel-rapl:0:1", 540);
    set("intel-rapl:2", 999_999);
    let reading = powercap.read();
    // 328,850 up to the range and 171,150 after it, and 7 of the other socket.
    assert_eq!((reading.package_uj, reading.dram_uj), (Some(500_007), Some(40)));
    assert_eq!(powercap.package_reason(), None);
    fs::remove_dir_all(&root).unwrap();
    let none = Powercap::open(&root);
    assert_eq!(none.package_reason(), Some("the kernel offers no RAPL package domain"));
    assert_eq!(none.dram_reason(), Some("the kernel offers no RAPL DRAM domain"));
}
