//! The figures of scripted NVIDIA devices against the script itself.

mod common;

use common::{PATIENCE, Rig, Series, Sleeper, ready, sample};
use jobmeter_gpu::{GpuConfig, GpuError, GpuMonitor, JobEnv, Member};
use jobmeter_model::ProcessId;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64
}

/// One tick of the script: per device used memory, per cent, and per process memory and per cent.
struct Tick {
    used: [u64; 2],
    util: [u32; 2],
    memory: [[u64; 3]; 2],
    sm: [[u32; 3]; 2],
}

fn script() -> Vec<Tick> {
    (0..6u64)
        .map(|k| Tick {
            used: [(10 + k) * GIB, (3 + 2 * k) * GIB],
            util: [10 * k as u32, 95 - 5 * k as u32],
            memory: [[(1 + k) * 100 * MIB, 300 * MIB, (6 - k) * 50 * MIB], [7 * MIB, (k * k + 1) * MIB, MIB]],
            sm: [[1 + k as u32, 1 + 2 * k as u32, 3], [40, 1 + 7 * k as u32, 1]],
        })
        .collect()
}

fn state(tick: &Tick, k: u64, base_us: u64, pids: [u32; 3]) -> Value {
    let devices: Vec<Value> = (0..2)
        .map(|d| {
            let processes: Vec<Value> =
                (0..3).map(|p| json!({"pid": pids[p], "memory": tick.memory[d][p]})).collect();
            let samples: Vec<Value> = (0..3)
                .map(|p| json!({"pid": pids[p], "at_us": base_us + k * 200_000, "sm": tick.sm[d][p], "memory": tick.sm[d][p] / 2}))
                .chain([json!({"pid": 1, "at_us": base_us + k * 200_000, "sm": 5})])
                .collect();
            json!({
                "name": "Imaginary A100", "uuid": format!("GPU-{d}"), "pci": format!("0000:{:02x}:00.0", 0x41 + d),
                "memory_total": 80 * GIB, "memory_used": tick.used[d], "memory_reserved": 512 * MIB,
                "gpu_util": tick.util[d], "memory_util": tick.util[d] / 2,
                "power_mw": 100_000 + 1000 * k, "energy_mj": 5_000_000 + k * 20_000,
                "temperature_c": 40 + k, "sm_mhz": 1000 + k, "memory_mhz": 1215,
                "throttle": k, "pcie_rx_kb": 10 * (k + 1), "pcie_tx_kb": 20 * (k + 1),
                "compute": processes.iter().cloned().chain([json!({"pid": 1, "memory": 9 * GIB})]).collect::<Vec<_>>(),
                "samples": samples,
            })
        })
        .collect();
    json!({ "devices": devices })
}

#[test]
fn two_gpus_main_and_two_children_equal_the_script() {
    let rig = Rig::new("truth");
    let people = [Sleeper::new(), Sleeper::new(), Sleeper::new()];
    let pids = [people[0].pid(), people[1].pid(), people[2].pid()];
    let script = script();
    let base_us = now_us();
    rig.write(&state(&script[0], 0, base_us, pids));
    let monitor = rig.monitor();
    monitor.set_processes(people.iter().enumerate().map(|(i, p)| p.member(i == 0)).collect());
    let mut series = Series::default();
    let mut last = None;
    for (k, tick) in script.iter().enumerate() {
        rig.write(&state(tick, k as u64, base_us, pids));
        let snapshot = sample(&monitor);
        series.push(&snapshot);
        last = Some(snapshot);
    }
    let snapshot = last.unwrap();
    assert!(snapshot.failures.is_empty(), "{:?}", snapshot.failures);
    let count = script.len() as f64;
    let scopes: [(&str, &[usize]); 3] = [("main", &[0]), ("descendants", &[1, 2]), ("combined", &[0, 1, 2])];
    for (scope, people) in scopes {
        for d in 0..2 {
            let memory: Vec<u64> =
                script.iter().map(|t| people.iter().map(|&p| t.memory[d][p]).sum()).collect();
            let name = format!("{scope}_gpu_memory_bytes[GPU-{d}]");
            assert_eq!(series.max(&name), memory.iter().copied().max(), "{name}");
            assert_eq!(series.mean(&name), Some(memory.iter().sum::<u64>() as f64 / count), "{name}");
            let busy: Vec<u64> =
                script.iter().map(|t| people.iter().map(|&p| u64::from(t.sm[d][p]) * 10_000).sum()).collect();
            let name = format!("{scope}_gpu_busy_ppm[GPU-{d}]");
            assert_eq!(series.column(&name), busy.iter().map(|&v| Some(v)).collect::<Vec<_>>(), "{name}");
        }
        let both: Vec<Option<u64>> = script
            .iter()
            .map(|t| Some((0..2).map(|d| people.iter().map(|&p| t.memory[d][p]).sum::<u64>()).sum()))
            .collect();
        assert_eq!(series.column(&format!("{scope}_gpu_memory_bytes")), both, "{scope} over both devices");
    }
    let system: Vec<(String, Vec<Option<u64>>)> = (0..2)
        .flat_map(|d| {
            let of = move |key: &str, get: &dyn Fn(u64, &Tick) -> u64| {
                let values = script_values(get);
                (format!("system_{key}[GPU-{d}]"), values)
            };
            vec![
                of("gpu_memory_bytes", &|_, t| t.used[d]),
                of("gpu_memory_total_bytes", &|_, _| 80 * GIB),
                of("gpu_busy_ppm", &|_, t| u64::from(t.util[d]) * 10_000),
                of("gpu_memory_busy_ppm", &|_, t| u64::from(t.util[d] / 2) * 10_000),
                of("gpu_power_mw", &|k, _| 100_000 + 1000 * k),
                of("gpu_energy_uj", &|k, _| k * 20_000_000),
                of("gpu_temperature_mc", &|k, _| (40 + k) * 1000),
                of("gpu_clock_sm_hz", &|k, _| (1000 + k) * 1_000_000),
                of("gpu_clock_memory_hz", &|_, _| 1_215_000_000),
                of("gpu_throttle_bits", &|k, _| k),
                // Six samples take less than a second: one reading for all of them.
                of("gpu_pcie_receive_bytes_per_s", &|_, _| 10 * 1024),
                of("gpu_pcie_transmit_bytes_per_s", &|_, _| 20 * 1024),
            ]
        })
        .collect();
    for (name, values) in system {
        assert_eq!(series.column(&name), values, "{name}");
    }
    let sum: Vec<Option<u64>> = script.iter().map(|t| Some(t.used[0] + t.used[1])).collect();
    assert_eq!(series.column("system_gpu_memory_bytes"), sum);
    let sum: Vec<Option<u64>> =
        script.iter().map(|t| Some(u64::from(t.util[0] + t.util[1]) * 10_000)).collect();
    assert_eq!(series.column("system_gpu_busy_ppm"), sum);
    assert_eq!(snapshot.clients.len(), 6, "pid 1 is on both devices and is none of ours");
    let device = &snapshot.devices[1];
    assert_eq!(device.energy_method, Some("driver counter"));
    assert_eq!(device.pci_id.as_deref(), Some("0000:42:00.0"));
    assert_eq!((device.name.as_str(), device.selected, device.visible), ("Imaginary A100", true, Some(true)));
    monitor.stop(PATIENCE);
}

fn script_values(get: &dyn Fn(u64, &Tick) -> u64) -> Vec<Option<u64>> {
    script().iter().enumerate().map(|(k, tick)| Some(get(k as u64, tick))).collect()
}

#[test]
fn a_process_in_two_mig_instances_and_in_both_lists_is_not_doubled() {
    let rig = Rig::new("mig");
    let (main, child) = (Sleeper::new(), Sleeper::new());
    let instance = |gi: u32, uuid: &str, list: Value| {
        json!({"name": "A100 MIG 3g.40gb", "uuid": uuid, "memory_total": 40 * GIB, "memory_used": 5 * GIB,
            "gpu_instance": gi, "compute_instance": 0, "compute": list})
    };
    rig.write(&json!({"devices": [
        {"name": "A100", "uuid": "GPU-m", "memory_total": 80 * GIB, "memory_used": 10 * GIB, "power_mw": 1000,
         // What a privileged caller sees on the whole GPU must not be added to the instances.
         "compute": [{"pid": main.pid(), "memory": GIB, "gpu_instance": 1, "compute_instance": 0}],
         "mig": [
            instance(1, "MIG-a", json!([
                {"pid": main.pid(), "memory": GIB},
                // An entry of the sister, as some drivers list them.
                {"pid": main.pid(), "memory": 2 * GIB, "gpu_instance": 2, "compute_instance": 0}])),
            instance(2, "MIG-b", json!([{"pid": main.pid(), "memory": 2 * GIB}, {"pid": child.pid(), "memory": 3 * GIB}])),
         ]},
        {"name": "A100", "uuid": "GPU-n", "memory_total": 80 * GIB, "memory_used": GIB, "samples": [],
         "compute": [{"pid": main.pid(), "memory": 4 * GIB}],
         "graphics": [{"pid": main.pid(), "memory": 4 * GIB}, {"pid": child.pid(), "memory": MIB}]},
    ]}));
    let monitor = rig.monitor();
    monitor.set_processes(vec![main.member(true), child.member(false)]);
    let mut series = Series::default();
    let snapshot = sample(&monitor);
    series.push(&snapshot);
    let one = |name: &str| series.column(name)[0];
    let uuids: Vec<&str> = snapshot.devices.iter().map(|d| d.uuid.as_str()).collect();
    assert_eq!(uuids, ["GPU-m", "MIG-a", "MIG-b", "GPU-n"]);
    assert_eq!(one("main_gpu_memory_bytes[MIG-a]"), Some(GIB));
    assert_eq!(one("main_gpu_memory_bytes[MIG-b]"), Some(2 * GIB));
    assert_eq!(one("descendants_gpu_memory_bytes[MIG-b]"), Some(3 * GIB));
    assert_eq!(one("main_gpu_memory_bytes[GPU-m]"), None, "told by the instances");
    assert_eq!(one("main_gpu_memory_bytes[GPU-n]"), Some(4 * GIB), "compute and graphics are one context");
    assert_eq!(one("main_gpu_memory_bytes"), Some(7 * GIB));
    assert_eq!(one("combined_gpu_memory_bytes"), Some(10 * GIB + MIB));
    assert_eq!(one("system_gpu_memory_bytes"), Some(11 * GIB), "the instances are inside the GPU");
    assert_eq!(one("main_gpu_busy_ppm[MIG-a]"), None, "unknown, not zero");
    assert_eq!(snapshot.devices[1].mig_parent.as_deref(), Some("GPU-m"));
    assert!(
        snapshot.failures.iter().any(|f| f.uuid.as_deref() == Some("MIG-a") && f.figure == "process_busy")
    );
    monitor.stop(PATIENCE);
}

fn one_gpu(list: Value, samples: Value) -> Value {
    json!({"devices": [{"uuid": "GPU-0", "memory_total": 8 * GIB, "memory_used": GIB, "gpu_util": 50,
        "compute": list, "samples": samples}]})
}

#[test]
fn a_process_that_exits_between_ticks_is_counted_to_its_end_and_no_further() {
    let rig = Rig::new("exit");
    let (main, child) = (Sleeper::new(), Sleeper::new());
    let base = now_us();
    let pid = child.pid();
    rig.write(&one_gpu(
        json!([{"pid": pid, "memory": GIB}]),
        json!([{"pid": pid, "at_us": base, "sm": 10}, {"pid": main.pid(), "at_us": base, "sm": 0}]),
    ));
    let monitor = rig.monitor();
    let members = vec![main.member(true), child.member(false)];
    monitor.set_processes(members);
    let first = sample(&monitor);
    assert_eq!(first.scopes[0][1].memory_bytes, Some(GIB));
    child.end();
    // The engine has noticed; the driver still has its last window.
    monitor.set_processes(vec![main.member(true)]);
    let samples = json!([{"pid": pid, "at_us": base + 100_000, "sm": 80}, {"pid": main.pid(), "at_us": base + 200_000, "sm": 1}]);
    rig.write(&one_gpu(json!([]), samples.clone()));
    let second = sample(&monitor);
    assert_eq!(second.scopes[0][1].memory_bytes, Some(0));
    assert_eq!(second.scopes[0][1].busy_ppm, Some(800_000), "its own last entry");
    // The same samples again: nothing new. And a stranger's samples under the number are nobody's.
    let third = sample(&monitor);
    assert_eq!(third.scopes[0][1].busy_ppm, Some(0));
    let stranger = json!([{"pid": pid, "at_us": base + 300_000, "sm": 99}]);
    rig.write(&one_gpu(json!([{"pid": pid, "memory": 5 * GIB}]), stranger));
    let fourth = sample(&monitor);
    assert_eq!(fourth.scopes[0][1].busy_ppm, Some(0));
    assert_eq!(fourth.scopes[0][2].memory_bytes, Some(0));
    monitor.stop(PATIENCE);
}

#[test]
fn a_number_reused_by_a_stranger_leaks_nothing() {
    let rig = Rig::new("reuse");
    let (main, stranger) = (Sleeper::new(), Sleeper::new());
    rig.write(&one_gpu(
        json!([{"pid": main.pid(), "memory": GIB}, {"pid": stranger.pid(), "memory": 5 * GIB}]),
        json!([{"pid": main.pid(), "at_us": now_us(), "sm": 30}, {"pid": stranger.pid(), "at_us": now_us(), "sm": 60}]),
    ));
    let monitor = rig.monitor();
    // The engine believes in a child that had the stranger's number earlier.
    let dead = ProcessId { start_ticks: stranger.id().start_ticks - 1, ..stranger.id() };
    monitor.set_processes(vec![main.member(true), Member { id: dead, main: false }]);
    let snapshot = sample(&monitor);
    assert_eq!(snapshot.scopes[0][1].memory_bytes, Some(0));
    assert_eq!(snapshot.scopes[0][1].busy_ppm, Some(0));
    assert_eq!(snapshot.scopes[0][2].memory_bytes, Some(GIB));
    assert_eq!(snapshot.scopes[0][2].busy_ppm, Some(300_000));
    monitor.stop(PATIENCE);
}

#[test]
fn a_gpu_lost_on_the_way_is_a_warning_and_unknown_figures() {
    let rig = Rig::new("lost");
    let main = Sleeper::new();
    let state = |lost: bool| {
        let device = |uuid: &str, lost: bool| {
            json!({"uuid": uuid, "memory_total": GIB, "memory_used": MIB, "gpu_util": 5, "lost": lost, "samples": [],
                "compute": [{"pid": main.pid(), "memory": MIB}]})
        };
        json!({"devices": [device("GPU-0", false), device("GPU-1", lost)]})
    };
    rig.write(&state(false));
    let monitor = rig.monitor();
    monitor.set_processes(vec![main.member(true)]);
    let mut series = Series::default();
    series.push(&sample(&monitor));
    rig.write(&state(true));
    let snapshot = sample(&monitor);
    series.push(&snapshot);
    let again = sample(&monitor);
    assert_eq!(again.warnings.len(), 1, "said once: {:?}", again.warnings);
    assert_eq!(again.warnings[0].kind, "gpu_lost");
    assert!(again.warnings[0].text.contains("GPU-1"));
    assert_eq!(series.column("main_gpu_memory_bytes[GPU-1]"), [Some(MIB), None]);
    assert_eq!(series.column("main_gpu_memory_bytes[GPU-0]"), [Some(MIB), Some(MIB)]);
    assert_eq!(series.column("system_gpu_memory_bytes"), [Some(2 * MIB), None], "a part is not the sum");
    monitor.stop(PATIENCE);
}

#[test]
fn power_is_integrated_where_there_is_no_counter() {
    let rig = Rig::new("power");
    rig.write(&json!({"devices": [{"uuid": "GPU-0", "power_mw": 250_000}]}));
    let monitor = rig.monitor();
    let first = sample(&monitor);
    let second = sample(&monitor);
    let span_ns = second.monotonic_ns - first.monotonic_ns;
    // 250 W for the time between the two samples, in microjoules.
    let expected_uj = span_ns / 4;
    let counted = second.readings[0].energy_uj.unwrap();
    assert!(counted.abs_diff(expected_uj) <= 1, "{counted} against {expected_uj}");
    assert_eq!(second.devices[0].energy_method, Some("integrated power"));
    monitor.stop(PATIENCE);
}

#[test]
fn devices_are_chosen_by_uuid_and_a_wrong_one_lists_the_valid() {
    let rig = Rig::new("choose");
    rig.write(&json!({"devices": [{"uuid": "GPU-0"}, {"uuid": "GPU-1"}]}));
    let with = |uuids: &[&str]| GpuConfig {
        uuids: Some(uuids.iter().map(|&u| u.to_owned()).collect()),
        ..rig.config()
    };
    assert_eq!(GpuMonitor::start(with(&[])).err(), Some(GpuError::EmptyUuidList));
    let error = GpuMonitor::list(with(&["GPU-1", "GPU-9"]), PATIENCE).unwrap_err();
    assert_eq!(error.to_string(), "no GPU has the UUID GPU-9: valid are GPU-0, GPU-1");
    let devices = GpuMonitor::list(with(&["gpu-1"]), PATIENCE).unwrap();
    assert_eq!(devices.iter().map(|d| d.selected).collect::<Vec<_>>(), [false, true]);
    let env = JobEnv { cuda_visible_devices: Some("1".to_owned()), ..JobEnv::default() };
    let devices = GpuMonitor::list(GpuConfig { job_env: env, ..rig.config() }, PATIENCE).unwrap();
    assert_eq!(devices.iter().map(|d| d.visible).collect::<Vec<_>>(), [Some(false), Some(true)]);
    assert!(
        "nvidea".parse::<jobmeter_gpu::Brand>().unwrap_err().to_string().contains("nvidia, amd or intel")
    );
}

#[test]
fn host_numbers_in_a_container_cost_the_process_figures_only() {
    let rig = Rig::new("container");
    let main = Sleeper::new();
    rig.write(&one_gpu(json!([{"pid": 4_000_000, "memory": GIB}]), json!([])));
    let config = GpuConfig { pid_view: jobmeter_gpu::PidView::Host, ..rig.config() };
    let monitor = GpuMonitor::start(config).unwrap().unwrap();
    ready(&monitor);
    monitor.set_processes(vec![main.member(true)]);
    let snapshot = sample(&monitor);
    assert_eq!(snapshot.readings[0].memory_used_bytes, Some(GIB));
    assert_eq!(snapshot.scopes[0][0].memory_bytes, None);
    let failure = snapshot.failures.iter().find(|f| f.figure == "process_memory").unwrap();
    assert!(failure.reason.contains("host's process numbers"), "{failure:?}");
    monitor.stop(PATIENCE);
}
