//! GPUs by a script, and drivers that do not answer.

use crate::fake_nvml::library;
use crate::place::{DONE, Place, text};
use crate::witness::Witness;
use serde_json::{Value, json};
use std::process::Command;

fn device(uuid: &str, busy: u32, processes: Value) -> Value {
    json!({"name": "Imaginary A100", "uuid": uuid, "memory_total": 2_048_000_000u64, "memory_used": 631_000_000,
        "gpu_util": busy, "memory_util": 40, "power_mw": 250_000, "energy_mj": 1000, "temperature_c": 71,
        "sm_mhz": 1410, "memory_mhz": 1215, "compute": processes, "samples": []})
}

#[test]
fn gpus_equal_the_script() {
    let place = Place::new();
    let job = "echo $$ > main.pid; sleep 0.8 & echo $! > one.pid; wait";
    place.write("job.sh", job);
    let processes = json!([{"pid": "main", "memory": 100_000_000}, {"pid": "one", "memory": 177_000_000},
        {"pid": 1, "memory": 90_000_000}]);
    let state = json!({"devices": [device("GPU-0", 80, processes), device("GPU-1", 30, json!([]))]});
    place.write("state.json", &state.to_string());
    let run = |words: &[&str]| {
        // The script must not take the numbers of an earlier run's processes.
        for name in ["main.pid", "one.pid"] {
            drop(std::fs::remove_file(place.path(name)));
        }
        let mut command = place.command(&["-e", "sh job.sh", "--st=0.1", "--gru=megabytes"]);
        command.args(words).env("FAKE_NVML_STATE", place.path("state.json"));
        command.env("JOBMETER_NVML_PATH", library()).output().expect("starts")
    };
    let output = run(&["--tf=t.csv"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let out = text(&output.stdout);
    let expected = "Max GPU RAM:\n   Unit: megabytes\n   System capacity: 4096.0\n   System: 1262.0\n   \
        Main: 100.0\n   Descendants: 177.0\n   Combined: 277.0\n";
    assert!(out.contains(expected), "{out}");
    let counts = "   System GPU count: 2\n   Number of expected GPUs: 2\n   GPU percentages:\n      \
        Max sum percent: 110.0\n      Max hardware percent: 55.0\n";
    assert!(out.contains(counts), "{out}");
    assert!(place.read("t.csv").contains(",100.0,177.0,277.0,1262.0,110.0,55.0,1,1,2,"));
    // Chosen UUIDs narrow the utilization only.
    let out = text(&run(&["--guuids=GPU-1", "--gb=nvidia"]).stdout);
    assert!(out.contains("   System GPU count: 2\n   Number of expected GPUs: 1\n"), "{out}");
    assert!(out.contains("      Max sum percent: 30.0\n      Max hardware percent: 30.0\n"), "{out}");
    assert!(out.contains("   Main: 100.0\n   Descendants: 177.0\n"), "{out}");
    for (option, expected) in [
        ("--guuids=GPU-9", "GPU UUID of GPU-9 is not valid. Available UUIDs are: GPU-0, GPU-1"),
        (
            "--guuids=",
            "gpu_uuids is not None but the set is empty. Please provide a set of at least one GPU UUID.",
        ),
        ("--gb=amd", "No amd GPU was found; leave the GPU brand unset to take any."),
    ] {
        let output = run(&[option]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(text(&output.stderr), format!("ERROR:root:{expected}\n"));
    }
}

/// The command on a machine with this NVIDIA driver and no other GPU.
fn with_driver(place: &Place, state: &Value, words: &[&str]) -> Command {
    place.write("state.json", &state.to_string());
    let mut command = place.command(words);
    command.env("FAKE_NVML_STATE", place.path("state.json")).env("JOBMETER_NVML_PATH", library());
    command.env("JOBMETER_GPU_ROOT", place.path("no-root"));
    command
}

#[test]
fn a_driver_that_hangs_delays_nobody() {
    let state = json!({"devices": [device("GPU-0", 80, json!([]))], "hang": ["nvmlInit_v2"]});
    let place = Place::new();
    let output =
        with_driver(&place, &state, &["-e", "sh -c 'echo said'", "--tf=t.csv"]).output().expect("starts");
    assert_eq!(output.status.code(), Some(0));
    let out = text(&output.stdout);
    assert!(
        out.starts_with(&format!("said\n{DONE}0\n")) && out.contains("   System GPU count: 0\n"),
        "{out}"
    );
    let warning = "WARNING:root:The GPU driver had not answered when the command ended. The GPU RAM and GPU utilization \
        values will remain 0.0.\n";
    assert_eq!(text(&output.stderr), warning);
    assert!(place.read("t.csv").starts_with("ram_unit,"), "the file is there");
    let words = ["-e", "true", "--disable-logs"];
    let alone = || {
        let mut command = place.command(&words);
        command.env("JOBMETER_GPU_ROOT", place.path("no-root"));
        command
    };
    Witness::new(&alone).adds_little("a driver that hangs", || with_driver(&place, &state, &words));
}

#[test]
fn a_slow_driver_comes_late_into_the_rows_but_not_into_the_head() {
    let processes = json!([{"pid": "main", "memory": 100_000_000}]);
    let state = json!({"devices": [device("GPU-0", 80, processes)], "delay_ms": {"nvmlInit_v2": 500}});
    let place = Place::new();
    let job = "sh -c 'echo $$ > main.pid; sleep 1.5'";
    let words = ["-e", job, "--st=0.1", "--tf=t.csv", "--gru=megabytes"];
    let output = with_driver(&place, &state, &words).output().expect("starts");
    assert_eq!(text(&output.stderr), "");
    let out = text(&output.stdout);
    assert!(out.contains("   System GPU count: 1\n   Number of expected GPUs: 1\n"), "{out}");
    let file = place.read("t.csv");
    let lines: Vec<&str> = file.split_terminator("\r\n").collect();
    assert!(lines[1].contains(",2048.0,") && lines[1].ends_with(",1,1"), "{}", lines[1]);
    let main: Vec<&str> = lines[3..].iter().filter_map(|line| line.split(',').nth(4)).collect();
    assert!(main.len() > 6 && main[0] == "0.0", "what came before the driver is kept: {main:?}");
    assert_eq!(main[main.len() - 1], "100.0", "{main:?}");
    assert!(main.is_sorted_by_key(|value| *value != "0.0"), "{main:?}");
}

/// gpu_tracker takes the MiB of the driver's tools for megabytes.
#[test]
fn gpu_ram_can_be_told_as_gpu_tracker_counts_it() {
    let place = Place::new();
    let mut gpu = device("GPU-0", 80, json!([]));
    (gpu["memory_total"], gpu["memory_used"]) = (json!(1000u64 << 20), json!(600u64 << 20));
    let state = json!({"devices": [gpu]});
    for (value, expected) in [("mib", "System capacity: 1000.0\n   System: 600.0\n"), ("", "System: 629.146")]
    {
        let mut command = with_driver(&place, &state, &["-e", "sleep 0.5", "--st=0.1", "--gru=megabytes"]);
        let output = command.env("JOBMETER_GPU_TRACKER_RAM", value).output().expect("starts");
        let out = text(&output.stdout);
        assert!(out.contains(expected), "'{value}': {out}");
    }
}
