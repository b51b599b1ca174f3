//! Starting jobmeter on a workload and watching what it costs from outside.

use jobmeter_testkit::{sys, truth};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where the binaries lie and where files may be written for the time of the bench.
pub(crate) struct Place {
    pub(crate) jobmeter: PathBuf,
    pub(crate) testkit: PathBuf,
    dir: PathBuf,
}

impl Place {
    pub(crate) fn new() -> io::Result<Place> {
        let own = std::env::current_exe()?;
        let dir = own.with_file_name(format!("bench-{}", std::process::id()));
        fs::create_dir_all(&dir)?;
        Ok(Place { jobmeter: own.with_file_name("jobmeter"), testkit: own.with_file_name("testkit"), dir })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// `jobmeter` with a store of its own and nothing to read or print.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("JOBMETER_STORE", self.path("store"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// What a workload wrote of itself.
    pub(crate) fn truth(&self, name: &str) -> io::Result<BTreeMap<String, String>> {
        Ok(truth::parse(&fs::read_to_string(self.path(name))?))
    }

    pub(crate) fn number(&self, name: &str, key: &str) -> io::Result<f64> {
        let found = self.truth(name)?.get(key).and_then(|value| value.parse().ok());
        found.ok_or_else(|| io::Error::other(format!("the workload did not say '{key}'")))
    }

    pub(crate) fn forget(&self, name: &str) {
        // Absent before the first round.
        let _ = fs::remove_file(self.path(name));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// A running jobmeter; ended with its job when dropped.
pub(crate) struct Metered {
    pub(crate) child: Child,
}

impl Metered {
    pub(crate) fn start(mut command: Command) -> io::Result<Metered> {
        Ok(Metered { child: command.spawn()? })
    }

    /// CPU time of jobmeter alone, the job excluded.
    pub(crate) fn cpu_ns(&self) -> Option<u64> {
        sys::try_clock_ns(sys::cpu_clock_of(self.child.id() as i32))
    }

    /// The largest resident size so far.
    pub(crate) fn peak_rss_bytes(&self) -> io::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<f64>().ok());
        kib.map(|kib| kib * 1024.0).ok_or_else(|| io::Error::other("jobmeter has ended too early"))
    }

    pub(crate) fn wait_for_file(&mut self, path: &Path) -> io::Result<()> {
        let start = Instant::now();
        while !path.exists() {
            if self.child.try_wait()?.is_some() || start.elapsed() > Duration::from_secs(120) {
                return Err(io::Error::other(format!("{} was never written", path.display())));
            }
            sys::sleep_ms(2);
        }
        Ok(())
    }

    /// Runs to the end and returns the CPU time that jobmeter used, to within the last 10 ms, and the wall time.
    pub(crate) fn finish(&mut self) -> io::Result<(f64, f64)> {
        let start = Instant::now();
        let mut cpu_ns = 0;
        while self.child.try_wait()?.is_none() {
            cpu_ns = self.cpu_ns().unwrap_or(cpu_ns);
            sys::sleep_ms(10);
        }
        Ok((cpu_ns as f64, start.elapsed().as_nanos() as f64))
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // SAFETY: our own child, not yet waited for, so the pid is still its own; TERM is forwarded to the job.
            unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) };
            let _ = self.child.wait();
        }
    }
}
