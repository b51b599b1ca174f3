//! A room for each test: a directory of its own with a run store, the binary, and its summary parsed.
#![expect(clippy::disallowed_types, reason = "no child of this test waits for it")]

pub(crate) mod fake_nvml;
pub(crate) mod pty;
pub(crate) mod ranks;
pub(crate) mod slurm;

use jobmeter_model::summary::Figures;
use jobmeter_model::{Figure, Summary};
use jobmeter_testkit::invariants;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

/// The binary under test.
pub(crate) const JOBMETER: &str = env!("CARGO_BIN_EXE_jobmeter");

/// The workload programs lie beside the binary. `cargo nextest run --workspace` builds them; a test run of this
/// package alone does not, so they are built here when they are missing.
pub(crate) fn testkit() -> PathBuf {
    static BUILT: Once = Once::new();
    let path = Path::new(JOBMETER).with_file_name("testkit");
    BUILT.call_once(|| {
        if !path.exists() {
            let built = Command::new(env!("CARGO"))
                .args(["build", "--quiet", "--package", "jobmeter-testkit", "--bin", "testkit"])
                .status();
            assert!(built.is_ok_and(|status| status.success()), "cargo could not build the testkit");
        }
    });
    path
}

pub(crate) struct Room {
    pub(crate) dir: PathBuf,
}

impl Drop for Room {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

impl Room {
    pub(crate) fn new(name: &str) -> Room {
        let unique = format!("{name}-{}", std::process::id());
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("make the room");
        Room { dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// A path as an argument.
    pub(crate) fn file(&self, name: &str) -> String {
        self.path(name).to_str().expect("rooms have UTF-8 names").to_owned()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("read {name}: {error}"))
    }

    /// What a workload said of itself.
    pub(crate) fn truth(&self, name: &str) -> BTreeMap<String, String> {
        let pairs = self.text(name);
        let pairs = pairs.lines().filter_map(|line| line.split_once(' '));
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    pub(crate) fn truth_number(&self, name: &str, key: &str) -> f64 {
        self.truth(name)[key].parse().expect("a truth is a number")
    }

    /// `jobmeter` with a store in this room; standard input is empty.
    pub(crate) fn jobmeter<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(JOBMETER);
        command.args(arguments).env("JOBMETER_STORE", self.path("store")).stdin(Stdio::null());
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "JOBMETER_INTERVAL"] {
            command.env_remove(name);
        }
        command
    }

    /// `jobmeter run OPTIONS -f json -o FILE -- COMMAND`, to its end.
    pub(crate) fn run(&self, options: &[&str], command: &[&str]) -> Run {
        let mut arguments = vec!["run"];
        arguments.extend(options);
        let file = self.file("summary.json");
        arguments.extend(["-f", "json", "--force", "-o", &file, "--"]);
        arguments.extend(command);
        self.finish(self.jobmeter(&arguments))
    }

    /// As `run`, with a workload of the testkit as the command.
    pub(crate) fn run_testkit(&self, options: &[&str], workload: &[&str]) -> Run {
        let testkit = testkit();
        let mut command = vec![testkit.to_str().expect("a UTF-8 path")];
        command.extend(workload);
        self.run(options, &command)
    }

    /// Runs a prepared command to its end and reads the summary that it wrote to `summary.json`.
    pub(crate) fn finish(&self, mut command: Command) -> Run {
        let _ = fs::remove_file(self.path("summary.json"));
        let output = command.output().expect("start jobmeter");
        Run::new(output, self.summary_file())
    }

    /// The summary that was written, once it was found to be without contradiction.
    pub(crate) fn summary_file(&self) -> Option<Summary> {
        let text = fs::read_to_string(self.path("summary.json")).ok()?;
        if let Ok(summary) = serde_json::from_str(&text) {
            invariants::assert_hold(&summary);
        }
        Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("summary: {error}\n{text}")))
    }

    /// The run files in the store.
    pub(crate) fn store_files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut pending = vec![self.path("store")];
        while let Some(dir) = pending.pop() {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    pending.push(path);
                } else if path.extension() == Some(OsStr::new("jobmeter")) {
                    found.push(path);
                }
            }
        }
        found
    }
}

/// A finished `jobmeter`.
pub(crate) struct Run {
    /// As a shell would say it: 128 + n after signal n.
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    summary: Option<Summary>,
}

impl Run {
    pub(crate) fn new(output: Output, summary: Option<Summary>) -> Run {
        let status = output.status;
        Run {
            code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            summary,
        }
    }

    pub(crate) fn summary(&self) -> &Summary {
        self.summary.as_ref().unwrap_or_else(|| panic!("no summary was written; stderr: {}", self.stderr))
    }
}

/// A figure that has to be there.
pub(crate) fn figure<'a>(figures: &'a Figures, key: &str) -> &'a Figure {
    figures.by_key(key).unwrap_or_else(|| {
        panic!("no figure is called {key}; there are {:?}", figures.keys().collect::<Vec<_>>())
    })
}

/// The value of a figure that has to be known.
pub(crate) fn value(figures: &Figures, key: &str) -> f64 {
    let figure = figure(figures, key);
    figure.as_f64().unwrap_or_else(|| panic!("{key} is unknown: {figure:?}"))
}

/// Waits for a condition that is certain to come; a minute of grace keeps a broken run from hanging for ever.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited a minute for: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn send(pid: u32, signal: i32) {
    // SAFETY: sends a signal to a process that this test started and has not waited for.
    let sent = unsafe { libc::kill(pid as i32, signal) };
    assert_eq!(sent, 0, "signal {signal} to {pid}: {}", std::io::Error::last_os_error());
}

/// Whether a process exists and is not a zombie.
pub(crate) fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

/// The state letter that the kernel shows for a process.
pub(crate) fn state(pid: u32) -> char {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).unwrap_or('-')
}

/// The exit code of a child, as a shell would say it.
pub(crate) fn code_of(child: &mut Child) -> i32 {
    let status = child.wait().expect("wait for jobmeter");
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

pub(crate) fn is_root() -> bool {
    // SAFETY: geteuid has no arguments and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// A room outside of closed folders, with a copy of jobmeter that every user can execute; it is removed with the folder. Returns
/// `None` and prints why without root.
pub(crate) fn room_for_everybody() -> Option<(tempfile::TempDir, Room)> {
    if !is_root() {
        not_here("only root can become another user, and make another user's files");
        return None;
    }
    let place = tempfile::tempdir().expect("a folder");
    let room = Room { dir: place.path().to_owned() };
    fs::copy(JOBMETER, room.path("jobmeter")).expect("copy");
    fs::set_permissions(&room.dir, fs::Permissions::from_mode(0o755)).expect("chmod");
    Some((place, room))
}

/// `jobmeter WORDS` as the user `nobody`, in such a room.
pub(crate) fn as_nobody(room: &Room, words: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(room.path("jobmeter"));
    command.args(words).current_dir(&room.dir).stdin(Stdio::null());
    command
}

/// A test that cannot be done here says so, with the reason, in its output.
pub(crate) fn not_here(reason: &str) {
    eprintln!("not tested here: {reason}");
}

/// `unshare` with a PID namespace of its own and a `/proc` for it, as root of a user namespace or as root itself; without
/// either, which is so in many containers, it prints that and there is none.
pub(crate) fn pid_namespace() -> Option<Command> {
    for as_root in [&["--user", "--map-root-user"][..], &[]] {
        let unshare = || {
            let mut command = Command::new("unshare");
            command.args(as_root).args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
            command
        };
        if unshare().arg("true").output().is_ok_and(|output| output.status.success()) {
            return Some(unshare());
        }
    }
    not_here("no PID namespace may be made");
    None
}
