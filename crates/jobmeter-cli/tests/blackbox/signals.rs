//! Signals sent to jobmeter reach the job exactly once; stops and continuations pass through.

use crate::help::{Room, code_of, is_running, send, state, testkit, wait_until};
use std::os::unix::process::CommandExt;
use std::process::Child;

const ALL_BUT_TERM: [i32; 7] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGWINCH, libc::SIGCONT];

/// Starts the signal reporter under jobmeter, in a process group of their own, and waits until it listens; returns jobmeter and the job's pid.
fn start_reporter(room: &Room, more: &[&str]) -> (Child, u32) {
    let (file, summary) = (room.file("signals"), room.file("summary.json"));
    let testkit = testkit();
    let testkit = testkit.to_str().expect("a UTF-8 path");
    let child = room
        .jobmeter(&["run", "-f", "json", "-o", &summary, "--", testkit, "signals", &file])
        .args(more)
        .process_group(0)
        .spawn()
        .expect("start jobmeter");
    wait_until("the reporter is ready", || reports(room).contains('\n'));
    let first = reports(room);
    let pid = first.lines().next().and_then(|line| line.strip_prefix("ready ")).expect("ready PID");
    (child, pid.parse().expect("a pid"))
}

fn reports(room: &Room) -> String {
    std::fs::read_to_string(room.path("signals")).unwrap_or_default()
}

fn count(room: &Room, signal: i32) -> usize {
    reports(room).lines().filter(|line| line.starts_with(&format!("signal {signal} "))).count()
}

/// TERM is sent last and handled last by jobmeter, so whatever would be forwarded twice has been by then.
#[test]
fn each_signal_arrives_exactly_once() {
    let room = Room::new("signals");
    let (mut child, _) = start_reporter(&room, &[]);
    for signal in ALL_BUT_TERM {
        send(child.id(), signal);
        wait_until(&format!("signal {signal} arrives"), || count(&room, signal) > 0);
    }
    send(child.id(), libc::SIGTERM);
    assert_eq!(code_of(&mut child), 42);
    for signal in ALL_BUT_TERM.into_iter().chain([libc::SIGTERM]) {
        assert_eq!(count(&room, signal), 1, "signal {signal}: {}", reports(&room));
    }
    assert_eq!(room.summary_file().expect("a summary").verdict.exit_code, Some(42));
}

/// Whether `signal` waits to be taken by process `pid`.
fn is_pending(pid: u32, signal: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let mask = status.lines().find_map(|line| line.strip_prefix("ShdPnd:\t")).expect("a mask");
    u64::from_str_radix(mask, 16).expect("hexadecimal") >> (signal - 1) & 1 == 1
}

/// A shell's `fg`, `kill -- -PGID` and schedulers address the whole group: the job has the signal already, and
/// passing it on would make two. Each is sent alone afterwards: then it is passed on.
#[test]
fn a_signal_to_the_whole_group_arrives_once() {
    let room = Room::new("group-signals");
    let (mut child, _) = start_reporter(&room, &[]);
    for (round, signal) in ALL_BUT_TERM.into_iter().flat_map(|signal| [(1, signal), (2, signal)]) {
        let target = if round == 1 { -(child.id() as i32) } else { child.id() as i32 };
        // SAFETY: the group that this test made for jobmeter and its job, or jobmeter itself.
        assert_eq!(unsafe { libc::kill(target, signal) }, 0);
        wait_until(&format!("signal {signal} arrives"), || count(&room, signal) >= round);
        // Two of a kind that wait together are one to the kernel: the next is sent when this one was taken.
        wait_until(&format!("jobmeter takes signal {signal}"), || !is_pending(child.id(), signal));
    }
    send(child.id(), libc::SIGTERM);
    assert_eq!(code_of(&mut child), 42);
    for signal in ALL_BUT_TERM {
        assert_eq!(count(&room, signal), 2, "signal {signal}: {}", reports(&room));
    }
}

#[test]
fn told_to_stop_it_forwards_waits_and_mirrors() {
    let room = Room::new("told-to-stop");
    for (signal, code) in
        [(libc::SIGTERM, 143), (libc::SIGINT, 130), (libc::SIGHUP, 129), (libc::SIGUSR1, 138)]
    {
        let (ready, summary) = (room.file("ready"), room.file("summary.json"));
        let _ = std::fs::remove_file(&ready);
        let mut child = room
            .jobmeter(&["run", "-f", "json", "--force", "-o", &summary, "--", "sh", "-c"])
            .arg(format!("echo > '{ready}'; exec sleep 60"))
            .spawn()
            .expect("start jobmeter");
        wait_until("the job runs", || room.path("ready").exists());
        send(child.id(), signal);
        assert_eq!(code_of(&mut child), code);
        let summary = room.summary_file().expect("a summary");
        assert_eq!((summary.verdict.kind.as_str(), summary.verdict.signal), ("signaled", Some(signal)));
    }
}

#[test]
fn a_job_that_ignores_interrupts_gets_its_summary_later() {
    let room = Room::new("ignores");
    let (ready, go, summary) = (room.file("ready"), room.file("go"), room.file("summary.json"));
    let script = format!("trap '' INT; echo > '{ready}'; while [ ! -e '{go}' ]; do sleep 0.01; done; exit 5");
    let mut child = room
        .jobmeter(&["run", "-f", "json", "-o", &summary, "--", "sh", "-c", &script])
        .spawn()
        .expect("start jobmeter");
    wait_until("the job runs", || room.path("ready").exists());
    send(child.id(), libc::SIGINT);
    send(child.id(), libc::SIGINT);
    std::fs::write(&go, "").expect("write");
    assert_eq!(code_of(&mut child), 5);
    assert_eq!(room.summary_file().expect("a summary").verdict.exit_code, Some(5));
}

/// A stop is not an end: somebody stops the job, jobmeter goes on, the job is continued and ends.
#[test]
fn a_stopped_job_is_not_an_ended_one() {
    let room = Room::new("stopped");
    let (mut child, job) = start_reporter(&room, &[]);
    send(job, libc::SIGSTOP);
    wait_until("the job is stopped", || state(job) == 'T');
    assert!(is_running(child.id()), "jobmeter ended when its job was stopped");
    send(job, libc::SIGCONT);
    wait_until("the job is continued", || count(&room, libc::SIGCONT) == 1);
    send(child.id(), libc::SIGTERM);
    assert_eq!(code_of(&mut child), 42);
}

/// Without a terminal, TSTP to jobmeter stops the job, and CONT continues it, once.
#[test]
fn stop_and_continue_are_passed_on() {
    let room = Room::new("passed-on");
    let (mut child, job) = start_reporter(&room, &["stop"]);
    for round in 1..=3 {
        send(child.id(), libc::SIGTSTP);
        wait_until("the job is stopped", || state(job) == 'T');
        send(child.id(), libc::SIGCONT);
        wait_until("the job is continued", || count(&room, libc::SIGCONT) >= round);
    }
    send(child.id(), libc::SIGTERM);
    assert_eq!(code_of(&mut child), 42);
    assert_eq!(count(&room, libc::SIGCONT), 3, "{}", reports(&room));
}

/// Jobmeter itself stopped and continued (SIGSTOP cannot be caught): the job neither notices nor is lost.
#[test]
fn a_stopped_jobmeter_does_not_disturb_the_job() {
    let room = Room::new("meter-stopped");
    let done = room.file("done");
    let summary = room.file("summary.json");
    let script = format!("sleep 0.2; echo > '{done}'; exit 6");
    let mut child = room
        .jobmeter(&["run", "-i", "10ms", "-f", "json", "-o", &summary, "--", "sh", "-c", &script])
        .spawn()
        .expect("start jobmeter");
    // Not any child: the meter has one of its own before the job.
    let is_job = |pid: &str| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "sh")
    };
    wait_until("the job runs", || {
        let path = format!("/proc/{0}/task/{0}/children", child.id());
        std::fs::read_to_string(path).is_ok_and(|children| children.split_whitespace().any(is_job))
    });
    send(child.id(), libc::SIGSTOP);
    wait_until("the job has done its work", || room.path("done").exists());
    send(child.id(), libc::SIGCONT);
    assert_eq!(code_of(&mut child), 6);
    assert_eq!(room.summary_file().expect("a summary").verdict.exit_code, Some(6));
}
