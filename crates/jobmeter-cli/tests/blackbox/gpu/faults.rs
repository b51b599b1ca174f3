//! A driver that fails, hangs, is old, slow or absent: the job's exit code, output and end stay as they were, and the
//! reason is in the record.

use super::rig::{MIB, Rig, device};
use super::witness::Witness;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const JOB: [&str; 3] = ["sh", "-c", "echo out; echo err >&2; sleep 0.15; exit 3"];

#[derive(Clone, Copy)]
enum Driver<'a> {
    /// The scripted one; the job waits until this function was called.
    AskedFor(&'a str),
    Library(&'a Path),
}

/// Every function that a run calls.
const FUNCTIONS: [&str; 20] = [
    "nvmlInit_v2",
    "nvmlSystemGetDriverVersion",
    "nvmlDeviceGetCount_v2",
    "nvmlDeviceGetHandleByIndex_v2",
    "nvmlDeviceGetName",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetTotalEnergyConsumption",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetPcieThroughput",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
    "nvmlDeviceGetProcessUtilization",
];

/// The driver names its calls in a file, for a job that waits for one of them.
fn healthy() -> Value {
    json!({"call_log": "calls", "devices": [device("GPU-0", json!([{"pid": 1, "memory": MIB}]), json!([{"pid": 1, "sm": 1}]))]})
}

/// As `JOB`, but on a busy machine it takes a while until the driver is asked: it waits for that.
fn job_until_asked(function: &str) -> String {
    format!(
        "echo out; echo err >&2; tries=0
         until grep -q '{function} ' calls 2>/dev/null || [ $tries -gt 1000 ]; do tries=$((tries+1)); sleep 0.02; done
         sleep 0.15; exit 3"
    )
}

/// The job under this driver: its result is untouched, its end comes as soon as without GPUs, and the record tells.
fn changes_nothing(witness: &mut Witness<'_>, what: &str, rig: &Rig, driver: Driver<'_>, reason: &str) {
    let command = |job: &[&str]| {
        let mut command = rig.command(&[], job);
        if let Driver::Library(library) = driver {
            command.env("JOBMETER_NVML_PATH", library);
        }
        command
    };
    let run = rig.room.finish(match driver {
        Driver::Library(_) => command(&JOB),
        Driver::AskedFor(function) => command(&["sh", "-c", &job_until_asked(function)]),
    });
    assert_eq!((run.code, run.stdout.as_slice(), run.stderr.as_str()), (3, &b"out\n"[..], "err\n"), "{what}");
    let told = rig.reasons();
    assert!(told.contains(reason), "{what}: no '{reason}' in {told}");
    witness.adds_little(what, || command(&JOB));
}

/// The same job with the GPUs left alone.
fn without_gpus(name: &str, hold: impl FnOnce(&mut Witness<'_>)) {
    let rig = Rig::scripted(&format!("witness-{name}"), &healthy());
    let command = || rig.command(&["--no-gpu"], &JOB);
    hold(&mut Witness::new(&command));
}

#[test]
fn an_error_from_each_function_changes_nothing_for_the_job() {
    without_gpus("fail", |witness| {
        for function in FUNCTIONS {
            let mut state = healthy();
            // The address has an older function to fall back on, which must not hide the failure.
            state["fail"] = json!({ function: 999, function.replace("PciInfo_v3", "PciInfo_v2"): 999 });
            let rig = Rig::scripted(&format!("fail-{function}"), &state);
            let (what, reason) = (format!("{function} fails"), format!("{function}: NVML error 999"));
            changes_nothing(witness, &what, &rig, Driver::AskedFor(function), &reason);
        }
    });
}

#[test]
fn a_call_that_never_returns_changes_nothing_for_the_job() {
    without_gpus("hang", |witness| {
        let told = |function: &str| format!("had not returned from {function} after");
        let all = FUNCTIONS.map(|function| (function, told(function)));
        // The last call of all comes when everything is known: there is nothing to tell.
        for (function, reason) in all.into_iter().chain([("nvmlShutdown", "1 device".to_owned())]) {
            let mut state = healthy();
            state["hang"] = json!([function]);
            let rig = Rig::scripted(&format!("hang-{function}"), &state);
            let last_asked =
                if function == "nvmlShutdown" { "nvmlDeviceGetUtilizationRates" } else { function };
            let driver = Driver::AskedFor(last_asked);
            changes_nothing(witness, &format!("{function} hangs"), &rig, driver, &reason);
        }
    });
}

#[test]
fn a_library_without_half_of_its_symbols_changes_nothing_for_the_job() {
    let rig = Rig::new("old");
    let library = rig.room.path("libnvidia-ml.so.1");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../jobmeter-gpu/tests/old_driver.c");
    let built = Command::new("gcc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    assert!(built.expect("gcc is there").success());
    let reason = "nvmlDeviceGetPowerUsage: the driver is too old: it lacks the function";
    without_gpus("old", |witness| {
        changes_nothing(witness, "an old driver", &rig, Driver::Library(&library), reason)
    });
    let summary = rig.room.summary_file().expect("a summary");
    let gpu = &summary.gpus[0];
    // What it has is there, what it lacks is unknown with the reason, and nothing is 0 for want of knowledge.
    assert_eq!(gpu.figures["gpu_memory_bytes_max"].as_u64(), Some(4000));
    assert_eq!(gpu.figures["gpu_power_mw_max"].as_u64(), None);
    assert_eq!(gpu.figures["gpu_power_mw_max"].reason.as_deref(), Some(reason));
}

#[test]
fn a_missing_library_changes_nothing_for_the_job() {
    let rig = Rig::new("missing");
    let library = rig.room.path("no-such.so");
    without_gpus("missing", |witness| {
        changes_nothing(
            witness,
            "a missing library",
            &rig,
            Driver::Library(&library),
            "NVML cannot be loaded",
        );
    });
}

#[test]
fn a_gpu_that_is_lost_on_the_way_is_a_warning() {
    let with = |lost: bool| {
        let mut second = device("GPU-1", json!([]), json!([]));
        second["lost"] = json!(lost);
        json!({"devices": [device("GPU-0", json!([]), json!([])), second]})
    };
    // Some samples with both, then the second has fallen off the bus.
    let frames: Vec<Value> = std::iter::repeat_n(with(false), 5).chain([with(true)]).collect();
    let state = json!({"frames": frames, "step_on": "nvmlDeviceGetUtilizationRates"});
    let rig = Rig::scripted("lost", &state);
    let run = rig.run(&[], "sleep 0.8; exit 4");
    assert_eq!(run.code, 4, "{}", run.stderr);
    let lost: Vec<&str> =
        run.summary().warnings.iter().filter(|w| w.kind == "gpu_lost").map(|w| w.text.as_str()).collect();
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert!(lost[0].contains("GPU-1") && lost[0].contains("disappeared"), "{lost:?}");
    assert_eq!(run.summary().gpus[0].figures["gpu_memory_bytes_max"].as_u64(), Some(700 * MIB));
    assert!(rig.reasons().contains("disappeared"));
}
