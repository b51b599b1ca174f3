//! A PID namespace with bystanders. A sweep is PID 1 in it, so every orphan comes to it and nobody outside can
//! be signalled.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const INSIDE: &str = "JOBMETER_SWEEP_INSIDE";

/// Runs `body` as PID 1 of a PID namespace: starts this test binary again there, with the test of this name. As
/// root the namespace keeps all rights, so that the privileged system calls are swept too.
pub(crate) fn inside(test: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let works = |user: &&[&str]| unshare(user).arg("true").output().is_ok_and(|made| made.status.success());
    let Some(user) = [&[][..], &["--user", "--map-root-user"]].into_iter().find(works) else {
        eprintln!("not tested here: no PID namespace may be made");
        return;
    };
    let this = std::env::current_exe().expect("the test binary has a path");
    let output = unshare(user)
        .arg(this)
        .args(["--exact", test, "--include-ignored", "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .output()
        .expect("unshare, of util-linux");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "the sweep inside failed: {said}");
}

fn unshare(user: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(user).args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
    command
}

pub(crate) fn is_root() -> bool {
    // SAFETY: it has no arguments and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Processes that have nothing to do with the job and must survive it.
pub(crate) struct Bystanders(BTreeSet<i32>);

impl Bystanders {
    /// Three of them: in this process group, in a group and in a session of their own, the last a daemon whose
    /// parent is PID 1.
    #[expect(clippy::zombie_processes, reason = "they sleep until the namespace ends")]
    pub(crate) fn start() -> Bystanders {
        let sleeper = || {
            let mut command = Command::new("sleep");
            command.arg("100000").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command
        };
        sleeper().spawn().expect("a bystander");
        sleeper().process_group(0).spawn().expect("a bystander in its own group");
        let daemon = Command::new("setsid").args(["--fork", "sleep", "100000"]).status().expect("setsid");
        assert!(daemon.success());
        let start = Instant::now();
        loop {
            let found: BTreeSet<i32> = processes().filter(|pid| name(*pid) == "sleep").collect();
            if found.len() == 3 {
                return Bystanders(found);
            }
            assert!(start.elapsed() < Duration::from_secs(10), "three bystanders, not {found:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn dead(&self) -> Vec<i32> {
        self.0.iter().copied().filter(|pid| name(*pid) != "sleep" || is_zombie(*pid)).collect()
    }

    /// Who else lives here: what a case has left behind. Waits a second for those about to end.
    pub(crate) fn left_behind(&self) -> Vec<i32> {
        let start = Instant::now();
        loop {
            reap_orphans();
            let others: Vec<i32> = processes().filter(|pid| *pid != 1 && !self.0.contains(pid)).collect();
            if others.is_empty() || start.elapsed() > Duration::from_secs(1) {
                return others;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Ends what a case has left behind, so that the next one starts afresh.
pub(crate) fn end(pids: &[i32]) {
    for pid in pids.iter().filter(|pid| **pid > 1) {
        // SAFETY: a process of this namespace, of which we are PID 1.
        unsafe { libc::kill(*pid, libc::SIGKILL) };
    }
    let start = Instant::now();
    while pids.iter().any(|pid| !name(*pid).is_empty()) && start.elapsed() < Duration::from_secs(2) {
        reap_orphans();
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn reap_orphans() {
    // SAFETY: no status is asked for. Only called when the case's own child has been waited for.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG | libc::__WALL) } > 0 {}
}

fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").expect("/proc");
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Empty when there is no such process.
pub(crate) fn name(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

fn is_zombie(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_none_or(|rest| rest.is_empty() || rest.starts_with('Z'))
}
