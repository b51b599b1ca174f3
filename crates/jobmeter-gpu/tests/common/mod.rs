//! A rig: an own copy of the fake NVML with its state file, and real processes to name in it.
#![allow(dead_code, reason = "each test program uses its part")]
#![expect(clippy::disallowed_types, reason = "no child of this test waits for it")]

use jobmeter_gpu::{GpuConfig, GpuMonitor, GpuSnapshot, Layout, Member, Status};
use jobmeter_model::ProcessId;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Long enough for a loaded machine; nothing waits for it in vain.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Builds the fake library and the stand-in once and gives their folder.
pub(crate) fn testkit() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let status = Command::new(cargo)
            .args(["build", "--quiet", "-p", "jobmeter-fake-nvml"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .expect("cargo runs");
        assert!(status.success(), "the fake NVML builds");
        let test = std::env::current_exe().expect("own path");
        // target/PROFILE/deps/TEST; the fake is always a debug build.
        let target = test.parent().and_then(Path::parent).and_then(Path::parent).expect("target folder");
        target.join("debug")
    })
}

pub(crate) struct Rig {
    pub(crate) folder: PathBuf,
}

impl Rig {
    pub(crate) fn new(name: &str) -> Rig {
        let folder = temporary(name);
        fs::copy(testkit().join("libfake_nvml.so"), folder.join("libnvidia-ml.so.1")).expect("copy");
        Rig { folder }
    }

    /// Replaces the state in one step, as a reader may look at any time.
    pub(crate) fn write(&self, state: &Value) {
        let aside = self.folder.join("next.json");
        fs::write(&aside, state.to_string()).expect("write");
        fs::rename(&aside, self.state_path()).expect("rename");
    }

    pub(crate) fn state_path(&self) -> PathBuf {
        self.folder.join("fake-nvml.json")
    }

    pub(crate) fn config(&self) -> GpuConfig {
        let root = self.folder.join("root");
        fs::create_dir_all(&root).expect("root");
        // Real processes, no DRM cards of the machine that runs the test.
        let link = root.join("proc");
        if !link.exists() {
            std::os::unix::fs::symlink("/proc", &link).expect("link");
        }
        // Also where the tests run in a container: the script names processes as they call themselves.
        let pid_view = jobmeter_gpu::PidView::Ours;
        let nvml_path = Some(self.folder.join("libnvidia-ml.so.1"));
        GpuConfig { nvml_path, root, pid_view, ..GpuConfig::default() }
    }

    pub(crate) fn monitor(&self) -> GpuMonitor {
        GpuMonitor::start(self.config()).expect("a valid request").expect("a driver to try")
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

pub(crate) fn temporary(name: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("jobmeter-gpu-{}-{count}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("temporary folder");
    folder
}

/// A real process that does nothing until it is dropped.
pub(crate) struct Sleeper(Child);

impl Sleeper {
    pub(crate) fn new() -> Sleeper {
        Sleeper(Command::new("sleep").arg("600").spawn().expect("sleep starts"))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn id(&self) -> ProcessId {
        let pid = self.0.id() as i32;
        ProcessId { pid, start_ticks: start_ticks(&format!("/proc/{pid}/stat")) }
    }

    pub(crate) fn member(&self, main: bool) -> Member {
        Member { id: self.id(), main }
    }

    /// Ends it and reaps it, so that its number is free.
    pub(crate) fn end(mut self) {
        self.0.kill().expect("kill");
        self.0.wait().expect("wait");
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn start_ticks(stat: &str) -> u64 {
    let text = fs::read_to_string(stat).expect("stat");
    let fields = text.rsplit_once(')').expect("command name").1;
    fields.split_ascii_whitespace().nth(19).expect("field 22").parse().expect("number")
}

pub(crate) fn sample(monitor: &GpuMonitor) -> Arc<GpuSnapshot> {
    monitor.sample_within(PATIENCE).unwrap_or_else(|| panic!("no sample: {:?}", monitor.status()))
}

pub(crate) fn ready(monitor: &GpuMonitor) {
    let begin = Instant::now();
    while monitor.status() != Status::Ready {
        assert!(begin.elapsed() < PATIENCE, "{:?}", monitor.status());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The series of each column over several snapshots, as the engine would store it.
#[derive(Default)]
pub(crate) struct Series {
    layout: Option<Layout>,
    rows: Vec<Vec<Option<u64>>>,
}

impl Series {
    pub(crate) fn push(&mut self, snapshot: &GpuSnapshot) {
        let layout = self.layout.get_or_insert_with(|| Layout::new(&snapshot.devices));
        let mut row = Vec::new();
        layout.values(snapshot, &mut row);
        assert_eq!(row.len(), layout.columns().len());
        self.rows.push(row);
    }

    /// `combined_gpu_memory_bytes[GPU-1]` and the like.
    pub(crate) fn column(&self, name: &str) -> Vec<Option<u64>> {
        let layout = self.layout.as_ref().expect("pushed before");
        let names: Vec<String> = layout.columns().iter().map(jobmeter_model::Column::name).collect();
        let place = names.iter().position(|known| known == name);
        let place = place.unwrap_or_else(|| panic!("no column {name} in {names:?}"));
        self.rows.iter().map(|row| row[place]).collect()
    }

    pub(crate) fn max(&self, name: &str) -> Option<u64> {
        self.column(name).into_iter().max().flatten()
    }

    /// Mean over the ticks; unknown if a tick is.
    pub(crate) fn mean(&self, name: &str) -> Option<f64> {
        let values: Option<Vec<u64>> = self.column(name).into_iter().collect();
        let values = values?;
        Some(values.iter().sum::<u64>() as f64 / values.len() as f64)
    }
}
