//! What goes wrong on our side stays on our side. Anything here that could signal others runs in a PID namespace of
//! its own, with a bystander process that must survive.

use crate::help::pty::Terminal;
use crate::help::{JOBMETER, Room, code_of, pid_namespace, send, wait_until};

/// Runs a shell script as PID 1 of its own PID namespace, with `$JOBMETER` set; its output, where that can be had.
fn in_pid_namespace(room: &Room, script: &str) -> Option<String> {
    let output = pid_namespace()?
        .args(["sh", "-c", script])
        .env("JOBMETER", JOBMETER)
        .env("JOBMETER_STORE", room.path("store"))
        .output()
        .expect("unshare");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    Some(text)
}

#[test]
fn a_clone_that_fails_ends_nobody() {
    let room = Room::new("clone-fails");
    // The first clone is the sentinel's, the second the job's, the third the one that writes the record.
    let (ran, refused) = ("status 3, ran 1 times", "status 125, ran 0 times");
    for (which, expected) in [("1", ran), ("1+", refused), ("2", refused), ("3", ran), ("3+", ran)] {
        let script = format!(
            "cd {room} && rm -f ran && touch ran
             sleep 300 & bystander=$!
             strace -o trace -e trace=clone -e inject=clone:error=EAGAIN:when={which} \\
                 \"$JOBMETER\" run -q --no-cgroup -- sh -c 'echo x >>ran; sleep 0.2; exit 3'
             echo \"status $?, ran $(wc -l <ran) times\"
             kill -0 $bystander && echo bystander lives",
            room = room.dir.display()
        );
        let Some(said) = in_pid_namespace(&room, &script) else { return };
        assert_eq!(said, format!("{expected}\nbystander lives\n"), "clone {which} fails");
    }
}

#[test]
fn with_hardly_a_descriptor_the_job_runs_once_or_never() {
    let room = Room::new("few-descriptors");
    let mut started = 0;
    for limit in 4..=24 {
        let script = format!(
            "cd {room} && rm -f ran && touch ran
             (ulimit -n {limit}; exec \"$JOBMETER\" run -- sh -c 'echo x; exit 3') 2>said >>ran
             echo \"$? $(wc -l <ran)\"",
            room = room.dir.display()
        );
        let Some(said) = in_pid_namespace(&room, &script) else { return };
        let complaint = room.text("said");
        match said.trim() {
            "3 1" => started += 1,
            "125 0" => assert!(complaint.contains("cannot start 'sh'"), "{limit}: {complaint}"),
            other => panic!("ulimit -n {limit}: exit status and runs are {other}: {complaint}"),
        }
        if complaint.contains("cannot read /proc") {
            assert!(complaint.contains("CPU"), "what wait tells is shown: {complaint}");
        }
    }
    assert!(started >= 10, "the job started with {started} of 21 limits");
}

#[test]
fn without_proc_the_job_is_waited_for_and_its_status_is_ours() {
    let room = Room::new("no-proc");
    let script = format!(
        "mount -t tmpfs none /proc && cd {room} && mkfifo up
         \"$JOBMETER\" run -o said -- sh -c 'echo x >>ran; exit 3'; echo \"$? $(wc -l <ran)\"
         \"$JOBMETER\" run -q --timeout 200ms -- sleep 60; echo $?
         \"$JOBMETER\" run -q -- sh -c 'trap \"exit 7\" TERM; echo >up; while :; do sleep 0.01; done' & meter=$!
         read _ <up; kill -TERM $meter; wait $meter; echo $?",
        room = room.dir.display()
    );
    let Some(said) = in_pid_namespace(&room, &script) else { return };
    assert_eq!(said, "3 1\n124\n7\n");
    let summary = room.text("said");
    assert!(summary.contains("cannot read /proc") && summary.contains("CPU"), "{summary}");
}

/// A pipe that nobody reads, filled to the brim; both ends stay open.
fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    let set_flags = |writer: &std::io::PipeWriter, flags: libc::c_int| {
        // SAFETY: sets the status flags of a descriptor that is ours.
        assert_eq!(unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, flags) }, 0);
    };
    set_flags(&writer, libc::O_NONBLOCK);
    while writer.write(&[b'.'; 4096]).is_ok() {}
    while writer.write(b".").is_ok() {}
    // Blocking again for the program under test.
    set_flags(&writer, 0);
    (reader, writer)
}

#[test]
fn a_standard_error_that_nobody_reads_is_given_up() {
    let room = Room::new("full-pipe");
    let (_reader, writer) = full_pipe();
    let mut command = room.jobmeter(&["run", "--", "sh", "-c", "exit 3"]);
    command.stderr(writer.try_clone().expect("a copy"));
    let mut child = command.spawn().expect("start jobmeter");
    // By itself, after some seconds.
    assert_eq!(code_of(&mut child), 3);

    let mut command = room.jobmeter(&["run", "--", "sh", "-c", "touch up; exit 3"]);
    command.current_dir(&room.dir).stderr(writer);
    let mut child = command.spawn().expect("start jobmeter");
    wait_until("the record is complete and the summary is under way", || {
        room.path("up").exists()
            && std::fs::read_to_string(format!("/proc/{}/wchan", child.id()))
                .is_ok_and(|at| at.contains("pipe"))
    });
    let asked = std::time::Instant::now();
    send(child.id(), libc::SIGTERM);
    assert_eq!(code_of(&mut child), 3);
    assert!(asked.elapsed() < std::time::Duration::from_secs(4), "TERM took {:?}", asked.elapsed());
}

#[test]
fn jobmeter_dies_of_the_signal_that_the_job_died_of() {
    use std::os::unix::process::ExitStatusExt;
    let room = Room::new("same-signal");
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGKILL, libc::SIGSEGV, libc::SIGALRM, libc::SIGRTMIN()]
    {
        let script = format!("ulimit -c unlimited; kill -{signal} $$");
        let mut command = room.jobmeter(&["run", "-q", "--", "sh", "-c", &script]);
        let status = command.current_dir(&room.dir).status().expect("start jobmeter");
        assert_eq!(status.signal(), Some(signal));
        assert!(!status.core_dumped(), "signal {signal}: the job has dumped its core already");
    }
}

#[test]
fn one_ctrl_c_ends_a_shells_loop() {
    let room = Room::new("loop");
    let mut terminal = Terminal::open();
    let mut command = std::process::Command::new("bash");
    let script =
        "for i in 1 2 3; do echo $i >>turns; \"$JOBMETER\" run -q -- sleep 30; done; echo all >>turns";
    command.args(["-c", script]).current_dir(&room.dir);
    command.env("JOBMETER", JOBMETER).env("JOBMETER_STORE", room.path("store"));
    let mut shell = terminal.start(command);
    // The record has its first bytes once the job runs.
    wait_until("the first job runs", || !room.store_files().is_empty());
    terminal.press(b"\x03");
    assert_eq!(code_of(&mut shell), 128 + libc::SIGINT);
    assert_eq!(room.text("turns"), "1\n");
}

#[test]
fn a_job_that_somebody_else_reaps_ends_the_run() {
    let room = Room::new("reaped");
    let source = r#"
        #include <pthread.h>
        #include <signal.h>
        #include <stdlib.h>
        #include <unistd.h>
        static void *spoil(void *unused) { usleep(100000); signal(SIGCHLD, SIG_IGN); return unused; }
        __attribute__((constructor)) static void begin(void) {
            pthread_t thread; unsetenv("LD_PRELOAD"); pthread_create(&thread, 0, spoil, 0);
        }
    "#;
    std::fs::write(room.path("spoil.c"), source).expect("write the source");
    let built = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-o", &room.file("spoil.so"), &room.file("spoil.c"), "-lpthread"])
        .status();
    assert!(built.is_ok_and(|status| status.success()), "cc builds the library");
    let file = room.file("summary.json");
    let mut command =
        room.jobmeter(&["run", "-f", "json", "-o", &file, "--", "sh", "-c", "sleep 0.5; exit 3"]);
    command.env("LD_PRELOAD", room.path("spoil.so"));
    let run = room.finish(command);
    // Newer kernels still tell the status by the descriptor of the process; with older ones it is unknown.
    let summary = run.summary();
    match summary.verdict.kind.as_str() {
        "exited" => assert_eq!((run.code, summary.verdict.exit_code), (3, Some(3))),
        kind => assert_eq!((run.code, kind), (1, "unknown")),
    }
    assert!(summary.warnings.iter().any(|warning| warning.kind == "unreaped"), "{:?}", summary.warnings);
}
