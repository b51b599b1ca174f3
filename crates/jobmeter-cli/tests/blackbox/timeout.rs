//! The time limit ends the whole tree, politely first; what remains after the main process is the user's choice.

use crate::help::{Room, is_running, send, testkit, wait_until};
use std::time::{Duration, Instant};

#[test]
fn a_tree_that_ignores_term_is_killed() {
    let room = Room::new("stubborn");
    let start = Instant::now();
    let run =
        room.run_testkit(&["--timeout", "300ms", "--grace", "300ms"], &["stubborn", &room.file("pids")]);
    assert_eq!(run.code, 124, "{}", run.stderr);
    let elapsed = start.elapsed();
    assert!(elapsed >= Duration::from_millis(600), "no grace was given: {elapsed:?}");
    for who in ["parent", "child"] {
        let pid = room.truth_number("pids", who) as u32;
        assert!(!is_running(pid), "the {who} is still running");
    }
    assert_eq!(run.summary().verdict.kind, "timeout");
}

#[test]
fn a_job_that_ends_on_term_is_still_a_timeout() {
    let room = Room::new("polite");
    let start = Instant::now();
    let script = "trap 'exit 0' TERM; while :; do sleep 0.02; done";
    let run = room.run(&["--timeout", "200ms", "--grace", "50s"], &["sh", "-c", script]);
    assert_eq!(run.code, 124, "{}", run.stderr);
    assert!(start.elapsed() < Duration::from_secs(40), "the grace was waited for without need");
    assert_eq!(run.summary().verdict.kind, "timeout");
}

#[test]
fn a_job_that_is_quick_enough_keeps_its_status() {
    let room = Room::new("quick");
    let run = room.run(&["--timeout", "1h"], &["sh", "-c", "exit 11"]);
    assert_eq!(run.code, 11);
    assert_eq!(run.summary().verdict.kind, "exited");
}

#[test]
fn a_stopped_job_is_ended_too() {
    let room = Room::new("timeout-stopped");
    let run = room.run(&["--timeout", "300ms", "--grace", "200ms"], &["sh", "-c", "kill -STOP $$; exit 1"]);
    assert_eq!(run.code, 124, "{}", run.stderr);
}

#[test]
fn what_outlives_the_main_process_is_left_alone_and_named() {
    let room = Room::new("left");
    let testkit = testkit();
    let testkit = testkit.to_str().expect("a UTF-8 path");
    // Into a file: what is left behind keeps a pipe open, and reading it to its end would wait for that.
    let stderr = std::fs::File::create(room.path("stderr")).expect("create");
    let mut command = room.jobmeter(&["run", "--", testkit, "leave-behind", "2000", &room.file("left")]);
    let status = command.stderr(stderr).status().expect("start jobmeter");
    assert_eq!(status.code(), Some(0));
    assert!(!room.path("left").exists(), "it waited for what was left behind");
    let left = room.truth_number("left.pid", "child") as u32;
    assert!(is_running(left));
    let said = room.text("stderr");
    assert!(said.contains(&left.to_string()) && said.contains("--wait-descendants"), "not said: {said}");
    wait_until("what was left behind finishes its work untouched", || room.path("left").exists());
}

#[test]
fn waiting_for_descendants_is_possible() {
    let room = Room::new("waited");
    let run = room.run_testkit(&["--wait-descendants"], &["leave-behind", "500", &room.file("left")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(room.path("left").exists(), "it did not wait");
    assert!(run.summary().run.wall_ns >= Some(500_000_000));
}

/// Waiting for a daemon can be cut short: the signal goes to what still runs.
#[test]
fn waiting_ends_with_a_signal() {
    let room = Room::new("cut-short");
    let testkit = testkit();
    let testkit = testkit.to_str().expect("a UTF-8 path");
    let file = room.file("left");
    let mut child = room
        .jobmeter(&["run", "-q", "--wait-descendants", "--", testkit, "leave-behind", "60000", &file])
        .spawn()
        .expect("start jobmeter");
    wait_until("the main process has said what it leaves behind", || room.path("left.pid").exists());
    let left = room.truth_number("left.pid", "child") as u32;
    wait_until("the main process is gone and its child has come to jobmeter, the subreaper", || {
        let path = format!("/proc/{0}/task/{0}/children", child.id());
        let children = std::fs::read_to_string(path).unwrap_or_default();
        children.split_whitespace().any(|pid| pid == left.to_string())
    });
    send(child.id(), libc::SIGTERM);
    child.wait().expect("wait for jobmeter");
    wait_until("the descendant has ended", || !is_running(left));
}
