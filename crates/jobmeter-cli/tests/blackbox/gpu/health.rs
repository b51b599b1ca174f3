//! Devices in trouble, slow questions and a library that changes what belongs to its host.

use super::rig::{MIB, Rig, device};
use super::unknown::{main, nobody_says_never_used, sample};
use crate::help::{Run, value};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn warnings<'a>(run: &'a Run, kind: &str) -> Vec<&'a str> {
    run.summary()
        .warnings
        .iter()
        .filter(|known| known.kind == kind)
        .map(|known| known.text.as_str())
        .collect()
}

#[test]
fn a_gpu_that_needs_a_reset_is_a_warning_and_perhaps_used() {
    let with = |reset: bool| {
        let mut second = device("GPU-1", json!([]), json!([]));
        second["reset_required"] = json!(reset);
        json!({"devices": [device("GPU-0", json!([main(5 * MIB)]), json!([sample(9)])), second]})
    };
    for (name, frames) in [("later", vec![with(false), with(true)]), ("first", vec![with(true)])] {
        let state = json!({"frames": frames, "frame_ms": 300, "start_with": "main"});
        let rig = Rig::scripted(&format!("reset-{name}"), &state);
        let run = rig.run(&[], "echo $$ > main.pid; exec sleep 0.8");
        let told = warnings(&run, "gpu_reset_required");
        assert!(told.len() == 1 && told[0].contains("GPU-1"), "{name}: {told:?}");
        assert_eq!(run.summary().gpus[1].facts["used"], "unknown", "{name}");
        nobody_says_never_used(&rig, &run);
    }
}

#[test]
fn a_gpu_that_is_lost_at_the_start_is_a_warning() {
    let mut lost = device("GPU-1", json!([]), json!([]));
    lost["lost"] = json!(true);
    let rig = Rig::scripted("lost-first", &json!({"devices": [device("GPU-0", json!([]), json!([])), lost]}));
    let run = rig.run(&[], "sleep 0.4");
    let told = warnings(&run, "gpu_lost");
    assert!(told.len() == 1 && told[0].contains("GPU 1"), "{told:?}");
}

#[test]
fn reasons_of_low_clocks_are_told_by_their_time() {
    let with = |bits: u64| {
        let mut gpu = device("GPU-0", json!([]), json!([]));
        gpu["throttle"] = json!(bits);
        json!({"devices": [gpu]})
    };
    // The last stays: a power cap, which is normal work.
    let state = json!({"frames": [with(0x44), with(0x1), with(0x4)], "frame_ms": 400, "start_with": "main"});
    let rig = Rig::scripted("throttle", &state);
    let run = rig.run(&[], "echo $$ > main.pid; exec sleep 1.6");
    let figures = &run.summary().gpus[0].figures;
    let seconds = |reason: &str| value(figures, &format!("gpu_clocks_held_{reason}_ns")) / 1e9;
    for (reason, low, high) in [
        ("hardware_thermal", 0.1, 0.6),
        ("idle", 0.2, 0.6),
        ("power_cap", 0.6, 1.6),
        ("power_brake", 0.0, 0.0),
    ] {
        assert!((low..=high).contains(&seconds(reason)), "{reason}: {} s", seconds(reason));
    }
    assert_eq!(value(figures, "gpu_throttle_bits_max"), f64::from(0x45), "every reason that there was");
    assert!(figures.by_key("gpu_throttle_bits_mean").is_none());
}

#[test]
fn a_client_of_the_multi_process_service_is_found_in_its_list() {
    let mut gpu = device("GPU-0", json!([{"pid": 1, "memory": MIB}]), json!([]));
    gpu["mps"] = json!([main(7 * MIB)]);
    let rig = Rig::scripted("mps", &json!({"devices": [gpu]}));
    let run = rig.run(&[], "echo $$ > main.pid; exec sleep 0.5");
    assert_eq!(value(&run.summary().gpus[0].figures, "main_gpu_memory_bytes_max"), (7 * MIB) as f64);
    assert_eq!(run.summary().gpus[0].facts["used"], "yes");
}

#[test]
fn pcie_readings_take_a_small_part_of_the_time() {
    let slow = |index: usize| {
        let mut gpu = device(&format!("GPU-{index}"), json!([]), json!([]));
        gpu["pcie_delay_ms"] = json!(20);
        gpu
    };
    let devices: Vec<Value> = (0..8).map(slow).collect();
    let rig = Rig::scripted("pcie", &json!({"devices": devices, "call_log": "calls"}));
    let run = rig.run(&[], "sleep 2.5");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let log = rig.room.text("calls");
    let readings = log.lines().filter(|line| line.contains("nvmlDeviceGetPcieThroughput")).count();
    // A pair of 40 ms, then 400 ms without: 7 pairs at most, of all devices together.
    assert!((6..=14).contains(&readings), "{readings} readings");
    let first = log.lines().filter(|line| line.ends_with("nvmlDeviceGetPcieThroughput 0")).count();
    assert!(first <= 4, "GPU 0 was asked {first} times");
    assert_eq!(value(&run.summary().gpus[0].figures, "gpu_pcie_receive_bytes_per_s_max"), 5.0 * 1024.0);
}

#[test]
fn a_library_that_ignores_sigchld_does_not_keep_the_run_from_ending() {
    for function in ["nvmlInit_v2", "nvmlDeviceGetUtilizationRates"] {
        let state = json!({"devices": [device("GPU-0", json!([]), json!([]))],
            "misbehave": {function: "ignore_sigchld"}});
        let rig = Rig::scripted(&format!("sigchld-{function}"), &state);
        let mut child = rig
            .command(&[], &["sh", "-c", "sleep 0.5; echo out; exit 7"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("start jobmeter");
        let deadline = Instant::now() + Duration::from_secs(20);
        while child.try_wait().expect("a status").is_none() {
            if Instant::now() > deadline {
                let _ = child.kill();
                panic!("{function}: jobmeter never returned");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let output = child.wait_with_output().expect("its output");
        assert_eq!(output.stdout, b"out\n", "{function}");
        let summary = rig.room.summary_file().expect("a summary");
        // A kernel before 6.15 keeps no status of a process that nobody waited for.
        let verdict = &summary.verdict;
        let is_told = output.status.code() == Some(7) && verdict.exit_code == Some(7);
        assert!(is_told || verdict.kind == "unknown", "{function}: {:?}, {verdict:?}", output.status);
    }
}
