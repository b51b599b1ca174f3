//! What a driver does not tell is unknown: never 0, and never a GPU that was "never used".

use super::rig::{MIB, Rig, device};
use crate::help::{Run, value};
use jobmeter_model::Quality;
use serde_json::{Value, json};

/// The job is main alone, for a second.
const JOB: &str = "echo $$ > main.pid; exec sleep 1";

pub(super) fn main(memory: u64) -> Value {
    json!({"pid": "main", "memory": memory})
}

pub(super) fn sample(sm: u64) -> Value {
    json!({"pid": "main", "sm": sm})
}

/// A mean of nothing is left out altogether.
#[track_caller]
pub(super) fn is_unknown(run: &Run, keys: &[&str]) {
    for key in keys {
        let figure = run.summary().gpus[0].figures.by_key(key);
        let Some(figure) = figure.or_else(|| (!key.ends_with("_mean")).then(|| panic!("no {key}"))) else {
            continue;
        };
        assert_eq!((figure.value, figure.quality), (None, Quality::Unavailable), "{key}: {figure:?}");
        assert!(figure.reason.is_some(), "{key} without a reason");
    }
}

/// The three places that would say so.
#[track_caller]
pub(super) fn nobody_says_never_used(rig: &Rig, run: &Run) {
    let told = rig.reasons();
    assert!(!told.contains("never used"), "{told}");
    let shown = rig.room.finish(rig.room.jobmeter(&["show", &rig.room.file("run.jobmeter")]));
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(!text.contains("never used"), "{text}");
    let advised = rig.room.finish(rig.room.jobmeter(&["advise", &rig.room.file("run.jobmeter")]));
    let text = String::from_utf8_lossy(&advised.stdout).into_owned();
    assert!(
        !text.lines().any(|line| line.trim_start().starts_with("GPUs") && line.contains(" 0 ")),
        "{text}"
    );
    assert!(!text.contains("no run used a GPU"), "{text}");
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn memory_that_is_0_before_the_use_and_unknown_after_it_is_unknown() {
    let before = json!({"devices": [device("GPU-0", json!([]), json!([]))]});
    let after = json!({"devices": [device("GPU-0", json!([{"pid": "main"}]), json!([sample(40)]))]});
    let frames: Vec<Value> = std::iter::repeat_n(before, 3).chain([after]).collect();
    let rig =
        Rig::scripted("unknown-later", &json!({"frames": frames, "frame_ms": 100, "start_with": "main"}));
    let run = rig.run(&[], JOB);
    is_unknown(&run, &["main_gpu_memory_bytes_max", "main_gpu_memory_bytes_mean"]);
    let sum = &run.summary().combined["gpu_memory_bytes_max"];
    let cause = "the driver lists the process without its memory";
    assert!(sum.reason.as_deref().is_some_and(|reason| reason.contains(cause)), "{sum:?}");
    assert_eq!(sum.value, None);
    assert_eq!(value(&run.summary().gpus[0].figures, "main_gpu_busy_ppm_max"), 400_000.0);
    assert_eq!(run.summary().gpus[0].facts["used"], "yes");
    nobody_says_never_used(&rig, &run);
}

#[test]
fn memory_that_is_known_at_first_is_a_lower_bound() {
    let with = |list: Value| json!({"devices": [device("GPU-0", list, json!([sample(40)]))]});
    let frames = [with(json!([main(5 * MIB)])), with(json!([{"pid": "main"}]))];
    let rig = Rig::scripted("lower", &json!({"frames": frames, "frame_ms": 400, "start_with": "main"}));
    let run = rig.run(&[], JOB);
    for (scope, key) in [
        (&run.summary().gpus[0].figures, "main_gpu_memory_bytes_max"),
        (&run.summary().main, "gpu_memory_bytes_max"),
    ] {
        assert_eq!((scope[key].as_u64(), scope[key].quality), (Some(5 * MIB), Quality::LowerBound), "{key}");
    }
}

#[test]
fn a_listed_process_without_memory_is_on_the_gpu_all_the_same() {
    let rig = Rig::scripted(
        "memory-0",
        &json!({"devices": [device("GPU-0", json!([main(0)]), json!([sample(40)]))]}),
    );
    let run = rig.run(&[], JOB);
    is_unknown(&run, &["main_gpu_memory_bytes_max", "combined_gpu_memory_bytes_max"]);
    assert_eq!(run.summary().gpus[0].facts["used"], "yes");
    nobody_says_never_used(&rig, &run);
}

#[test]
fn a_gpu_whose_processes_are_not_told_may_have_been_used() {
    let mut silent = device("GPU-1", json!([]), json!([]));
    silent["fail"] =
        json!({"nvmlDeviceGetComputeRunningProcesses_v3": 4, "nvmlDeviceGetProcessUtilization": 4});
    silent["energy_mj_per_s"] = json!(100_000);
    let known = device("GPU-0", json!([main(5 * MIB)]), json!([sample(9)]));
    let rig = Rig::scripted("silent", &json!({"devices": [known, silent]}));
    let run = rig.run(&[], JOB);
    assert_eq!(run.summary().gpus[1].facts["used"], "unknown");
    nobody_says_never_used(&rig, &run);
    let sum = &run.summary().combined["gpu_memory_bytes_max"];
    assert_eq!((sum.as_u64(), sum.quality), (Some(5 * MIB), Quality::LowerBound));
    // The energy of the one may be the job's or not; that of the other stood still.
    let energy = &run.summary().combined["gpu_energy_uj"];
    assert_eq!((energy.value, energy.quality), (None, Quality::Unavailable), "{energy:?}");
    assert!(energy.reason.as_deref().is_some_and(|reason| reason.contains("GPU-1")), "{energy:?}");
    assert_eq!(run.summary().combined["energy_joules"].value, None);
}

#[test]
fn energy_of_a_mig_gpu_goes_to_jobs_that_used_an_instance() {
    let instance = |id: u32, list: Value| {
        json!({"name": "MIG 1g", "uuid": format!("MIG-{id}"), "gpu_instance": id, "compute_instance": 0,
            "memory_total": 100 * MIB, "memory_used": MIB, "compute": list})
    };
    let state = json!({"devices": [{"name": "A100", "uuid": "GPU-m", "memory_total": 800 * MIB, "memory_used": 2 * MIB,
        "power_mw": 200_000, "energy_mj": 0, "energy_mj_per_s": 200_000,
        "mig": [instance(1, json!([main(MIB)])), instance(2, json!([]))]}]});
    for (job, used, has_energy) in [(JOB, "yes", true), ("exec sleep 1", "no", false)] {
        let rig = Rig::scripted(&format!("mig-energy-{used}"), &state);
        let run = rig.run(&[], job);
        let gpu = &run.summary().gpus[0];
        assert_eq!(gpu.facts["used"], used);
        assert!(value(&gpu.figures, "gpu_energy_uj") > 50e6, "of the device");
        let charged_uj = value(&run.summary().combined, "gpu_energy_uj");
        assert_eq!(charged_uj > 50e6, has_energy, "{charged_uj} uJ for {job:?}");
    }
}

#[test]
fn a_driver_that_stops_answering_leaves_open_who_used_its_gpu() {
    let with = |hang: Value| json!({"devices": [device("GPU-0", json!([]), json!([]))], "hang": hang});
    let frames = [with(json!([])), with(json!(["nvmlDeviceGetUtilizationRates"]))];
    let rig = Rig::scripted("hung-later", &json!({"frames": frames, "frame_ms": 400, "start_with": "main"}));
    let run = rig.run(&[], "echo $$ > main.pid; exec sleep 2");
    assert_eq!(run.summary().gpus[0].facts["used"], "unknown");
    nobody_says_never_used(&rig, &run);
}
