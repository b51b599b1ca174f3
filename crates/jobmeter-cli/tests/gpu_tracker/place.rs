//! A folder to call the program in, and the report that it prints.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

pub(crate) const DONE: &str = "Resource tracking complete. Process completed with status code: ";

/// The report, numbers masked, units of the first release's defaults.
pub(crate) const REPORT: &str = "\
Max RAM:
   Unit: gigabytes
   System capacity: N
   System: N
   Main:
      Total RSS: N
      Private RSS: N
      Shared RSS: N
   Descendants:
      Total RSS: N
      Private RSS: N
      Shared RSS: N
   Combined:
      Total RSS: N
      Private RSS: N
      Shared RSS: N
Max GPU RAM:
   Unit: gigabytes
   System capacity: N
   System: N
   Main: N
   Descendants: N
   Combined: N
CPU utilization:
   System core count: N
   Number of expected cores: N
   System:
      Max sum percent: N
      Max hardware percent: N
      Mean sum percent: N
      Mean hardware percent: N
   Main:
      Max sum percent: N
      Max hardware percent: N
      Mean sum percent: N
      Mean hardware percent: N
   Descendants:
      Max sum percent: N
      Max hardware percent: N
      Mean sum percent: N
      Mean hardware percent: N
   Combined:
      Max sum percent: N
      Max hardware percent: N
      Mean sum percent: N
      Mean hardware percent: N
   Main number of threads: N
   Descendants number of threads: N
   Combined number of threads: N
GPU utilization:
   System GPU count: N
   Number of expected GPUs: N
   GPU percentages:
      Max sum percent: N
      Max hardware percent: N
      Mean sum percent: N
      Mean hardware percent: N
Compute time:
   Unit: hours
   Time: N";

const SCRIPT: &str =
    "echo said\npython3 -c 'import time; x = bytearray(20000000); time.sleep(0.5)'\nexit 0\n";

pub(crate) struct Place(pub(crate) TempDir);

impl Place {
    pub(crate) fn new() -> Place {
        let place = Place(tempfile::tempdir().expect("temporary folder"));
        place.write("example-script.sh", SCRIPT);
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("file");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jobmeter"));
        command.arg("gpu-tracker").args(words).current_dir(self.0.path());
        command.env_remove("CUDA_VISIBLE_DEVICES").env_remove("JOBMETER_NVML_PATH");
        // Also where the tests run in a container: the script names processes as they call themselves.
        command.env("JOBMETER_GPU_PIDS", "ours");
        // A record would land here.
        command.env("XDG_DATA_HOME", self.path("data")).env("HOME", self.path("home"));
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("jobmeter starts")
    }

    /// Standard output of a call that succeeds.
    pub(crate) fn out(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Standard error of a call that fails with 1 and prints nothing.
    pub(crate) fn refused(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert_eq!(text(&output.stdout), "", "{words:?}");
        text(&output.stderr)
    }

    /// Python with our package, which must succeed.
    pub(crate) fn python(&self, program: &str) -> String {
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
        let output = Command::new("python3")
            .args(["-c", program])
            .current_dir(self.0.path())
            .env("PYTHONPATH", package)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .output()
            .expect("python3 starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Every number behind `: ` becomes N; it must be one.
pub(crate) fn masked(text: &str) -> String {
    let mask = |line: &str| match line.rsplit_once(": ") {
        Some((key, value)) => {
            let number = value.trim_end_matches(',');
            let comma = &value[number.len()..];
            match number.parse::<f64>() {
                Ok(_) => format!("{key}: N{comma}"),
                Err(_) => line.to_owned(),
            }
        }
        None => line.to_owned(),
    };
    text.split('\n').map(mask).collect::<Vec<_>>().join("\n")
}
