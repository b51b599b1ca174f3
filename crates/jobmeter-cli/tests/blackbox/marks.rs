//! Marks reach the meter above the process that sends them, and nobody else: whatever shares the directory of the
//! pipes, was left there, or lies where a pipe should be.

use crate::help::{JOBMETER, Room, Run, pid_namespace, wait_until};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A room with a directory for pipes of its own.
fn room_with_pipes(name: &str) -> Room {
    let room = Room::new(name);
    fs::create_dir_all(room.path("runtime")).expect("a runtime directory");
    room
}

fn pipes_dir(room: &Room) -> PathBuf {
    // SAFETY: geteuid cannot fail.
    room.path("runtime").join(format!("jobmeter-{}", unsafe { libc::geteuid() }))
}

/// The names of what lies in the directory of the pipes.
fn pipes(room: &Room) -> Vec<String> {
    let entries = fs::read_dir(pipes_dir(room)).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn with_pipes(room: &Room, mut command: Command) -> Command {
    command.env("XDG_RUNTIME_DIR", room.path("runtime")).env_remove("JOBMETER_MARKS");
    command.env("JOBMETER", JOBMETER).env("JOBMETER_STORE", room.path("store")).stdin(Stdio::null());
    command
}

/// A command as PID 1 of a PID namespace of its own, where that can be had.
fn in_pid_namespace(room: &Room, words: &[&str]) -> Option<Command> {
    let mut command = pid_namespace()?;
    command.args(words);
    Some(with_pipes(room, command))
}

/// The names of the marks in a run file.
fn marks_in(room: &Room, record: &str) -> Vec<String> {
    let shown = room.finish(room.jobmeter(&["show", &room.file(record), "--timeline", "--json"]));
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap_or_else(|_| panic!("{}", shown.stderr));
    let marks = shown["timeline"]["marks"].as_array().unwrap_or_else(|| panic!("no marks"));
    marks.iter().map(|mark| mark["name"].as_str().expect("a name").to_owned()).collect()
}

/// Runs a script under `jobmeter run` with this room's directory for pipes.
fn run_script(room: &Room, script: &str) -> Run {
    let summary = room.file("summary.json");
    let record = room.file("run.jobmeter");
    let arguments =
        ["run", "-f", "json", "--force", "-o", &summary, "--record", &record, "--", "sh", "-c", script];
    room.finish(with_pipes(room, room.jobmeter(&arguments)))
}

#[test]
fn meters_of_two_pid_namespaces_share_a_directory() {
    let room = room_with_pipes("marks-namespaces");
    // Both meters are process 2 of their namespace, and both live when the marks are sent.
    let script = |own: &str, other: &str| {
        format!(
            "cd {} && \"$JOBMETER\" run -q --record {own}.jobmeter -- sh -c '
                touch {own}.ready; while [ ! -e {other}.ready ]; do sleep 0.01; done
                \"$JOBMETER\" mark from-{own}; touch {own}.sent
                while [ ! -e {other}.sent ]; do sleep 0.01; done'; exit $?",
            room.dir.display()
        )
    };
    let (first, second) = (script("first", "second"), script("second", "first"));
    let mut children = Vec::new();
    for script in [first, second] {
        let Some(mut command) = in_pid_namespace(&room, &["sh", "-c", &script]) else { return };
        children.push(command.spawn().expect("unshare"));
    }
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(marks_in(&room, "first.jobmeter"), ["from-first"]);
    assert_eq!(marks_in(&room, "second.jobmeter"), ["from-second"]);
}

#[test]
fn a_meter_that_is_pid_1_takes_marks() {
    let room = room_with_pipes("marks-pid-1");
    let record = room.file("run.jobmeter");
    let words =
        [JOBMETER, "run", "-q", "--record", &record, "--", "sh", "-c", "\"$JOBMETER\" mark hello && exit 7"];
    let Some(mut command) = in_pid_namespace(&room, &words) else { return };
    let status = command.status().expect("unshare");
    assert_eq!(status.code(), Some(7), "the mark was taken");
    assert_eq!(marks_in(&room, "run.jobmeter"), ["hello"]);
}

/// A namespace without a `/proc` of its own: numbers of processes there and here differ.
#[test]
fn a_job_in_a_pid_namespace_below_the_meter_finds_it_through_the_outer_proc() {
    let can = Command::new("unshare").args(["--pid", "--fork", "true"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: only root may make a PID namespace without a user namespace");
        return;
    }
    let room = room_with_pipes("marks-below");
    let run = run_script(&room, "unshare --pid --fork \"$JOBMETER\" mark below");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(marks_in(&room, "run.jobmeter"), ["below"]);
}

#[test]
fn nothing_but_a_pipe_of_ours_is_written_to() {
    let room = room_with_pipes("marks-plain");
    let (plain, link) = (room.path("plain"), room.path("link"));
    fs::write(&plain, "precious\n").expect("a file");
    std::os::unix::fs::symlink(&plain, &link).expect("a link");
    for target in [&plain, &link, &room.path("runtime"), &PathBuf::from("/dev/null"), &room.path("none")] {
        let mut command = with_pipes(&room, room.jobmeter(&["mark", "x"]));
        let run = room.finish({
            command.env("JOBMETER_MARKS", target);
            command
        });
        assert_eq!(run.code, 125, "{}: {}", target.display(), run.stderr);
        assert!(run.stderr.contains("JOBMETER_MARKS"), "{}", run.stderr);
        assert!(run.stderr.contains(target.to_str().expect("UTF-8")), "{}", run.stderr);
    }
    assert_eq!(fs::read_to_string(&plain).expect("it is there"), "precious\n");
}

#[test]
fn pipes_of_killed_meters_are_swept_and_those_of_living_ones_stay() {
    let room = room_with_pipes("marks-stale");
    let running = || {
        let seen = pipes(&room);
        // The job ends with its standard input, which is this test's, also when its meter was killed.
        let mut command = with_pipes(&room, room.jobmeter(&["run", "-q", "--no-record", "--", "cat"]));
        let child = command.stdin(Stdio::piped()).spawn().expect("jobmeter");
        wait_until("its pipe", || {
            pipes(&room).len() > seen.len() && !pipes(&room).iter().any(|n| n.ends_with("new"))
        });
        let new = pipes(&room).into_iter().find(|name| !seen.contains(name)).expect("its pipe");
        (child, new)
    };
    let (mut living, living_pipe) = running();
    let (mut killed, killed_pipe) = running();
    killed.kill().expect("our own child");
    // The job of a killed meter goes on: it ends with the pipe that `wait` closes.
    killed.wait().expect("it ends");
    let foreign = pipes_dir(&room).join("not-ours.marks");
    fs::write(&foreign, "a plain file\n").expect("a file");
    assert!(pipes(&room).contains(&killed_pipe), "a killed meter cannot remove its pipe");
    let stale = pipes_dir(&room).join(&killed_pipe);
    // A meter sweeps when its job has lasted a while: the job ends when that was done.
    let script = format!("\"$JOBMETER\" mark alive; while [ -e '{}' ]; do sleep 0.01; done", stale.display());
    let run = run_script(&room, &script);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let left = pipes(&room);
    assert!(!left.contains(&killed_pipe), "{left:?}");
    assert!(left.contains(&living_pipe), "{left:?}");
    assert!(fs::symlink_metadata(pipes_dir(&room).join(&living_pipe)).expect("there").file_type().is_fifo());
    assert!(foreign.exists(), "only pipes are removed");
    assert!(living.wait().expect("it ends").success());
}

#[test]
fn a_directory_that_somebody_else_holds_is_not_used_and_that_is_said() {
    let room = room_with_pipes("marks-squatted");
    let squatted = pipes_dir(&room);
    fs::create_dir(&squatted).expect("a directory");
    // As root it is really another user's; otherwise a file in its place stands for that.
    if std::os::unix::fs::chown(&squatted, Some(65_534), None).is_err() {
        eprintln!("not root: a plain file stands for another user's directory");
        fs::remove_dir(&squatted).expect("ours");
        fs::write(&squatted, "").expect("a file");
    }
    let before = fs::symlink_metadata(&squatted).expect("there").mode();
    let run = run_script(&room, "\"$JOBMETER\" mark elsewhere");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(marks_in(&room, "run.jobmeter"), ["elsewhere"]);
    let warnings = &run.summary().warnings;
    let said = warnings.iter().find(|warning| warning.kind == "marks");
    let said = said.unwrap_or_else(|| panic!("no word about it: {warnings:?}"));
    assert!(said.text.contains(squatted.to_str().expect("UTF-8")), "{}", said.text);
    assert_eq!(fs::symlink_metadata(&squatted).expect("there").mode(), before, "it is left alone");
}

#[test]
fn a_directory_of_ours_that_others_may_read_is_closed_to_them() {
    let room = room_with_pipes("marks-open");
    fs::create_dir(pipes_dir(&room)).expect("a directory");
    fs::set_permissions(pipes_dir(&room), fs::Permissions::from_mode(0o777)).expect("ours");
    let run = run_script(&room, "\"$JOBMETER\" mark here");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(marks_in(&room, "run.jobmeter"), ["here"]);
    assert_eq!(fs::metadata(pipes_dir(&room)).expect("there").mode() & 0o777, 0o700);
}
