//! A driver that harms the process it is loaded into: that process is not the meter, and the job's status, output and
//! time are its own. It costs the GPU figures and one warning.

use super::rig::{MIB, Rig, device};
use super::witness::Witness;
use crate::help::Run;
use serde_json::{Value, json};
use std::process::Command;

const JOB: [&str; 3] = ["sh", "-c", "echo out; echo err >&2; sleep 0.3; exit 3"];

fn driver(function: &str, misdeed: &str) -> Value {
    let gpu = device("GPU-0", json!([{"pid": 1, "memory": MIB}]), json!([]));
    json!({"devices": [gpu], "misbehave": {function: misdeed}})
}

fn warnings(run: &Run, kind: &str) -> Vec<String> {
    let summary = run.summary();
    summary
        .warnings
        .iter()
        .filter(|warning| warning.kind == kind)
        .map(|warning| warning.text.clone())
        .collect()
}

#[test]
fn a_driver_that_ends_its_process_costs_its_figures_and_one_warning() {
    let quiet = Rig::scripted("room-witness", &json!({"devices": []}));
    let without = || quiet.command(&["--no-gpu"], &JOB);
    let mut witness = Witness::new(&without);
    for (misdeed, how) in
        [("abort", "died of signal 6"), ("segv", "died of signal 11"), ("exit", "ended with status 3")]
    {
        for function in ["nvmlInit_v2", "nvmlDeviceGetUtilizationRates"] {
            let rig = Rig::scripted(&format!("room-{misdeed}-{function}"), &driver(function, misdeed));
            let run = rig.room.finish(rig.command(&[], &JOB));
            let told = (run.code, run.stdout.as_slice(), run.stderr.as_str());
            assert_eq!(told, (3, &b"out\n"[..], "err\n"), "{misdeed} in {function}");
            let lost = warnings(&run, "gpu_driver_lost");
            assert_eq!(lost.len(), 1, "{misdeed} in {function}: {lost:?}");
            assert!(lost[0].contains(function), "{lost:?}");
            // Kernels before 6.15 do not tell how a process ended that was reaped elsewhere.
            assert!(lost[0].contains(how) || lost[0].contains("driver ended in"), "{how}: {lost:?}");
            assert!(!rig.reasons().contains("never used"), "{}", rig.reasons());
            let summary = run.summary();
            assert_eq!(summary.combined["processes_total"].as_u64(), Some(2), "the shell and its sleep");
            let cores: Vec<_> = std::fs::read_dir(&rig.room.dir)
                .expect("the room")
                .flatten()
                .filter(|entry| entry.file_name().to_string_lossy().starts_with("core"))
                .collect();
            assert!(cores.is_empty(), "{cores:?}");
            witness.adds_little(&format!("{misdeed} in {function}"), || rig.command(&[], &JOB));
        }
    }
}

#[test]
fn a_driver_that_bends_its_process_changes_nothing_and_its_figures_stand() {
    for misdeed in ["ignore_sigchld", "fork", "print"] {
        let mut state = driver("nvmlDeviceGetUUID", misdeed);
        state["devices"][0]["compute"] = json!([{"pid": "main", "memory": 5 * MIB}]);
        let rig = Rig::scripted(&format!("room-{misdeed}"), &state);
        let job = "echo $$ > main.pid; echo out; echo err >&2; sleep 0.3; exit 3";
        let run = rig.run(&[], job);
        let told = (run.code, run.stdout.as_slice(), run.stderr.as_str());
        assert_eq!(told, (3, &b"out\n"[..], "err\n"), "{misdeed}");
        let summary = run.summary();
        assert_eq!(
            summary.combined["processes_total"].as_u64(),
            Some(2),
            "{misdeed}: the driver's are not the job's"
        );
        assert_eq!(
            summary.gpus[0].figures["combined_gpu_memory_bytes_max"].as_u64(),
            Some(5 * MIB),
            "{misdeed}"
        );
        assert_eq!(warnings(&run, "gpu_driver_lost"), [""; 0], "{misdeed}");
    }
}

#[test]
fn without_a_process_for_the_driver_there_are_no_figures_and_that_is_said() {
    let rig = Rig::scripted("room-none", &driver("nvmlDeviceGetName", "abort"));
    let inner = rig.command(&[], &JOB);
    let mut command = Command::new("strace");
    let trace = rig.room.file("trace");
    command.args(["-o", &trace, "-e", "trace=socketpair", "-e", "inject=socketpair:error=ENFILE"]);
    command.arg(inner.get_program()).args(inner.get_args());
    for (key, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    command.current_dir(&rig.room.dir);
    let run = rig.room.finish(command);
    assert_eq!((run.code, run.stdout.as_slice(), run.stderr.as_str()), (3, &b"out\n"[..], "err\n"));
    let said = warnings(&run, "gpu");
    assert!(said.len() == 1 && said[0].contains("no GPU figures are taken"), "{said:?}");
    assert!(!rig.reasons().contains("never used"), "{}", rig.reasons());
}

#[test]
fn an_orphan_of_a_driver_that_died_is_not_the_jobs() {
    let mut state = driver("nvmlDeviceGetUUID", "fork");
    state["misbehave"]["nvmlDeviceGetName"] = json!("abort");
    let rig = Rig::scripted("room-orphan", &state);
    let run = rig.run(&[], "sleep 0.5; exit 3");
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(run.summary().combined["processes_total"].as_u64(), Some(2));
    assert_eq!(warnings(&run, "gpu_driver_lost").len(), 1);
}

#[test]
fn a_driver_that_aborts_while_gpus_are_chosen_is_our_failure_and_says_so() {
    let rig = Rig::scripted("room-choice", &driver("nvmlDeviceGetCount_v2", "abort"));
    let run = rig.run(&["--gpu-uuids", "GPU-0"], "echo never");
    assert_eq!(run.code, 125, "{}", run.stderr);
    assert!(
        run.stderr.contains("--gpu-uuids: the process of the GPU driver died of signal 6"),
        "{}",
        run.stderr
    );
    assert!(run.stdout.is_empty());
}

#[test]
fn the_process_of_the_driver_ends_with_a_meter_that_is_killed() {
    let mut state = driver("nvmlInit_v2", "print");
    state["hang"] = json!(["nvmlDeviceGetUtilizationRates"]);
    let rig = Rig::scripted("room-end", &state);
    // Waits for the process of the driver among the meter's children, then kills the meter.
    let script = r#"while ! [ -s helper.pid ]; do
            for stat in /proc/[0-9]*/stat; do
                read -r pid name state parent rest 2>/dev/null <"$stat" || continue
                if [ "$parent" = $PPID ] && [ "$name" = "(jobmeter-gpu)" ]; then echo "$pid" >helper.pid; fi
            done
            sleep 0.02
        done 2>/dev/null
        kill -9 $PPID"#;
    drop(rig.run(&[], script));
    let pid = std::fs::read_to_string(rig.room.path("helper.pid")).expect("a number").trim().to_owned();
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").map(|(_, rest)| rest[..1].to_owned())
    };
    let begin = std::time::Instant::now();
    while state().is_some_and(|state| state != "Z") {
        assert!(begin.elapsed().as_secs() < 10, "{pid} lives on");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn attach_outlives_its_driver_too() {
    let rig = Rig::scripted("room-attach", &driver("nvmlDeviceGetUtilizationRates", "segv"));
    let mut job = Command::new("sleep").arg("60").spawn().expect("a job");
    let (pid, summary) = (job.id().to_string(), rig.room.file("summary.json"));
    let words =
        ["attach", "-i", "20ms", "--duration", "1s", "-f", "json", "--no-record", "-o", &summary, &pid];
    let mut command = rig.room.jobmeter(&words);
    rig.point(&mut command);
    let run = rig.room.finish(command);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(job.try_wait().expect("our job").is_none(), "the job goes on");
    job.kill().expect("our job");
    job.wait().expect("our job");
    let told = rig.room.summary_file().expect("a summary");
    let lost = told.warnings.iter().filter(|warning| warning.kind == "gpu_driver_lost").count();
    assert_eq!(lost, 1, "{:?}", told.warnings);
}
