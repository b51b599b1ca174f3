//! A store that does not answer: frozen, or a server that is gone. The job, its signals, its time limit and its end do
//! not wait for it; what is lost is the record, with one warning.

use crate::help::{JOBMETER, Room, Run, is_root, is_running, not_here, send, wait_until};
use jobmeter_testkit::frozen::Disk;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A store hangs for longer than a test waits for anything, so whoever waits for the store is found whatever the machine is busy with.
/// How soon a signal arrives and a run ends is for `make bench`.
const HANGS_FOR: Duration = Duration::from_secs(120);
const NOT_WAITED: Duration = Duration::from_secs(30);

fn mount(room: &Room) -> Option<Disk> {
    Disk::mount(&room.path("image"), room.path("disk")).expect("make the image and the mount point")
}

fn warnings_about_the_record(stderr: &str) -> usize {
    stderr.lines().filter(|line| line.contains("record is given up")).count()
}

/// A job that writes when it got TERM and ends at once, with status 3.
const UNTIL_TERM: &str = "trap 'date +%s%N > got; echo bye; exit 3' TERM; echo ready > ready; \
                          while :; do sleep 0.01; done";

/// What became of a run whose store hung.
struct Terminated {
    signal_after: Duration,
    all_after: Duration,
    code: i32,
    run: Run,
}

/// Starts the job, makes the store hang and sends TERM. With `is_traced` jobmeter runs below
/// strace and a shell that writes its status to `code`.
fn terminated(room: &Room, mut command: Command, is_traced: bool, hang: impl FnOnce()) -> Terminated {
    command.current_dir(&room.dir).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("start jobmeter");
    wait_until("the job runs", || room.path("ready").exists());
    hang();
    let meter = if is_traced { only_child(only_child(child.id())) } else { child.id() };
    // Longer than some ticks: they find a store that hangs.
    std::thread::sleep(Duration::from_millis(300));
    let sent_ns = unix_ns();
    send(meter, libc::SIGTERM);
    wait_until("jobmeter has ended", || !is_running(meter));
    let all_after = Duration::from_nanos((unix_ns() - sent_ns) as u64);
    let mut code = None;
    if is_traced {
        wait_until("the status is written", || {
            let text = std::fs::read_to_string(room.path("code"));
            code = text.ok().and_then(|text| text.trim().parse().ok());
            code.is_some()
        });
        // strace would wait for the thread that it delays.
        send(child.id(), libc::SIGKILL);
    }
    let run = Run::new(child.wait_with_output().expect("wait"), None);
    let got_ns: u128 = room.text("got").trim().parse().expect("a time");
    let signal_after = Duration::from_nanos(got_ns.saturating_sub(sent_ns) as u64);
    Terminated { signal_after, all_after, code: code.unwrap_or(run.code), run }
}

fn unix_ns() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_nanos()
}

/// The process that `strace` runs.
fn only_child(pid: u32) -> u32 {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(path).expect("the children of strace");
    text.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("a child")
}

fn assert_unharmed(ended: &Terminated) {
    let Terminated { signal_after, all_after, code, run } = ended;
    eprintln!("signal after {signal_after:?}, all over after {all_after:?}");
    assert_eq!(*code, 3, "{}", run.stderr);
    assert_eq!(run.stdout, b"bye\n");
    assert_eq!(warnings_about_the_record(&run.stderr), 1, "{}", run.stderr);
    assert!(*signal_after < NOT_WAITED, "the signal took {signal_after:?}");
    assert!(*all_after < NOT_WAITED, "the end took {all_after:?}");
}

#[test]
fn a_frozen_store_holds_up_neither_signals_nor_the_end() {
    if !is_root() {
        return not_here("a file system may only be mounted and frozen by root");
    }
    let room = Room::new("frozen");
    let Some(disk) = mount(&room) else {
        return not_here("no loop mount of an ext4 image is to be had");
    };
    let mut command = room.jobmeter(&["run", "-i", "10ms", "--", "sh", "-c", UNTIL_TERM]);
    command.env("JOBMETER_STORE", disk.path().join("store"));
    let mut is_frozen = false;
    let ended = terminated(&room, command, false, || is_frozen = disk.freeze());
    if !is_frozen {
        return not_here("fsfreeze is missing or not allowed");
    }
    assert_unharmed(&ended);
}

#[test]
fn a_store_frozen_from_the_start_keeps_the_time_limit() {
    if !is_root() {
        return not_here("a file system may only be mounted and frozen by root");
    }
    let room = Room::new("frozen-early");
    let Some(disk) = mount(&room).filter(Disk::freeze) else {
        return not_here("no loop mount of an ext4 image is to be had, or it cannot be frozen");
    };
    let mut command = room.jobmeter(&["run", "--timeout", "500ms", "--", "sh", "-c", "echo fine; sleep 60"]);
    command.env("JOBMETER_STORE", disk.path().join("store"));
    let began = Instant::now();
    let run = room.finish(command);
    let took = began.elapsed();
    assert_eq!(run.code, 124, "{}", run.stderr);
    assert_eq!(run.stdout, b"fine\n");
    assert_eq!(warnings_about_the_record(&run.stderr), 1, "{}", run.stderr);
    assert!(took < NOT_WAITED, "{took:?}");
}

/// Without any privilege: every write to the record takes two minutes.
#[test]
fn a_slow_store_holds_up_neither_signals_nor_the_end() {
    if !Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return not_here("strace is missing");
    }
    let room = Room::new("slow");
    let record = room.file("slow.jobmeter");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-P", &record, "-e", "trace=write", "-e"]);
    command.arg(format!("inject=write:delay_enter={}:when=3+", HANGS_FOR.as_micros()));
    command.args(["sh", "-c", "\"$@\"; echo $? > code", "sh"]);
    command.args([JOBMETER, "run", "-i", "10ms", "--record", &record, "--", "sh", "-c", UNTIL_TERM]);
    assert_unharmed(&terminated(&room, command, true, || {}));
}
