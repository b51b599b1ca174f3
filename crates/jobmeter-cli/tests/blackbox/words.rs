//! The answers of the commands that read runs: one word for one state, the result in one line, no line wider than the
//! terminal.

use crate::help::Room;
use serde_json::Value;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn answer(room: &Room, arguments: &[&str], columns: Option<usize>) -> String {
    let mut command = room.jobmeter(arguments);
    command.env_remove("COLUMNS");
    if let Some(columns) = columns {
        command.env("COLUMNS", columns.to_string());
    }
    let run = room.finish(command);
    assert!(matches!(run.code, 0 | 122 | 123), "{arguments:?}: {}", run.stderr);
    String::from_utf8(run.stdout).expect("UTF-8")
}

#[test]
fn a_running_job_is_running_in_every_command() {
    let room = Room::new("running");
    let mut command = room.jobmeter(&["run", "-q", "--name", "long", "-i", "10ms", "--", "cat"]);
    // It ends when its standard input does.
    let mut job = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("jobmeter");
    let deadline = Instant::now() + Duration::from_secs(60);
    let is_there = || answer(&room, &["ls", "--json"], None).contains("\"state\": \"running\"");
    while !is_there() {
        assert!(Instant::now() < deadline, "no running run in the store");
        std::thread::sleep(Duration::from_millis(20));
    }
    let listed = answer(&room, &["ls"], None);
    let shown = answer(&room, &["show", "last"], None);
    let json: Value = serde_json::from_str(&answer(&room, &["show", "last", "--json"], None)).expect("JSON");
    let checked = answer(&room, &["check", "last", "--max-time", "10m"], None);
    drop(job.stdin.take());
    assert!(job.wait().expect("wait").success());
    assert!(listed.contains("running"), "{listed}");
    assert!(shown.contains("long is still running") && !shown.contains("without"), "{shown}");
    assert_eq!(json["verdict"]["kind"], "running");
    assert!(checked.contains("note: the run is still running"), "{checked}");
    let ended = answer(&room, &["show", "last"], None);
    assert!(ended.contains("long finished"), "{ended}");
}

#[test]
fn check_repeats_budgets_as_written_and_closes_with_one_line() {
    let room = Room::new("closing");
    room.run(&["--name", "n"], &["true"]);
    let text = answer(&room, &["check", "last", "--max-ram", "8GiB", "--max-time", "1.5h"], None);
    assert!(text.contains("budget 8GiB") && text.contains("budget 1.5h"), "{text}");
    assert!(text.ends_with("\nAll 2 budgets hold.\n"), "{text}");
    let text = answer(&room, &["check", "last", "last", "--max-ram", "8GiB", "--max-time", "1us"], None);
    assert!(text.ends_with("\nOf 4 budgets in 2 runs: 2 exceeded, 2 held.\n"), "{text}");
}

#[test]
fn answers_lead_with_the_result_and_fit_the_terminal() {
    let room = Room::new("widths");
    let words =
        "a command of many words that goes on for longer than any terminal is wide, and a bit further";
    for name in ["base", "new"] {
        room.run(&["--name", name], &["sh", "-c", "true", words]);
    }
    let compared = answer(&room, &["compare", "base:*", "new:*"], None);
    assert!(compared.starts_with("Too few runs to tell a difference from noise.\n"), "{compared}");
    assert!(!compared.contains('\u{1b}'), "{compared}");
    let commands: [&[&str]; 5] = [
        &["compare", "base:*", "new:*"],
        &["advise", "last"],
        &["ls"],
        &["check", "last", "--max-ram", "8GiB"],
        &["servers", "--gpu", "1"],
    ];
    for columns in [60, 80, 120] {
        for command in commands {
            let text = answer(&room, command, Some(columns));
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(longest <= columns, "{command:?} at {columns}: {longest}\n{text}");
        }
    }
}
