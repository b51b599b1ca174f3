//! Attaching to what already runs, and leaving it as it was.

use crate::help::{Room, code_of, figure, is_root, is_running, not_here, send, testkit, value, wait_until};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A workload that is ended when the test is done with it.
struct Target(Child);

impl Target {
    fn start(workload: &[&str]) -> Target {
        let child =
            Command::new(testkit()).args(workload).stdin(Stdio::null()).spawn().expect("start a workload");
        Target(child)
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn attach_arguments<'a>(summary: &'a str, options: &[&'a str], pid: &'a str) -> Vec<&'a str> {
    let mut arguments = vec!["attach", "-f", "json", "--force", "-o", summary];
    arguments.extend(options);
    arguments.push(pid);
    arguments
}

#[test]
fn until_the_process_ends() {
    let room = Room::new("attach-end");
    let summary = room.file("summary.json");
    let mut target = Target::start(&["burn", "1200"]);
    let pid = target.pid();
    let run = std::thread::scope(|scope| {
        // Reaped as soon as it ends, as a parent does.
        scope.spawn(|| target.0.wait().expect("wait"));
        room.finish(room.jobmeter(&attach_arguments(&summary, &["-i", "50ms"], &pid)))
    });
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.is_empty());
    let summary = run.summary();
    assert_eq!(summary.run.mode, "attach");
    assert_eq!(summary.run.pid.to_string(), pid);
    match summary.verdict.kind.as_str() {
        "exited" => assert_eq!(summary.verdict.exit_code, Some(0)),
        kind => assert_eq!(kind, "unknown", "kernels before 6.15 tell the status to nobody but the parent"),
    }
    // It burned 1.2 s in all; attaching came a little later, and the last interval may be unseen.
    let cpu_ns = value(&summary.combined, "cpu_ns");
    assert!((0.5e9..1.3e9).contains(&cpu_ns), "{cpu_ns}");
    assert!(value(&summary.main, "rss_bytes_max") > 100_000.0);
}

/// What a process does right after we have come, and right before it ends, within what was one interval once: bytes,
/// and memory.
#[test]
fn a_short_rest_of_life_is_seen_whole() {
    let room = Room::new("attach-short");
    let summary = room.file("summary.json");
    let script = "import sys
sys.stdin.read(1)
held = bytearray(100_000_000)
open('out', 'wb').write(bytes(10_000_000))
del held
sys.exit(5)";
    let mut command = Command::new("python3");
    let mut target = Target(
        command
            .args(["-c", script])
            .current_dir(&room.dir)
            .stdin(Stdio::piped())
            .spawn()
            .expect("start Python"),
    );
    let pid = target.pid();
    let record = room.file("attach.jobmeter");
    let meter = room.jobmeter(&attach_arguments(&summary, &["--record", &record], &pid)).spawn();
    let mut meter = meter.expect("start jobmeter");
    // The first row is in the file: what was before is known.
    wait_until("the record begins", || std::fs::metadata(&record).is_ok_and(|meta| meta.len() > 2000));
    drop(target.0.stdin.take());
    // Not reaped before: as a zombie it still shows what it has used, whenever the meter gets its turn.
    assert_eq!(code_of(&mut meter), 0);
    assert_eq!(target.0.wait().expect("wait").code(), Some(5));
    let summary = room.summary_file().expect("a summary");
    assert_eq!(summary.run.interval_ns, None, "fine at first, as help says");
    if summary.sources.iter().any(|source| source.name == "exit_events" && source.used) {
        assert_eq!(summary.verdict.exit_code, Some(5), "told before its parent has reaped it");
    }
    let written = figure(&summary.combined, "write_chars_bytes");
    assert!(written.as_u64() >= Some(10_000_000), "{written:?}");
    // Its mark is not to be had after the end: what was sampled is all that is known.
    let peak = figure(&summary.combined, "rss_bytes_max");
    assert!(peak.upper.is_none_or(|upper| upper.as_f64() >= 100e6), "{peak:?}");
}

#[test]
fn for_a_given_time() {
    let room = Room::new("attach-duration");
    let summary = room.file("summary.json");
    let target = Target::start(&["sleep", "60000"]);
    let start = Instant::now();
    let run =
        room.finish(room.jobmeter(&attach_arguments(&summary, &["--duration", "400ms"], &target.pid())));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(start.elapsed() >= Duration::from_millis(400));
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(run.summary().verdict.kind, "detached");
    let wall_ns = run.summary().run.wall_ns.expect("wall time");
    assert!((390_000_000..5_000_000_000).contains(&wall_ns), "{wall_ns}");
    assert!(is_running(target.0.id()), "the process did not survive being looked at");
}

#[test]
fn until_an_interrupt_which_the_process_never_sees() {
    let room = Room::new("attach-interrupt");
    let (summary, signals) = (room.file("summary.json"), room.file("signals"));
    let mut target = Target::start(&["signals", &signals]);
    wait_until("the reporter is ready", || room.path("signals").exists() && !room.text("signals").is_empty());
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let _ = std::fs::remove_file(&summary);
        let mut child = room
            .jobmeter(&attach_arguments(
                &summary,
                &["-i", "10ms", "--record", &room.file(&format!("{signal}.jobmeter"))],
                &target.pid(),
            ))
            .spawn()
            .expect("start jobmeter");
        // The record is there once the signals are handled.
        wait_until("jobmeter has attached", || {
            std::fs::metadata(room.path(&format!("{signal}.jobmeter"))).is_ok_and(|file| file.len() > 0)
        });
        send(child.id(), signal);
        let status = child.wait().expect("wait for jobmeter");
        assert_eq!(status.code(), Some(0), "after signal {signal}");
        assert_eq!(room.summary_file().expect("a summary").verdict.kind, "detached");
    }
    assert!(is_running(target.0.id()));
    send(target.0.id(), libc::SIGTERM);
    target.0.wait().expect("wait");
    assert_eq!(room.text("signals").lines().skip(1).count(), 1, "{}", room.text("signals"));
}

#[test]
fn descendants_are_found() {
    let room = Room::new("attach-tree");
    let summary = room.file("summary.json");
    let target = Target::start(&["many", "20", "60000", &room.file("truth")]);
    wait_until("the tree stands", || room.path("truth").exists());
    let run = room.finish(room.jobmeter(&attach_arguments(
        &summary,
        &["--duration", "300ms", "-i", "50ms"],
        &target.pid(),
    )));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(value(&run.summary().combined, "processes_max"), 20.0);
    assert_eq!(value(&run.summary().descendants, "processes_max"), 19.0);
}

/// Programs that come and go between two looks are told with their exit codes, also to who may not watch whole CPUs.
#[test]
fn short_processes_of_a_running_job_have_their_exit_codes() {
    for has_privileges in [true, false] {
        let room = Room::new("attach-codes");
        let (summary, record) = (room.file("summary.json"), room.file("attach.jobmeter"));
        let script = "read go; for i in 1 2 3 4 5; do for k in 1 2 3 4 5 6 7 8; do sh -c 'exit 7'; done; /bin/true; done; exit 2";
        let mut shell = Command::new("sh");
        let mut target =
            Target(shell.args(["-c", script]).stdin(Stdio::piped()).spawn().expect("start a shell"));
        let pid = target.pid();
        let mut meter = room.jobmeter(&attach_arguments(&summary, &["-i", "1s", "--record", &record], &pid));
        if !has_privileges {
            crate::processes::without_privileges(&mut meter);
        }
        let mut meter = meter.spawn().expect("start jobmeter");
        // It tells of the shell: from before that on, events are listened to.
        wait_until("the shell is in the record", || {
            let run = jobmeter_record::Run::open(&room.path("attach.jobmeter"));
            run.is_ok_and(|run| !run.processes().is_empty())
        });
        drop(target.0.stdin.take());
        assert_eq!(target.0.wait().expect("wait").code(), Some(2));
        assert_eq!(code_of(&mut meter), 0);
        let summary = room.summary_file().expect("a summary");
        let sources = &summary.sources;
        let told = |name: &str| sources.iter().any(|source| source.name == name && source.used);
        if !told("perf_ring") && !told("exit_events") {
            not_here("neither perf nor the process connector tells of processes");
            continue;
        }
        let rows = jobmeter_record::Run::open(&room.path("attach.jobmeter")).expect("a record").processes();
        let with_code = |code: i32| rows.iter().filter(|row| row.exit_code == Some(code)).count();
        assert_eq!(rows.len(), 46, "{has_privileges}: {sources:?}");
        if told("exit_events") {
            assert_eq!((with_code(7), with_code(0), with_code(2)), (40, 5, 1), "{has_privileges}");
        }
    }
}

#[test]
fn what_is_not_a_process_is_a_clear_error() {
    let room = Room::new("attach-nothing");
    let mut gone = Command::new("true").spawn().expect("start");
    gone.wait().expect("wait");
    let gone = gone.id().to_string();
    for pid in [gone.as_str(), "0", "-1", "99999999", "abc", ""] {
        let run = room.finish(room.jobmeter(&["attach", "--", pid]));
        assert_eq!(run.code, 125, "pid {pid:?}: {}", run.stderr);
        assert!(run.stdout.is_empty());
        assert!(run.stderr.contains(pid) && !run.stderr.contains("panicked"), "{}", run.stderr);
    }
    assert!(room.store_files().is_empty(), "nothing was measured, but something recorded");
}

#[test]
fn a_thread_is_not_mistaken_for_a_process() {
    let room = Room::new("attach-thread");
    let target = Target::start(&["threads", "2", "60000"]);
    let mut thread = None;
    wait_until("the threads run", || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", target.pid())).expect("list threads");
        let mut names = tasks.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        thread = names.find(|name| *name != target.pid());
        thread.is_some()
    });
    let thread = thread.expect("a thread");
    let summary = room.file("summary.json");
    let run = room.finish(room.jobmeter(&attach_arguments(&summary, &["--duration", "100ms"], &thread)));
    if run.code == 0 {
        assert_eq!(run.summary().run.pid.to_string(), target.pid(), "a thread's figures are the process's");
    } else {
        assert_eq!(run.code, 125);
        assert!(run.stderr.contains("thread"), "{}", run.stderr);
    }
}

/// PID 1 is somebody's process like any other: figures, or a clear error; never a hang, a panic or a harm.
#[test]
fn process_one() {
    let room = Room::new("attach-one");
    let summary = room.file("summary.json");
    let run = room.finish(room.jobmeter(&attach_arguments(&summary, &["--duration", "200ms"], "1")));
    match run.code {
        0 => assert_eq!(run.summary().run.pid, 1),
        code => {
            assert_eq!(code, 125);
            assert!(run.stderr.starts_with("jobmeter: "), "{}", run.stderr);
        }
    }
}

/// Another user's process: CPU and memory totals are readable by all; what is not (I/O) is missing by name.
#[test]
fn another_users_process_names_what_is_missing() {
    if !is_root() {
        return not_here("changing the user needs root");
    }
    const NOBODY: u32 = 65_534;
    let room = Room::new("attach-other");
    let target = Target::start(&["sleep", "60000"]);
    // Another user can neither enter the target folder nor write into a room: a public copy, a public folder.
    let dir = std::env::temp_dir().join(format!("jobmeter-other-{}", std::process::id()));
    std::fs::create_dir(&dir).expect("make a folder");
    let program = dir.join("jobmeter");
    std::fs::copy(crate::help::JOBMETER, &program).expect("copy the binary");
    std::os::unix::fs::chown(&dir, Some(NOBODY), Some(NOBODY)).expect("give it away");
    let output = Command::new(&program)
        .args(["attach", "-f", "json", "--duration", "300ms", &target.pid()])
        .env("JOBMETER_STORE", dir.join("store"))
        .current_dir("/")
        .stdin(Stdio::null())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("start jobmeter");
    std::fs::remove_dir_all(&dir).expect("remove the folder");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let summary: jobmeter_model::Summary = serde_json::from_str(&stderr).expect("JSON on standard error");
    value(&summary.main, "cpu_ns");
    value(&summary.main, "rss_bytes_max");
    let io = figure(&summary.main, "read_chars_bytes");
    assert!(io.value.is_none() && io.reason.is_some(), "{io:?}");
    drop(room);
}
