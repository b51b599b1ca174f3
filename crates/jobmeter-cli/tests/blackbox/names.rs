//! Hostile process names never break parsing or the terminal.

use crate::help::{Room, testkit, value};

/// Names in the testkit, and the process that makes them.
const PROCESSES: f64 = 17.0;

/// What may reach a terminal: printable text, line ends, and our own colours (`ESC [ digits m`).
fn assert_harmless(text: &str) {
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\n' => {}
            '\u{1b}' => {
                let sequence: String = rest.by_ref().take_while(|letter| *letter != 'm').collect();
                let inner =
                    sequence.strip_prefix('[').unwrap_or_else(|| panic!("escape {sequence:?} in {text:?}"));
                assert!(inner.chars().all(|letter| letter.is_ascii_digit() || letter == ';'), "{sequence:?}");
            }
            _ => assert!(!letter.is_control(), "{letter:?} in {text:?}"),
        }
    }
}

#[test]
fn hostile_names_break_nothing() {
    let room = Room::new("names");
    let run = room.run_testkit(&["-i", "20ms"], &["names", "20", "500"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let combined = &run.summary().combined;
    assert_eq!(value(combined, "processes_max"), PROCESSES);
    assert_eq!(value(combined, "processes_total"), PROCESSES);
    // 16 children burned 20 ms each; a name taken for fields would give nonsense here.
    let cpu_ns = value(combined, "cpu_ns");
    assert!((320e6..640e6).contains(&cpu_ns), "{cpu_ns}");

    let record = room.store_files().pop().expect("a record");
    let record = record.to_str().expect("a UTF-8 path");
    let shown = room.finish(room.jobmeter(&["show", record, "--color", "always"]));
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert_harmless(&String::from_utf8_lossy(&shown.stdout));
}

#[test]
fn hostile_arguments_do_not_reach_the_terminal() {
    let room = Room::new("arguments");
    let testkit = testkit();
    for options in [&["-v", "--color", "always"][..], &["-v", "--color", "never"]] {
        let mut command = room.jobmeter(&["run"]);
        command.args(options).args(["--name", "\u{1b}]0;x\u{7}\nn", "--tag", "k=\u{1b}[2J", "--"]);
        command.arg(&testkit).args(["names", "5", "50", "\u{1b}[31m\n\r\u{9b}2J"]);
        let run = room.finish(command);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_harmless(&run.stderr);
    }
}
