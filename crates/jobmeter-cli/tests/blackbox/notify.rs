//! `--notify`: the command gets the summary, and neither its failure nor its slowness is the job's.

use crate::help::Room;
use serde_json::Value;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn the_command_reads_the_summary_and_its_failure_is_one_sentence() {
    let room = Room::new("notify");
    // It prints, and standard output is the job's.
    let notify = format!("cat > {}; echo told; exit 3", room.file("told.json"));
    let command = room.jobmeter(&[
        "run",
        "-q",
        "--name",
        "n",
        "--notify",
        &notify,
        "--",
        "sh",
        "-c",
        "echo job; exit 4",
    ]);
    let run = room.finish(command);
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert_eq!(run.stdout, b"job\n");
    let said: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(said[0], "told");
    assert!(said[1].starts_with("jobmeter: the --notify command 'cat > "), "{}", run.stderr);
    assert!(said[1].ends_with("exited with 3") && said.len() == 2, "{}", run.stderr);
    let told: Value = serde_json::from_str(&room.text("told.json")).expect("JSON");
    assert_eq!(told["run"]["name"], "n");
    assert_eq!(told["verdict"]["exit_code"], 4);
}

#[test]
fn attach_notifies_too_and_a_missing_command_is_said() {
    let room = Room::new("notify-attach");
    let mut child =
        std::process::Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().expect("sleep");
    let pid = child.id().to_string();
    let run = room.finish(room.jobmeter(&[
        "attach",
        "-q",
        "--duration",
        "50ms",
        "--notify",
        "no-such-command-here 2>/dev/null",
        &pid,
    ]));
    child.kill().and_then(|()| child.wait()).expect("the end of sleep");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.ends_with("exited with 127: there is no such command\n"), "{}", run.stderr);
    let empty = room.finish(room.jobmeter(&["run", "--notify", " ", "--", "touch", &room.file("ran")]));
    assert_eq!(empty.code, 125, "{}", empty.stderr);
    assert!(!room.path("ran").exists());
}

/// It reads nothing and does not end: jobmeter waits 10 s and kills it. The bound is generous for a loaded machine; that
/// the end of its standard error is seen at all says that the command is gone.
#[test]
fn a_command_that_does_not_end_holds_nothing_up_for_long() {
    let room = Room::new("notify-slow");
    let began = Instant::now();
    let run = room.finish(room.jobmeter(&["run", "-q", "--notify", "exec sleep 600", "--", "true"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let took = began.elapsed();
    assert!((Duration::from_secs(10)..Duration::from_secs(40)).contains(&took), "{took:?}");
    assert!(run.stderr.ends_with("has not ended within 10 s and was killed\n"), "{}", run.stderr);
}
