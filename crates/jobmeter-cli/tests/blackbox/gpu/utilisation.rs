//! Use by process, from entries as real drivers give them: each with a time stamp of its own, some of them garbage.

use super::rig::{MIB, Rig, device};
use super::unknown::{is_unknown, main, sample};
use crate::help::{Run, value};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_micros() as u64
}

fn one(samples: Value) -> Value {
    json!({"devices": [device("GPU-0", json!([main(MIB)]), samples)]})
}

fn run(name: &str, state: &Value, seconds: &str) -> Run {
    let rig = Rig::scripted(name, state);
    rig.run(&[], &format!("echo $$ > main.pid; exec sleep {seconds}"))
}

fn mean(run: &Run) -> f64 {
    value(&run.summary().gpus[0].figures, "main_gpu_busy_ppm_mean") / 1e4
}

fn max(run: &Run) -> f64 {
    value(&run.summary().gpus[0].figures, "main_gpu_busy_ppm_max") / 1e4
}

#[test]
fn garbage_of_the_jobs_own_process_is_no_use() {
    let far_us = now_us() + 10_000_000_000_000;
    for (name, entry) in [
        ("over-100", json!({"pid": "main", "sm": 2_147_483_632_u32, "garbage": true})),
        ("future", json!({"pid": "main", "sm": 100, "at_us": far_us, "garbage": true})),
        ("past", json!({"pid": "main", "sm": 100, "at_us": 5, "garbage": true})),
    ] {
        let run = run(&format!("garbage-{name}"), &one(json!([entry])), "0.6");
        is_unknown(&run, &["main_gpu_busy_ppm_max", "main_gpu_busy_ppm_mean"]);
    }
}

#[test]
fn true_entries_count_beside_and_after_garbage() {
    let far_us = now_us() + 10_000_000_000_000;
    let strange = json!({"pid": 4_190_000, "sm": 3, "at_us": far_us, "garbage": true});
    let frames = [
        one(json!([{"pid": "main", "sm": 100, "at_us": far_us, "garbage": true}, strange])),
        one(json!([sample(90), strange])),
        one(json!([sample(10), strange])),
    ];
    let state = json!({"frames": frames, "frame_ms": 300, "start_with": "main"});
    let run = run("garbage-then-true", &state, "1.8");
    assert_eq!(max(&run), 90.0);
    // 0.3 s unknown, 0.3 s at 90 %, 1.2 s at 10 %: at least 21.7 % of it all.
    let mean = mean(&run);
    assert!((15.0..30.0).contains(&mean), "{mean}");
}

#[test]
fn a_process_is_followed_by_its_own_stamps() {
    // The stranger's stamps are 400 ms newer than the job's, and both go on every 200 ms.
    let begin_us = now_us();
    let frames: Vec<Value> = (0..40)
        .map(|step| {
            let at_us = begin_us + step * 200_000;
            one(json!([{"pid": "main", "sm": 40, "at_us": at_us - 400_000}, {"pid": 1, "sm": 7, "at_us": at_us}]))
        })
        .collect();
    let start_ms = begin_us / 1000;
    let state = json!({"frames": frames, "frame_ms": 200, "start_unix_ms": start_ms});
    let run = run("own-stamps", &state, "2");
    assert_eq!(max(&run), 40.0);
    let mean = mean(&run);
    assert!(mean > 32.0, "{mean}");
}

#[test]
fn silence_becomes_idleness() {
    let frames = [one(json!([sample(40)])), one(json!([]))];
    let state = json!({"frames": frames, "frame_ms": 600, "start_with": "main"});
    let run = run("silence", &state, "2.4");
    assert_eq!(max(&run), 40.0);
    // A quarter of the run.
    let mean = mean(&run);
    assert!((6.0..16.0).contains(&mean), "{mean}");
}
