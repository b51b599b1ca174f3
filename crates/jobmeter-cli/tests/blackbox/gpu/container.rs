//! Inside a PID namespace, by driver version: which of the numbers that the driver reports are ours, and what it leaves
//! out. The truth is 100 MiB and 40 %.

use super::rig::{MIB, Rig, device};
use super::unknown::{is_unknown, main, nobody_says_never_used, sample};
use crate::help::{Run, not_here, value};
use jobmeter_model::Quality;
use serde_json::json;
use std::path::Path;
use std::process::Command;

const MEMORY: [&str; 2] = ["main_gpu_memory_bytes_max", "combined_gpu_memory_bytes_mean"];
const BUSY: [&str; 2] = ["main_gpu_busy_ppm_max", "combined_gpu_busy_ppm_mean"];

/// `None`, with the reason, where no namespace may be made.
fn run(driver: &str, job: &str) -> Option<(Rig, Run)> {
    run_told(driver, job, None)
}

/// As `run`, with what `JOBMETER_GPU_PIDS` says.
fn run_told(driver: &str, job: &str, whose: Option<&str>) -> Option<(Rig, Run)> {
    let state = json!({"driver_version": driver, "pid_namespace": {"host_pid_offset": 3_000_000},
        "devices": [device("GPU-0", json!([main(100 * MIB)]), json!([sample(40)]))]});
    let rig = Rig::scripted(&format!("container-{driver}-{}", job.len()), &state);
    let inside = rig.command(&[], &["sh", "-c", job]);
    let container = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testkit/fake-nvml/in-container");
    if !Command::new(&container).arg("true").status().is_ok_and(|status| status.success()) {
        not_here("no PID namespace may be made");
        return None;
    }
    let mut command = Command::new(container);
    command.arg(inside.get_program()).args(inside.get_args()).current_dir(&rig.room.dir);
    for (name, value) in inside.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env_remove("JOBMETER_GPU_PIDS");
    if let Some(whose) = whose {
        command.env("JOBMETER_GPU_PIDS", whose);
    }
    let run = rig.room.finish(command);
    Some((rig, run))
}

const OPEN: &str = "exec 3</dev/nvidia0; echo $$ > main.pid; exec sleep 0.8";

#[test]
fn each_driver_is_believed_as_far_as_it_translates_numbers() {
    for (driver, has_memory, has_busy, used) in [
        ("525.60.13", false, false, "unknown"),
        ("535.113.01", false, false, "yes"),
        ("560.35.03", false, false, "yes"),
        ("565.57.01", true, false, "yes"),
        ("570.86.10", true, true, "yes"),
    ] {
        let Some((rig, run)) = run(driver, OPEN) else { return };
        assert_eq!(run.code, 0, "{driver}: {}", run.stderr);
        let gpu = &run.summary().gpus[0];
        assert_eq!(gpu.facts["used"], used, "{driver}");
        nobody_says_never_used(&rig, &run);
        match has_memory {
            true => assert_eq!(value(&gpu.figures, MEMORY[0]), (100 * MIB) as f64, "{driver}"),
            false => is_unknown(&run, &MEMORY),
        }
        match has_busy {
            true => assert_eq!(value(&gpu.figures, BUSY[0]), 400_000.0, "{driver}"),
            false => is_unknown(&run, &BUSY),
        }
    }
}

#[test]
fn a_mapped_device_is_evidence_as_an_open_one_is() {
    // The descriptor is closed again; the mapping stays.
    let job = "truncate -s 4096 /dev/nvidia0; exec python3 -c 'import ctypes, os, time\n\
        f = os.open(\"/dev/nvidia0\", os.O_RDWR); ctypes.CDLL(None).mmap(None, 4096, 3, 1, f, 0); os.close(f)\n\
        open(\"main.pid\", \"w\").write(str(os.getpid())); time.sleep(0.8)'";
    let Some((_, run)) = run("570.86.10", job) else { return };
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(value(&run.summary().gpus[0].figures, BUSY[0]), 400_000.0);
}

#[test]
fn the_only_process_of_a_gpu_is_taken_for_the_only_one_that_computes() {
    let job = "exec 3</dev/nvidia0 4</dev/nvidia-uvm; echo $$ > main.pid; exec sleep 0.8";
    for driver in ["525.60.13", "550.54.15"] {
        let Some((_, run)) = run(driver, job) else { return };
        let gpu = &run.summary().gpus[0];
        assert_eq!(gpu.facts["process_numbers"], "guessed", "{driver}");
        let busy = &gpu.figures[BUSY[0]];
        assert_eq!((busy.as_f64(), busy.quality), (Some(400_000.0), Quality::Estimate), "{driver}");
        assert!(busy.reason.as_deref().is_some_and(|reason| reason.contains("host's process numbers")));
        match driver {
            "525.60.13" => assert_eq!(gpu.figures[MEMORY[0]].as_u64(), Some(100 * MIB)),
            _ => is_unknown(&run, &MEMORY),
        }
    }
}

#[test]
fn who_knows_the_driver_need_not_wait_for_proof() {
    // Nothing of the job has the device open, so that numbers that may be the host's are not believed.
    let job = "echo $$ > main.pid; exec sleep 0.8";
    let Some((_, run)) = run_told("570.86.10", job, Some("ours")) else { return };
    assert_eq!(value(&run.summary().gpus[0].figures, MEMORY[0]), (100 * MIB) as f64);
    let Some((_, run)) = run_told("570.86.10", job, Some("host")) else { return };
    is_unknown(&run, &MEMORY);
    // A wrong word costs the figures of the GPUs, not the job.
    let Some((rig, run)) = run_told("570.86.10", job, Some("theirs")) else { return };
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(rig.reasons().contains("JOBMETER_GPU_PIDS is"), "{}", rig.reasons());
}
