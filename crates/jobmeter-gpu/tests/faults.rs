//! A driver that fails, hangs, is old, slow or absent costs its own figures and no time.

mod common;

use common::{PATIENCE, Rig, Series, Sleeper, sample, start_ticks, temporary};
use jobmeter_gpu::{GpuConfig, GpuMonitor, Member, Stopped};
use jobmeter_model::ProcessId;
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};

/// The driver's calls below never return, or after a minute: who is back by then has not waited for them. How fast it is,
/// the bench says.
const NOT_WAITED: Duration = Duration::from_secs(10);

/// The figures that each function brings, as columns of the device; none for what only describes it.
const FUNCTIONS: &[(&str, &[&str])] = &[
    ("nvmlSystemGetDriverVersion", &[]),
    ("nvmlDeviceGetName", &[]),
    ("nvmlDeviceGetPciInfo_v3", &[]),
    ("nvmlDeviceGetMigMode", &[]),
    ("nvmlDeviceGetMemoryInfo_v2", &[]),
    ("nvmlDeviceGetTotalEnergyConsumption", &[]),
    ("nvmlDeviceGetUtilizationRates", &["system_gpu_busy_ppm", "system_gpu_memory_busy_ppm"]),
    ("nvmlDeviceGetPowerUsage", &["system_gpu_power_mw"]),
    ("nvmlDeviceGetTemperature", &["system_gpu_temperature_mc"]),
    ("nvmlDeviceGetClockInfo", &["system_gpu_clock_sm_hz", "system_gpu_clock_memory_hz"]),
    ("nvmlDeviceGetCurrentClocksEventReasons", &["system_gpu_throttle_bits"]),
    (
        "nvmlDeviceGetPcieThroughput",
        &["system_gpu_pcie_receive_bytes_per_s", "system_gpu_pcie_transmit_bytes_per_s"],
    ),
    (
        "nvmlDeviceGetComputeRunningProcesses_v3",
        &["main_gpu_memory_bytes", "descendants_gpu_memory_bytes", "combined_gpu_memory_bytes"],
    ),
    (
        "nvmlDeviceGetProcessUtilization",
        &[
            "main_gpu_busy_ppm",
            "main_gpu_memory_busy_ppm",
            "descendants_gpu_busy_ppm",
            "descendants_gpu_memory_busy_ppm",
            "combined_gpu_busy_ppm",
            "combined_gpu_memory_busy_ppm",
        ],
    ),
];

fn healthy(pid: u32) -> Value {
    json!({"devices": [{
        "uuid": "GPU-0", "memory_total": 1000, "memory_used": 400, "gpu_util": 50, "memory_util": 20,
        "power_mw": 1000, "energy_mj": 77, "temperature_c": 50, "sm_mhz": 1000, "memory_mhz": 900, "throttle": 0,
        "pcie_rx_kb": 1, "pcie_tx_kb": 2, "compute": [{"pid": pid, "memory": 300}],
        "samples": [{"pid": pid, "sm": 10}],
    }]})
}

#[test]
fn an_error_from_each_function_costs_its_own_figures_only() {
    let main = Sleeper::new();
    let names: Vec<String> = {
        let rig = Rig::new("fail-none");
        rig.write(&healthy(main.pid()));
        let monitor = rig.monitor();
        monitor.set_processes(vec![main.member(true)]);
        let snapshot = sample(&monitor);
        assert!(snapshot.failures.is_empty(), "{:?}", snapshot.failures);
        let layout = jobmeter_gpu::Layout::new(&snapshot.devices);
        let names = layout.columns().iter().filter(|c| c.entity.is_some()).map(|c| c.name()).collect();
        monitor.stop(PATIENCE);
        names
    };
    for (function, lost) in FUNCTIONS {
        let rig = Rig::new(&format!("fail-{function}"));
        let mut state = healthy(main.pid());
        // The address has an older function to fall back on, which must not hide the failure.
        state["fail"] = json!({ *function: 999, function.replace("PciInfo_v3", "PciInfo_v2"): 999 });
        rig.write(&state);
        let monitor = rig.monitor();
        monitor.set_processes(vec![main.member(true)]);
        let snapshot = sample(&monitor);
        let mut series = Series::default();
        series.push(&snapshot);
        for name in &names {
            let missing = lost.iter().any(|key| *name == format!("{key}[GPU-0]"));
            assert_eq!(series.column(name)[0].is_none(), missing, "{name} when {function} fails");
        }
        let named = snapshot.failures.iter().any(|failure| failure.reason.contains(function));
        assert!(named, "{function}: {:?}", snapshot.failures);
        monitor.stop(PATIENCE);
    }
}

#[test]
fn a_failing_energy_counter_is_replaced_by_integrated_power() {
    let rig = Rig::new("fail-energy");
    let mut state = healthy(1);
    state["fail"] = json!({"nvmlDeviceGetTotalEnergyConsumption": 3});
    rig.write(&state);
    let monitor = rig.monitor();
    let snapshot = sample(&monitor);
    assert_eq!(snapshot.readings[0].energy_uj, Some(0));
    assert_eq!(snapshot.devices[0].energy_method, Some("integrated power"));
    monitor.stop(PATIENCE);
}

#[test]
fn functions_without_which_there_is_nothing_give_the_reason() {
    for (function, code, expected) in [
        ("nvmlInit_v2", 9, "the NVIDIA kernel driver is not loaded"),
        ("nvmlInit_v2", 18, "the driver and its library have different versions"),
        ("nvmlDeviceGetCount_v2", 999, "nvmlDeviceGetCount_v2: NVML error 999"),
        ("nvmlDeviceGetHandleByIndex_v2", 15, "GPU 0 cannot be opened"),
    ] {
        let rig = Rig::new(&format!("init-{function}-{code}"));
        let mut state = healthy(1);
        state["fail"] = json!({ function: code });
        rig.write(&state);
        let monitor = rig.monitor();
        assert!(monitor.sample_within(PATIENCE).is_none());
        let reason = monitor.status().reason().unwrap_or_default();
        assert!(reason.contains(expected), "{function}: {reason}");
        assert_eq!(monitor.stop(PATIENCE), Stopped::Clean { failure: Some(reason) });
    }
}

#[test]
fn a_missing_library_gives_the_reason() {
    let folder = temporary("missing");
    let config = GpuConfig {
        nvml_path: Some(folder.join("libnvidia-ml.so.1")),
        root: folder.clone(),
        ..GpuConfig::default()
    };
    let monitor = GpuMonitor::start(config).unwrap().unwrap();
    assert!(monitor.sample_within(PATIENCE).is_none());
    let reason = monitor.status().reason().unwrap();
    assert!(reason.contains("NVML cannot be loaded"), "{reason}");
    monitor.stop(PATIENCE);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn without_any_trace_of_a_gpu_nothing_is_started() {
    let folder = temporary("none");
    let config = GpuConfig { root: folder.clone(), ..GpuConfig::default() };
    assert!(config.looked_for().contains("/sys/class/drm"));
    assert!(GpuMonitor::start(config).unwrap().is_none());
    std::fs::remove_dir_all(folder).unwrap();
}

/// The promise to the job: neither the start nor the end waits for a driver, whichever call hangs.
#[test]
fn a_call_that_never_returns_holds_up_nothing_and_is_named() {
    let hung = FUNCTIONS.iter().map(|(function, _)| *function).chain([
        "nvmlInit_v2",
        "nvmlDeviceGetCount_v2",
        "nvmlDeviceGetHandleByIndex_v2",
        "nvmlDeviceGetUUID",
        "nvmlDeviceGetGraphicsRunningProcesses_v3",
        "nvmlShutdown",
    ]);
    let main = Sleeper::new();
    for function in hung {
        let rig = Rig::new(&format!("hang-{function}"));
        let mut state = healthy(main.pid());
        state["hang"] = json!([function]);
        rig.write(&state);
        let monitor = rig.monitor();
        // Until the thread has got stuck; for the shutdown, until a sample is done.
        let begin = Instant::now();
        let mut finished;
        loop {
            let call_begin = Instant::now();
            monitor.set_processes(vec![main.member(true)]);
            monitor.request();
            finished = monitor.latest().map_or(0, |snapshot| snapshot.sequence);
            let in_call = monitor.in_call().map(|(call, _)| call);
            assert!(call_begin.elapsed() < NOT_WAITED, "{function} held up a tick");
            if in_call == Some(function) || (function == "nvmlShutdown" && finished > 0) {
                break;
            }
            assert!(begin.elapsed() < PATIENCE, "{function} was never called");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(finished == 0 || function == "nvmlShutdown", "{function} did not hang");
        let begin = Instant::now();
        let stopped = monitor.stop(Duration::from_millis(50));
        assert!(begin.elapsed() < NOT_WAITED, "{function} held up the end");
        match stopped {
            Stopped::LeftBehind { reason, .. } => assert!(reason.contains(function), "{reason}"),
            Stopped::Clean { .. } => panic!("{function} cannot have ended cleanly"),
        }
    }
}

#[test]
fn a_slow_initialisation_delays_neither_start_nor_end() {
    let rig = Rig::new("slow");
    let mut state = healthy(1);
    state["delay_ms"] = json!({"nvmlInit_v2": 60_000});
    rig.write(&state);
    let begin = Instant::now();
    let monitor = rig.monitor();
    monitor.request();
    assert!(monitor.latest().is_none());
    assert!(matches!(monitor.stop(Duration::from_millis(20)), Stopped::LeftBehind { .. }));
    assert!(begin.elapsed() < NOT_WAITED, "took {:?}", begin.elapsed());
}

#[test]
fn a_listing_that_takes_too_long_is_an_error() {
    let rig = Rig::new("list-hang");
    let mut state = healthy(1);
    state["hang"] = json!(["nvmlDeviceGetCount_v2"]);
    rig.write(&state);
    let error = GpuMonitor::list(rig.config(), Duration::from_millis(200)).unwrap_err();
    assert!(error.to_string().contains("nvmlDeviceGetCount_v2"), "{error}");
}

#[test]
fn an_old_driver_without_half_of_the_symbols_gives_what_it_has() {
    let folder = temporary("old");
    let library = folder.join("libnvidia-ml.so.1");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/old_driver.c");
    let built = Command::new("gcc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    assert!(built.expect("gcc is there").success());
    std::os::unix::fs::symlink("/proc", folder.join("proc")).unwrap();
    let config = GpuConfig {
        nvml_path: Some(library),
        root: folder.clone(),
        pid_view: jobmeter_gpu::PidView::Ours,
        ..GpuConfig::default()
    };
    let monitor = GpuMonitor::start(config).unwrap().unwrap();
    let pid = std::process::id() as i32;
    let id = ProcessId { pid, start_ticks: start_ticks("/proc/self/stat") };
    monitor.set_processes(vec![Member { id, main: true }]);
    let snapshot = sample(&monitor);
    let reading = &snapshot.readings[0];
    assert_eq!(snapshot.devices[0].name, "Tesla K20");
    assert_eq!((reading.memory_total_bytes, reading.memory_used_bytes), (Some(5000), Some(4000)));
    assert_eq!(reading.temperature_mc, Some(66_000));
    assert_eq!((reading.power_mw, reading.energy_uj, reading.busy_ppm), (None, None, None));
    assert_eq!(snapshot.scopes[0][0].memory_bytes, Some(123));
    assert_eq!(snapshot.scopes[0][0].busy_ppm, None);
    let power = snapshot.failures.iter().find(|failure| failure.figure == "power_mw").unwrap();
    assert_eq!(power.reason, "nvmlDeviceGetPowerUsage: the driver is too old: it lacks the function");
    monitor.stop(PATIENCE);
    std::fs::remove_dir_all(folder).unwrap();
}
