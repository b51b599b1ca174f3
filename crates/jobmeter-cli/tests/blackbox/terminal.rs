//! With a real terminal: Ctrl-C, Ctrl-\, Ctrl-Z, a changed window, and typing.

use crate::help::pty::Terminal;
use crate::help::{JOBMETER, Room, code_of, send, testkit, wait_until};
use std::process::{Child, Command};

fn lines(room: &Room, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(room.path(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn count(room: &Room, signal: i32) -> usize {
    lines(room, "signals").iter().filter(|line| line.starts_with(&format!("signal {signal} "))).count()
}

fn start(room: &Room, terminal: &mut Terminal, mut command: Command) -> Child {
    let child = terminal.start(std::mem::replace(
        command.env("JOBMETER_STORE", room.path("store")).env("TERM", "xterm"),
        Command::new("true"),
    ));
    wait_until("the reporter is ready", || !lines(room, "signals").is_empty());
    child
}

#[test]
fn keys_and_window_changes_arrive_exactly_once() {
    let room = Room::new("keys");
    let mut terminal = Terminal::open();
    let mut command = Command::new(JOBMETER);
    command.args(["run", "-q", "--"]).arg(testkit()).args(["signals", &room.file("signals")]);
    let mut child = start(&room, &mut terminal, command);
    terminal.press(b"\x03");
    wait_until("Ctrl-C arrives", || count(&room, libc::SIGINT) > 0);
    terminal.press(b"\x1c");
    wait_until("Ctrl-\\ arrives", || count(&room, libc::SIGQUIT) > 0);
    terminal.resize(50, 132);
    wait_until("the new size arrives", || count(&room, libc::SIGWINCH) > 0);
    // What jobmeter would forward a second time, it has forwarded before TERM: it handles them in order.
    send(child.id(), libc::SIGTERM);
    assert_eq!(code_of(&mut child), 42);
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGWINCH, libc::SIGTERM] {
        assert_eq!(count(&room, signal), 1, "signal {signal}: {:?}", lines(&room, "signals"));
    }
}

#[test]
fn ctrl_c_ends_an_ordinary_job_and_the_summary_follows() {
    let room = Room::new("ctrl-c");
    let mut terminal = Terminal::open();
    let mut command = Command::new(JOBMETER);
    let script = format!("echo > '{}'; exec sleep 60", room.file("signals"));
    command.args(["run", "-f", "json", "-o", &room.file("summary.json"), "--", "sh", "-c", &script]);
    let mut child = start(&room, &mut terminal, command);
    terminal.press(b"\x03");
    assert_eq!(code_of(&mut child), 130);
    assert_eq!(room.summary_file().expect("a summary").verdict.signal, Some(libc::SIGINT));
}

/// A shell with job control starts jobmeter in the foreground, sees it stop on Ctrl-Z, and continues it.
#[test]
fn ctrl_z_stops_both_and_the_shell_continues_them() {
    let room = Room::new("ctrl-z");
    let mut terminal = Terminal::open();
    let mut command = Command::new(testkit());
    command.args(["job-control", &room.file("shell"), JOBMETER, "run", "-q", "--"]).arg(testkit());
    command.args(["signals", &room.file("signals"), "stop"]);
    let mut child = start(&room, &mut terminal, command);
    for round in 1..=2 {
        terminal.press(b"\x1a");
        wait_until("the shell sees the stop", || lines(&room, "shell").len() == round);
        wait_until("the job is continued", || count(&room, libc::SIGCONT) >= round);
    }
    terminal.press(b"\x03");
    wait_until("the job still hears Ctrl-C", || count(&room, libc::SIGINT) > 0);
    let job = lines(&room, "signals")[0].strip_prefix("ready ").and_then(|pid| pid.parse().ok());
    send(job.expect("a pid"), libc::SIGTERM);
    assert_eq!(code_of(&mut child), 0);
    assert_eq!(lines(&room, "shell"), ["stopped 20", "stopped 20", "exited 42"]);
    assert_eq!(count(&room, libc::SIGCONT), 2, "{:?}", lines(&room, "signals"));
    assert_eq!(count(&room, libc::SIGINT), 1, "{:?}", lines(&room, "signals"));
}

/// The job may read the terminal (it is in the foreground group) and the end of input ends it.
#[test]
fn typing_reaches_the_job() {
    let room = Room::new("typing");
    let mut terminal = Terminal::open();
    let mut command = room.jobmeter(&["run", "-q", "--"]);
    command.arg(testkit()).arg("copy").env("TERM", "xterm");
    let mut child = terminal.start(command);
    terminal.press(b"hello\n");
    // Once echoed by the terminal, once by the job.
    wait_until("the line comes back", || terminal.seen().matches("hello").count() == 2);
    terminal.press(b"\x04");
    assert_eq!(code_of(&mut child), 0);
}
