//! A place to run one case after the other: a folder, the bystanders, and what there was to see.

use crate::namespace::{self, Bystanders};
use jobmeter_testkit::fault::Fault;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub(crate) const JOBMETER: &str = env!("CARGO_BIN_EXE_jobmeter");
/// A case that takes longer hangs. One takes some 30 ms.
const DEADLINE: Duration = Duration::from_secs(10);

/// The workload programs lie beside the binary.
pub(crate) fn testkit() -> PathBuf {
    let path = Path::new(JOBMETER).with_file_name("testkit");
    if !path.exists() {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "jobmeter-testkit", "--bin", "testkit"])
            .status();
        assert!(built.is_ok_and(|status| status.success()), "cargo could not build the testkit");
    }
    path
}

pub(crate) struct Bench {
    pub(crate) dir: PathBuf,
    pub(crate) bystanders: Bystanders,
}

/// What there was to see of one case.
pub(crate) struct Seen {
    /// As a shell would say it; `None` when it did not end in time.
    pub(crate) code: Option<i32>,
    /// Of a process that was started beside it.
    pub(crate) target_code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// How often the job ran.
    pub(crate) ran: usize,
    /// Names of processes that were left.
    pub(crate) left: Vec<String>,
    pub(crate) dead_bystanders: Vec<i32>,
}

impl Bench {
    /// Everybody may write there: some sweeps run as another user.
    pub(crate) fn new(name: &str) -> Bench {
        let dir = tempfile::Builder::new().prefix(&format!("jobmeter-faults-{name}-")).tempdir();
        // Kept when the sweep fails.
        let dir = dir.expect("make the bench").keep();
        fs::create_dir(dir.join("ran")).expect("make the folder");
        for folder in [dir.clone(), dir.join("ran")] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).expect("open it to everybody");
        }
        Bench { dir, bystanders: Bystanders::start() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// `testkit once`, which prints `out` and exits with `status`.
    pub(crate) fn job(&self, status: u8, child_ms: u64) -> Vec<String> {
        let words =
            [testkit().display().to_string(), "once".to_owned(), self.path("ran").display().to_string()];
        words.into_iter().chain(["out".to_owned(), status.to_string(), child_ms.to_string()]).collect()
    }

    /// A command in the bench's surroundings: few variables, a store of its own, output into pipes.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &self.dir)
            .env("JOBMETER_STORE", self.path("store"))
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// A command under `testkit fault`.
    pub(crate) fn traced(&self, fault: Option<&Fault>) -> Command {
        let mut command = self.command(&testkit());
        command.arg("fault").arg(self.path("report")).arg(fault.map_or("list".to_owned(), Fault::text));
        command
    }

    /// Runs a case to its end, or ends it; then waits for `target`, which was started beside it.
    pub(crate) fn finish(&self, mut command: Command, target: Option<&mut Child>) -> Seen {
        let mut child = command.spawn().expect("start the case");
        let stdout = reader(child.stdout.take());
        let stderr = reader(child.stderr.take());
        let code = wait(&mut child);
        let target_code = target.and_then(wait);
        if code.is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let left = self.bystanders.left_behind();
        let names = left.iter().map(|pid| namespace::name(*pid)).collect();
        namespace::end(&left);
        let seen = Seen {
            code,
            target_code,
            stdout: stdout.join().expect("the reader"),
            stderr: stderr.join().expect("the reader"),
            ran: fs::read_dir(self.path("ran")).expect("the folder").count(),
            left: names,
            dead_bystanders: self.bystanders.dead(),
        };
        self.tidy();
        seen
    }

    /// What the fault struck; `None` when the call was not made this time.
    pub(crate) fn struck(&self) -> Option<String> {
        let text = fs::read_to_string(self.path("report")).unwrap_or_default();
        text.lines().next().map(str::to_owned)
    }

    fn tidy(&self) {
        for entry in fs::read_dir(self.path("ran")).expect("the folder").flatten() {
            let _ = fs::remove_file(entry.path());
        }
        let _ = fs::remove_dir_all(self.path("store"));
        let _ = fs::remove_file(self.path("summary.json"));
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

/// Reads a pipe to its end.
fn reader(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn wait(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < DEADLINE {
        if let Some(status) = child.try_wait().expect("wait for the case") {
            return Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()));
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    None
}
