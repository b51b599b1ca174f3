//! A machine with imaginary GPUs, and `jobmeter run` on it.

use crate::help::fake_nvml::library;
use crate::help::{Room, Run};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const MIB: u64 = 1 << 20;

/// Main and two children, which write their numbers for the script.
pub(crate) const FAMILY: &str =
    "echo $$ > main.pid; sleep 2 & echo $! > one.pid; sleep 2 & echo $! > two.pid; wait";

pub(crate) struct Rig {
    pub(crate) room: Room,
    pub(crate) interval: &'static str,
}

impl Rig {
    /// No DRM cards and no energy counters, whatever the machine has that runs the test; processes are the real ones.
    pub(crate) fn new(name: &str) -> Rig {
        let room = Room::new(&format!("gpu-{name}"));
        fs::create_dir_all(room.path("root")).expect("a root");
        std::os::unix::fs::symlink("/proc", room.path("root/proc")).expect("a link");
        Rig { room, interval: "20ms" }
    }

    /// As `new`, with the NVIDIA driver told what to say.
    pub(crate) fn scripted(name: &str, state: &Value) -> Rig {
        let rig = Rig::new(name);
        fs::write(rig.room.path("state.json"), state.to_string()).expect("a state");
        rig
    }

    /// As `new`, with a copy of a captured `sys`; the job makes the `proc` of its processes.
    pub(crate) fn with_sys(name: &str, fixture: &str) -> Rig {
        let rig = Rig::new(name);
        lay(&fixtures().join(fixture).join("sys"), &rig.room.path("root/sys"));
        rig
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.room.path("root")
    }

    /// `jobmeter run OPTIONS -- sh -c JOB` with record and JSON in the room. Without a state there is no NVML.
    pub(crate) fn command(&self, options: &[&str], job: &[&str]) -> Command {
        let (record, summary) = (self.room.file("run.jobmeter"), self.room.file("summary.json"));
        let fixed =
            ["run", "-i", self.interval, "-f", "json", "--force", "--record", &record, "-o", &summary];
        let mut command = self.room.jobmeter(&[&fixed[..], options, &["--"], job].concat());
        self.point(&mut command);
        command
    }

    /// Shows a `jobmeter` this machine instead of the real one.
    pub(crate) fn point(&self, command: &mut Command) {
        for name in
            ["CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"]
        {
            command.env_remove(name);
        }
        command.current_dir(&self.room.dir).env("JOBMETER_GPU_ROOT", self.root());
        command.env_remove("JOBMETER_NVML_PATH");
        let state = self.room.path("state.json");
        if state.exists() {
            command.env("FAKE_NVML_STATE", state).env("JOBMETER_NVML_PATH", library());
            // Also where the tests run in a container: the script names processes as they call themselves.
            command.env("JOBMETER_GPU_PIDS", "ours");
        }
    }

    pub(crate) fn run(&self, options: &[&str], job: &str) -> Run {
        self.room.finish(self.command(options, &["sh", "-c", job]))
    }

    /// What the record says of its sources and warnings, as one text.
    pub(crate) fn reasons(&self) -> String {
        let shown = self.json(&["show", &self.room.file("run.jobmeter"), "--json"]);
        format!("{}{}", shown["sources"], shown["warnings"])
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let shown = self.room.finish(self.room.jobmeter(arguments));
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        serde_json::from_slice(&shown.stdout).expect("JSON")
    }
}

/// A healthy device; the job's processes and their utilisation samples go by the names of [`FAMILY`].
pub(crate) fn device(uuid: &str, processes: Value, samples: Value) -> Value {
    json!({"name": "Imaginary A100", "uuid": uuid, "memory_total": 1000 * MIB, "memory_used": 700 * MIB,
        "gpu_util": 80, "memory_util": 40, "power_mw": 250_000, "energy_mj": 1000, "temperature_c": 71,
        "sm_mhz": 1410, "memory_mhz": 1215, "throttle": 4, "pcie_rx_kb": 5, "pcie_tx_kb": 6,
        "compute": processes, "samples": samples})
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Copies a tree, links as links.
pub(crate) fn lay(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        let kind = entry.file_type().expect("its type");
        if kind.is_dir() {
            lay(&entry.path(), &target);
        } else if kind.is_symlink() {
            let link = fs::read_link(entry.path()).expect("a link");
            std::os::unix::fs::symlink(link, &target).expect("a link");
        } else {
            fs::copy(entry.path(), &target).expect("a copy");
        }
    }
}
