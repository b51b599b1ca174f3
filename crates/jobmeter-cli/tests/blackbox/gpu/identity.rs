//! Whose memory it is: nobody's twice, and nobody else's.

use super::rig::{FAMILY, MIB, Rig};
use crate::help::{not_here, value};
use serde_json::{Value, json};
use std::process::Command;

#[test]
fn a_process_in_two_mig_instances_on_two_devices_and_in_both_lists_counts_once_each() {
    let instance = |id: u32, list: Value| {
        json!({"name": "A100 MIG 3g", "uuid": format!("MIG-{id}"), "memory_total": 400 * MIB, "memory_used": 50 * MIB,
            "gpu_instance": id, "compute_instance": 0, "compute": list})
    };
    let main = |mib: u64| json!({"pid": "main", "memory": mib * MIB});
    let state = json!({"devices": [
        {"name": "A100", "uuid": "GPU-m", "memory_total": 800 * MIB, "memory_used": 100 * MIB, "power_mw": 90_000,
         // What a privileged caller sees on the whole GPU is the same again.
         "compute": [{"pid": "main", "memory": 10 * MIB, "gpu_instance": 1, "compute_instance": 0}],
         "mig": [
            instance(1, json!([main(10), {"pid": "main", "memory": 20 * MIB, "gpu_instance": 2, "compute_instance": 0}])),
            instance(2, json!([main(20), {"pid": "one", "memory": 30 * MIB}])),
         ]},
        {"name": "A100", "uuid": "GPU-n", "memory_total": 800 * MIB, "memory_used": 60 * MIB, "samples": [],
         "compute": [main(40)], "graphics": [main(40), {"pid": "two", "memory": MIB}]},
    ]});
    let rig = Rig::scripted("mig", &state);
    let run = rig.run(&[], FAMILY);
    let summary = run.summary();
    let of = |uuid: &str, key: &str| {
        let gpu = summary.gpus.iter().find(|gpu| gpu.name == uuid).expect("the device");
        gpu.figures.by_key(key).and_then(jobmeter_model::Figure::as_u64).map(|bytes| bytes / MIB)
    };
    for (uuid, mains, descendants, combined) in [
        ("GPU-m", None, None, None),
        ("MIG-1", Some(10), Some(0), Some(10)),
        ("MIG-2", Some(20), Some(30), Some(50)),
        ("GPU-n", Some(40), Some(1), Some(41)),
    ] {
        assert_eq!(of(uuid, "main_gpu_memory_bytes_max"), mains, "{uuid}");
        assert_eq!(of(uuid, "descendants_gpu_memory_bytes_max"), descendants, "{uuid}");
        assert_eq!(of(uuid, "combined_gpu_memory_bytes_max"), combined, "{uuid}");
    }
    assert_eq!(value(&summary.main, "gpu_memory_bytes_max"), (70 * MIB) as f64);
    assert_eq!(value(&summary.descendants, "gpu_memory_bytes_max"), (31 * MIB) as f64);
    assert_eq!(value(&summary.combined, "gpu_memory_bytes_max"), (101 * MIB) as f64);
    // The instances are inside the GPU.
    assert_eq!(value(&summary.system, "gpu_memory_bytes_max"), (160 * MIB) as f64);
    let untold = &summary.gpus[1].figures["main_gpu_busy_ppm_max"];
    assert!(untold.value.is_none() && untold.reason.is_some(), "unknown with the reason, not 0: {untold:?}");
}

#[test]
fn a_process_that_ended_and_its_number_charge_nobody() {
    // The driver goes on to name a child that has ended, with more and more memory, and a stranger all the time.
    let frame = |memory: u64| {
        let list = json!([{"pid": "main", "memory": 5 * MIB}, {"pid": "gone", "memory": memory * MIB},
            {"pid": std::process::id(), "memory": 900 * MIB}]);
        json!({"devices": [{"uuid": "GPU-0", "memory_total": 1000 * MIB, "memory_used": 950 * MIB, "compute": list,
            "samples": [{"pid": "main", "sm": 10}, {"pid": std::process::id(), "sm": 80}]}]})
    };
    let frames: Vec<Value> = std::iter::repeat_n(frame(7), 25).chain([frame(800)]).collect();
    let rig = Rig::scripted("ended", &json!({"frames": frames, "step_on": "nvmlDeviceGetMemoryInfo_v2"}));
    let run = rig.run(&[], "echo $$ > main.pid; sleep 0.2 & echo $! > gone.pid; wait; sleep 1.2");
    let summary = run.summary();
    assert_eq!(value(&summary.main, "gpu_memory_bytes_max"), (5 * MIB) as f64);
    // 7 while it lived; what the driver says of its number after that is not the job's.
    assert_eq!(value(&summary.descendants, "gpu_memory_bytes_max"), (7 * MIB) as f64);
    assert_eq!(value(&summary.combined, "gpu_memory_bytes_max"), (12 * MIB) as f64);
    assert_eq!(value(&summary.combined, "gpu_busy_ppm_max"), 100_000.0);
    assert_eq!(value(&summary.system, "gpu_memory_bytes_max"), (950 * MIB) as f64);
}

/// `jobmeter run` as the shell's last command in a PID namespace of its own; `None`, with the reason, where none may be
/// made. The real `/proc` of the machine is at `host/proc`.
fn in_a_container(rig: &Rig, job: &str) -> Option<Command> {
    let inside = rig.command(&[], &["sh", "-c", job]);
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount", "sh", "-ec"]);
    command.arg("mount --bind /proc host/proc; mount -t proc proc /proc; exec \"$@\"").arg("sh");
    command.arg(inside.get_program()).args(inside.get_args());
    command
        .envs(inside.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env_remove("JOBMETER_GPU_PIDS")
        .current_dir(&rig.room.dir);
    std::fs::create_dir_all(rig.room.path("host/proc")).expect("a folder");
    let made = Command::new("unshare").args(["--pid", "--fork", "--mount", "true"]).status();
    if made.is_ok_and(|status| status.success()) {
        return Some(command);
    }
    not_here("no PID namespace may be made");
    None
}

fn one_gpu(pid: &Value) -> Value {
    json!({"devices": [{"uuid": "GPU-0", "memory_total": 1000 * MIB, "memory_used": 50 * MIB, "gpu_util": 30,
        "compute": [{"pid": pid, "memory": 5 * MIB}, {"pid": 1, "memory": 9 * MIB}], "samples": [{"pid": pid, "sm": 20}]}]})
}

#[test]
fn in_a_container_that_sees_host_numbers_only_the_devices_are_told() {
    let rig = Rig::scripted("container", &one_gpu(&json!(4_000_000)));
    let Some(command) = in_a_container(&rig, "sleep 0.5") else { return };
    let run = rig.room.finish(command);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let figures = &run.summary().gpus[0].figures;
    assert_eq!(value(figures, "gpu_memory_bytes_max"), (50 * MIB) as f64);
    assert_eq!(value(figures, "gpu_busy_ppm_max"), 300_000.0);
    for key in ["main_gpu_memory_bytes_max", "combined_gpu_memory_bytes_max", "main_gpu_busy_ppm_max"] {
        assert_eq!(figures[key].as_f64(), None, "{key}");
        let reason = figures[key].reason.as_deref().unwrap_or_default();
        assert!(reason.contains("reports the host's process numbers"), "{key}: {reason}");
    }
}

#[test]
fn in_a_container_that_has_the_hosts_proc_numbers_are_translated() {
    let rig = Rig::scripted("translated", &one_gpu(&json!("main")));
    // What the host calls the shell: the parent of a program that looks at itself in the host's list.
    let job = "cut -d' ' -f4 host/proc/self/stat > main.pid; sleep 0.6";
    let Some(mut command) = in_a_container(&rig, job) else { return };
    command.env("JOBMETER_GPU_ROOT", rig.room.path("host"));
    let run = rig.room.finish(command);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_ne!(
        rig.room.text("main.pid").trim(),
        run.summary().run.pid.to_string(),
        "two numbers of one process"
    );
    assert_eq!(value(&run.summary().main, "gpu_memory_bytes_max"), (5 * MIB) as f64);
    assert_eq!(value(&run.summary().main, "gpu_busy_ppm_max"), 200_000.0);
    assert_eq!(value(&run.summary().combined, "gpu_memory_bytes_max"), (5 * MIB) as f64);
}
