//! What the GPUs did in each phase of the job.

use super::rig::{MIB, Rig, device};
use serde_json::{Value, json};

/// The job swaps the state of the imaginary driver between its phases: idle first, then at work with four joules.
#[test]
fn phases_tell_what_the_gpus_did_in_them() {
    let state = |busy_percent: u64, energy_mj: u64| {
        let samples = json!([{"pid": "main", "sm": busy_percent / 2}]);
        let mut device = device("GPU-0", json!([{"pid": "main", "memory": 5 * MIB}]), samples);
        (device["gpu_util"], device["energy_mj"]) = (json!(busy_percent), json!(energy_mj));
        json!({"devices": [device]})
    };
    let rig = Rig::scripted("phases", &state(0, 1_000));
    std::fs::write(rig.room.path("busy.json"), state(80, 5_000).to_string()).expect("state");
    let mark =
        |how: &str, name: &str| format!("'{}' mark --{how} {name} || exit 9", env!("CARGO_BIN_EXE_jobmeter"));
    let job = format!(
        "echo $$ > main.pid; sleep 0.4\n{}\nsleep 0.3\n{}\n{}\nmv busy.json state.json; sleep 0.6\n{}",
        mark("begin", "idle"),
        mark("end", "idle"),
        mark("begin", "work"),
        mark("end", "work"),
    );
    assert_eq!(rig.run(&[], &job).code, 0);
    let record = rig.room.file("run.jobmeter");
    let call = |arguments: &[&str]| {
        let run = rig.room.finish(rig.room.jobmeter(arguments));
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
        String::from_utf8(run.stdout).expect("UTF-8")
    };
    let views: Value = serde_json::from_str(&call(&["show", &record, "--phases", "--json"])).expect("JSON");
    let phase = |name: &str| {
        let phases = views["phases"].as_array().expect("phases");
        phases.iter().find(|phase| phase["name"] == name).expect("the phase").clone()
    };
    let (idle, work) = (phase("idle"), phase("work"));
    let number = |phase: &Value, key: &str| phase[key].as_f64().unwrap_or_else(|| panic!("{key}: {phase}"));
    assert_eq!(number(&idle, "system_gpu_busy_ppm_max"), 0.0);
    assert_eq!(number(&idle, "system_gpu_energy_uj"), 0.0);
    assert_eq!(number(&work, "system_gpu_busy_ppm_max"), 800_000.0);
    assert_eq!(number(&work, "gpu_busy_ppm_max"), 400_000.0);
    assert_eq!(number(&work, "system_gpu_energy_uj"), 4e6);
    assert_eq!(number(&work, "peak_gpu_memory_bytes"), (5 * MIB) as f64);
    // Most of the phase, because the swap comes right after its beginning.
    assert!((400_000.0..=800_000.0).contains(&number(&work, "system_gpu_busy_ppm_mean")), "{work}");
    let text = call(&["show", &record, "--phases"]);
    for word in ["GPU RAM", "GPU job", "GPU all", "GPU energy", "max 80 %", "4 J"] {
        assert!(text.contains(word), "no {word}: {text}");
    }
    let page = rig.room.file("page.html");
    call(&["report", &record, "--static", "-o", &page]);
    let page = std::fs::read_to_string(page).expect("the page");
    assert!(page.contains("max 80 %") && page.contains("4 J"));
    let csv = call(&["export", &record, "-t", "phases"]);
    assert!(csv.lines().next().is_some_and(|line| line.ends_with(",system_gpu_energy_uj")), "{csv}");
    let work = csv.lines().find(|line| line.starts_with("\"work\"")).expect("the phase");
    assert!(work.ends_with(",800000,4000000"), "{csv}");
}
