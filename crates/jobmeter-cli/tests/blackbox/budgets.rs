//! Budgets on `jobmeter run`: a line each, an exit code where asked for, and the job's own failure before all.

use crate::help::{Room, Run};

fn run(room: &Room, options: &[&str], script: &str) -> Run {
    let mut arguments = vec!["run"];
    arguments.extend(options);
    // Long enough to be seen alive: the memory of a job of a millisecond may stay unknown.
    let script = format!("sleep 0.05; {script}");
    arguments.extend(["--", "sh", "-c", &script]);
    room.finish(room.jobmeter(&arguments))
}

const WIDE: [&str; 6] = ["--max-ram", "64GiB", "--max-time", "1h", "--max-cpu-time", "1h"];

#[test]
fn exit_codes_follow_the_budgets_only_after_a_job_that_ended_well() {
    let room = Room::new("budgets");
    // A nanosecond of wall time and a byte of RAM are always exceeded.
    let cases: &[(&[&str], &str, i32)] = &[
        (&["--max-time", "1h", "--fail-on-budget"], "exit 0", 0),
        (&["--max-time", "1ns", "--fail-on-budget"], "exit 0", 123),
        (&["--max-ram", "1B", "--fail-on-budget"], "exit 0", 123),
        (&["--max-time", "1h", "--max-ram", "1B", "--fail-on-budget"], "exit 0", 123),
        (&["--max-time", "1ns"], "exit 0", 0),
        (&["--max-time", "1ns", "--fail-on-budget"], "exit 7", 7),
        (&["--max-time", "1ns", "--fail-on-budget"], "kill -9 $$", 137),
        (&["--max-time", "1ns", "--fail-on-budget", "--timeout", "200ms"], "sleep 60", 124),
        // Nobody can tell of a GPU that is left alone: never a pass.
        (&["--max-gpu-ram", "1GiB", "--no-gpu", "--fail-on-budget"], "exit 0", 122),
        (&["--max-gpu-ram", "1GiB", "--no-gpu", "--max-time", "1ns", "--fail-on-budget"], "exit 0", 123),
    ];
    for (options, script, code) in cases {
        let run = run(&room, options, script);
        assert_eq!(run.code, *code, "{options:?} {script}: {}", run.stderr);
    }
}

#[test]
fn every_budget_has_its_line_on_standard_error_and_none_on_standard_output() {
    let room = Room::new("budgets-lines");
    let run = run(&room, &[&WIDE[..], &["--max-processes", "0"]].concat(), "echo out");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.stdout, b"out\n");
    let count = |word: &str| run.stderr.lines().filter(|line| line.starts_with(word)).count();
    assert_eq!((count("holds"), count("EXCEEDED")), (3, 1), "{}", run.stderr);
    assert!(run.stderr.contains("budget 1h\n"), "{}", run.stderr);
}

#[test]
fn quiet_speaks_only_of_budgets_that_do_not_hold() {
    let room = Room::new("budgets-quiet");
    let silent = run(&room, &[&WIDE[..], &["-q", "--fail-on-budget"]].concat(), "exit 0");
    assert_eq!((silent.code, silent.stderr.as_str()), (0, ""));
    let over = run(
        &room,
        &[&WIDE[..], &["-q", "--fail-on-budget", "--max-read", "1GB", "--max-processes", "0"]].concat(),
        "exit 0",
    );
    assert_eq!((over.code, over.stderr.lines().count()), (123, 1), "{}", over.stderr);
}

#[test]
fn bad_budgets_are_found_out_before_the_job_starts() {
    let room = Room::new("budgets-bad");
    let touched = room.file("touched");
    for options in
        [&["--fail-on-budget"][..], &["--max-ram", "eight", "--fail-on-budget"], &["--max-time", "-1s"]]
    {
        let run = run(&room, options, &format!("touch '{touched}'"));
        assert_eq!(run.code, 125, "{options:?}: {}", run.stderr);
        assert!(!room.path("touched").exists(), "{options:?}: the job ran");
    }
}
