//! A card that the kernel has put to sleep stays asleep, and the record says so.

use super::rig::{MIB, Rig, device, fixtures, lay};
use super::unknown::main;
use crate::help::value;
use serde_json::json;
use std::fs;

const STATUS: &str = "root/sys/bus/pci/devices/0000:01:00.0/power/runtime_status";

fn rig(name: &str, status: &str) -> Rig {
    let mut gpu = device("GPU-0", json!([main(5 * MIB)]), json!([]));
    gpu["pci"] = json!("0000:01:00.0");
    gpu["runtime_status"] = json!(STATUS);
    let rig = Rig::scripted(name, &json!({"devices": [gpu], "call_log": "calls"}));
    let folder = rig.room.path("root/sys/bus/pci/devices/0000:01:00.0");
    fs::create_dir_all(folder.join("power")).expect("a folder");
    for (file, text) in [("vendor", "0x10de\n"), ("class", "0x030200\n"), ("power/runtime_status", status)] {
        fs::write(folder.join(file), text).expect("a file");
    }
    rig
}

#[test]
fn the_driver_of_a_sleeping_card_is_not_asked() {
    let rig = rig("asleep", "suspended\n");
    let run = rig.run(&[], "sleep 0.4");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(rig.room.text(STATUS).trim(), "suspended", "it was woken");
    assert!(!rig.room.path("calls").exists(), "the library was called");
    assert!(run.summary().gpus.is_empty());
    let told = rig.reasons();
    assert!(told.contains("asleep and not woken: 0000:01:00.0") && !told.contains("never used"), "{told}");
}

#[test]
fn a_card_that_the_job_wakes_is_measured_from_then_on() {
    let rig = rig("woken", "suspended\n");
    let job = format!("sleep 0.3; echo active > {STATUS}; echo $$ > main.pid; exec sleep 0.6");
    let run = rig.run(&[], &job);
    let gpu = &run.summary().gpus[0];
    assert_eq!(value(&gpu.figures, "main_gpu_memory_bytes_max"), (5 * MIB) as f64);
    assert_eq!(gpu.facts["used"], "yes");
    assert!(!rig.reasons().contains("asleep"), "{}", rig.reasons());
}

#[test]
fn a_card_that_falls_asleep_is_left_alone_and_was_not_used() {
    let rig = rig("falls-asleep", "active\n");
    let job = format!("sleep 0.3; echo suspended > {STATUS}; sleep 0.6");
    let run = rig.run(&[], &job);
    assert_eq!(rig.room.text(STATUS).trim(), "suspended", "it was woken");
    let gpu = &run.summary().gpus[0];
    assert_eq!(gpu.facts["used"], "no");
    assert_eq!(value(&gpu.figures, "gpu_memory_bytes_max"), (700 * MIB) as f64, "from before");
}

#[test]
fn a_second_card_that_wakes_up_joins_the_one_of_another_maker() {
    let rig = rig("joins", "suspended\n");
    lay(&fixtures().join("drm/i915/sys/class"), &rig.root().join("sys/class"));
    let run = rig.run(&[], &format!("sleep 0.4; echo active > {STATUS}; echo $$ > main.pid; exec sleep 0.6"));
    let names: Vec<&str> = run.summary().gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    assert_eq!(names, ["pci-0000:00:02.0", "pci-0000:03:00.0", "GPU-0"]);
    assert_eq!(value(&run.summary().gpus[2].figures, "main_gpu_memory_bytes_max"), (5 * MIB) as f64);
}
