//! `jobmeter run` on a machine with imaginary GPUs: what the JSON says equals the script, and a driver that
//! misbehaves changes neither the job's exit code nor its output.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// Builds the fake NVML once and gives its path.
fn library() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let status = Command::new(cargo)
            .args(["build", "--quiet", "-p", "jobmeter-fake-nvml"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .expect("cargo runs");
        assert!(status.success(), "the fake NVML builds");
        let test = std::env::current_exe().expect("own path");
        test.ancestors().nth(3).expect("target folder").join("debug/libfake_nvml.so")
    })
}

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let folder = std::env::temp_dir().join(format!("jobmeter-cli-gpu-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("temporary folder");
        Place(folder)
    }

    fn run(&self, state: &Value, options: &[&str], job: &str) -> (Output, Duration) {
        std::fs::write(self.0.join("state.json"), state.to_string()).expect("state");
        self.run_with(library(), options, job)
    }

    fn run_with(&self, library: &Path, options: &[&str], job: &str) -> (Output, Duration) {
        let begin = Instant::now();
        let output = Command::new(env!("CARGO_BIN_EXE_jobmeter"))
            .args(["run", "-i", "20ms", "--no-record", "-f", "json", "--force", "-o"])
            .arg(self.0.join("summary.json"))
            .args(options)
            .args(["--", "sh", "-c", job])
            .current_dir(&self.0)
            .env("FAKE_NVML_STATE", self.0.join("state.json"))
            .env("JOBMETER_NVML_PATH", library)
            .env_remove("CUDA_VISIBLE_DEVICES")
            .output()
            .expect("jobmeter starts");
        (output, begin.elapsed())
    }

    fn summary(&self) -> Value {
        let text = std::fs::read_to_string(self.0.join("summary.json")).expect("a summary");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Everything that was said of sources, as one text.
    fn sources(&self) -> String {
        self.summary()["sources"].to_string()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn device(uuid: &str, processes: Value, samples: Value) -> Value {
    json!({"name": "Imaginary A100", "uuid": uuid, "memory_total": 1000 * MIB, "memory_used": 700 * MIB,
        "gpu_util": 80, "memory_util": 40, "power_mw": 250_000, "energy_mj": 1000, "temperature_c": 71,
        "sm_mhz": 1410, "memory_mhz": 1215, "throttle": 4, "pcie_rx_kb": 5, "pcie_tx_kb": 6,
        "compute": processes, "samples": samples})
}

/// Main and two children, which write their numbers for the script; runs until the meter has seen them.
const JOB: &str = "echo $$ > main.pid; sleep 0.6 & echo $! > one.pid; sleep 0.6 & echo $! > two.pid; \
    echo said; wait; exit 7";

fn value(figures: &Value, key: &str) -> Option<f64> {
    figures[key]["value"].as_f64()
}

#[test]
fn the_summary_equals_the_script() {
    let place = Place::new("truth");
    let processes = |main: u64, one: u64, two: u64| {
        json!([{"pid": "main", "memory": main * MIB}, {"pid": "one", "memory": one * MIB},
            {"pid": "two", "memory": two * MIB}, {"pid": 1, "memory": 90 * MIB}])
    };
    let samples = json!([{"pid": "main", "sm": 30}, {"pid": "one", "sm": 20}, {"pid": "two", "sm": 10}, {"pid": 1, "sm": 9}]);
    let state = json!({"devices": [
        device("GPU-0", processes(100, 20, 3), samples),
        device("GPU-1", processes(200, 0, 50), json!([])),
        device("GPU-2", json!([]), json!([])),
    ]});
    let (output, _) = place.run(&state, &["--carbon-intensity", "230"], JOB);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stdout, b"said\n");
    let summary = place.summary();
    for (scope, memory, busy) in
        [("main", [100, 200], 30), ("descendants", [23, 50], 30), ("combined", [123, 250], 60)]
    {
        let figures = &summary[scope];
        let both = (memory[0] + memory[1]) * MIB;
        assert_eq!(value(figures, "gpu_memory_bytes_max"), Some(both as f64), "{scope}");
        assert_eq!(value(figures, "gpu_busy_ppm_max"), Some(f64::from(busy) * 1e4), "{scope}");
        for (gpu, memory) in memory.iter().enumerate() {
            let key = format!("{scope}_gpu_memory_bytes_max");
            assert_eq!(value(&summary["gpus"][gpu]["figures"], &key), Some((memory * MIB) as f64), "{key}");
        }
    }
    let system = &summary["system"];
    assert_eq!(value(system, "gpu_memory_bytes_mean"), Some((2100 * MIB) as f64));
    assert_eq!(value(system, "gpu_busy_ppm_mean"), Some(2_400_000.0));
    assert_eq!(value(system, "gpu_hardware_ratio_mean"), Some(0.8));
    assert_eq!(value(&summary["combined"], "gpu_hardware_ratio_max"), Some(0.2));
    assert_eq!(value(system, "gpu_power_mw_max"), Some(750_000.0));
    let gpu = &summary["gpus"][0];
    assert_eq!(value(&gpu["figures"], "gpu_temperature_mc_max"), Some(71_000.0));
    assert_eq!(value(&gpu["figures"], "gpu_throttle_bits_max"), Some(4.0));
    assert_eq!(gpu["facts"]["used"], "yes");
    assert_eq!(summary["gpus"][2]["facts"]["used"], "no");
    assert!(place.sources().contains("1 of 3 visible GPUs were never used by the job"));
    assert_eq!(summary["combined"]["co2_grams"]["quality"], "estimate");
}

#[test]
fn a_misbehaving_driver_changes_nothing_for_the_job() {
    let healthy = || device("GPU-0", json!([{"pid": "main", "memory": MIB}]), json!([]));
    for (name, key, script, expected) in [
        ("hang-init", "hang", json!(["nvmlInit_v2"]), "nvmlInit_v2"),
        ("hang-sample", "hang", json!(["nvmlDeviceGetMemoryInfo_v2"]), "nvmlDeviceGetMemoryInfo_v2"),
        ("slow-init", "delay_ms", json!({"nvmlInit_v2": 20_000}), "nvmlInit_v2"),
        ("fail-init", "fail", json!({"nvmlInit_v2": 9}), "the NVIDIA kernel driver is not loaded"),
        (
            "fail-power",
            "fail",
            json!({"nvmlDeviceGetPowerUsage": 999}),
            "nvmlDeviceGetPowerUsage: NVML error 999",
        ),
    ] {
        let place = Place::new(name);
        let mut state = json!({"devices": [healthy()]});
        state[key] = script;
        let (output, took) = place.run(&state, &[], "echo out; echo err >&2; sleep 0.3; exit 3");
        assert_eq!(output.status.code(), Some(3), "{name}");
        assert_eq!(output.stdout, b"out\n", "{name}");
        assert_eq!(output.stderr, b"err\n", "{name}");
        assert!(took < Duration::from_secs(10), "{name} took {took:?}");
        assert!(place.sources().contains(expected), "{name}: {}", place.sources());
    }
    let place = Place::new("missing");
    let (output, _) = place.run_with(&place.0.join("no-such.so"), &[], "exit 3");
    assert_eq!(output.status.code(), Some(3));
    assert!(place.sources().contains("NVML cannot be loaded"), "{}", place.sources());
}

#[test]
fn wrong_choices_are_refused_before_the_job_starts() {
    let state =
        json!({"devices": [device("GPU-0", json!([]), json!([])), device("GPU-1", json!([]), json!([]))]});
    for (options, expected) in [
        (["--gpu-uuids", "GPU-0,GPU-9"], "no GPU has the UUID GPU-9: valid are GPU-0, GPU-1"),
        (["--gpu-uuids", ""], "the list of GPU UUIDs is empty"),
    ] {
        let place = Place::new(options[1]);
        let (output, _) = place.run(&state, &options, "touch started");
        assert_eq!(output.status.code(), Some(125), "{options:?}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(expected), "{error}");
        assert!(!place.0.join("started").exists());
    }
    let place = Place::new("chosen");
    let (output, _) = place.run(&state, &["--gpu-uuids", "GPU-1"], "sleep 0.2");
    assert_eq!(output.status.code(), Some(0));
    let summary = place.summary();
    assert_eq!(summary["gpus"].as_array().map(Vec::len), Some(1));
    assert_eq!(summary["gpus"][0]["name"], "GPU-1");
    let place = Place::new("none");
    let (output, _) = place.run(&state, &["--no-gpu"], "true");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(place.summary()["gpus"].as_array().map(Vec::len), Some(0));
}

/// The job swaps the state of the imaginary driver between its phases: idle first, then at work with four joules.
#[test]
fn phases_tell_what_the_gpus_did_in_them() {
    let place = Place::new("phases");
    let state = |busy_percent: u64, energy_mj: u64| {
        let samples = json!([{"pid": "main", "sm": busy_percent / 2}]);
        let mut device = device("GPU-0", json!([{"pid": "main", "memory": 5 * MIB}]), samples);
        (device["gpu_util"], device["energy_mj"]) = (json!(busy_percent), json!(energy_mj));
        json!({"devices": [device]}).to_string()
    };
    std::fs::write(place.0.join("state.json"), state(0, 1_000)).expect("state");
    std::fs::write(place.0.join("busy.json"), state(80, 5_000)).expect("state");
    let binary = env!("CARGO_BIN_EXE_jobmeter");
    let mark = |how: &str, name: &str| format!("'{binary}' mark --{how} {name} || exit 9");
    let job = format!(
        "echo $$ > main.pid; sleep 0.4\n{}\nsleep 0.3\n{}\n{}\nmv busy.json state.json; sleep 0.6\n{}",
        mark("begin", "idle"),
        mark("end", "idle"),
        mark("begin", "work"),
        mark("end", "work"),
    );
    let call = |arguments: &[&str]| {
        let output = Command::new(binary)
            .args(arguments)
            .current_dir(&place.0)
            .env("JOBMETER_STORE", place.0.join("store"))
            .env("FAKE_NVML_STATE", place.0.join("state.json"))
            .env("JOBMETER_NVML_PATH", library())
            .env_remove("CUDA_VISIBLE_DEVICES")
            .output()
            .expect("jobmeter starts");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    call(&["run", "-q", "-i", "20ms", "--", "sh", "-c", &job]);
    let views: Value = serde_json::from_str(&call(&["show", "--phases", "--json"])).expect("JSON");
    let phase = |name: &str| {
        let phases = views["phases"].as_array().expect("phases");
        phases.iter().find(|phase| phase["name"] == name).expect("the phase").clone()
    };
    let (idle, work) = (phase("idle"), phase("work"));
    let number = |phase: &Value, key: &str| phase[key].as_f64().unwrap_or_else(|| panic!("{key}: {phase}"));
    assert_eq!(number(&idle, "system_gpu_busy_ppm_max"), 0.0);
    assert_eq!(number(&idle, "system_gpu_energy_uj"), 0.0);
    assert_eq!(number(&work, "system_gpu_busy_ppm_max"), 800_000.0);
    assert_eq!(number(&work, "gpu_busy_ppm_max"), 400_000.0);
    assert_eq!(number(&work, "system_gpu_energy_uj"), 4e6);
    assert_eq!(number(&work, "peak_gpu_memory_bytes"), (5 * MIB) as f64);
    // Most of the phase, because the swap comes right after its beginning.
    assert!((400_000.0..=800_000.0).contains(&number(&work, "system_gpu_busy_ppm_mean")), "{work}");
    let text = call(&["show", "--phases"]);
    for word in ["GPU RAM", "GPU job", "GPU all", "GPU energy", "max 80 %", "4 J"] {
        assert!(text.contains(word), "no {word}: {text}");
    }
    let page = {
        call(&["report", "last", "--static", "-o", "page.html"]);
        std::fs::read_to_string(place.0.join("page.html")).expect("the page")
    };
    assert!(page.contains("max 80 %") && page.contains("4 J"));
    let csv = call(&["export", "last", "-t", "phases"]);
    assert!(csv.lines().next().is_some_and(|line| line.ends_with(",system_gpu_energy_uj")), "{csv}");
    assert!(
        csv.lines().any(|line| line.starts_with("\"work\"") && line.ends_with(",800000,4000000")),
        "{csv}"
    );
}

fn host(root: Option<&Path>, place: &Place, library: &Path) -> (Value, String) {
    let ask = |json: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jobmeter"));
        command.arg("host").args(json.then_some("--json"));
        if let Some(root) = root {
            command.arg("--root").arg(root);
        }
        command.env("FAKE_NVML_STATE", place.0.join("state.json")).env("JOBMETER_NVML_PATH", library);
        let output = command.output().expect("jobmeter starts");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    (serde_json::from_str::<Value>(&ask(true)).expect("JSON")["gpus"].take(), ask(false))
}

#[test]
fn host_names_the_gpus_that_the_driver_shows() {
    let place = Place::new("host");
    let state =
        json!({"devices": [device("GPU-0", json!([]), json!([])), device("GPU-1", json!([]), json!([]))]});
    std::fs::write(place.0.join("state.json"), state.to_string()).expect("state");
    let (gpus, text) = host(None, &place, library());
    let one = |uuid: &str| json!({"name": "Imaginary A100", "uuid": uuid, "memory_bytes": 1000 * MIB});
    assert_eq!(gpus, json!([one("GPU-0"), one("GPU-1")]));
    assert_eq!(text.lines().filter(|line| line.contains("Imaginary A100")).count(), 2, "{text}");
}

#[test]
fn host_names_the_gpus_that_the_kernel_shows() {
    let place = Place::new("host-drm");
    // A library that is none: only the kernel's own files can tell.
    let none = place.0.join("no-driver.so");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/drm");
    for (driver, wanted) in [
        (
            "amdgpu",
            json!([
                {"name": "AMD Radeon Pro W7700", "uuid": "GPU-1a2b3c4d5e6f7081", "memory_bytes": 17_163_091_968u64},
                {"name": "AMD GPU 1002:73ff", "uuid": "pci-0000:43:00.0", "memory_bytes": 8_573_157_376u64}
            ]),
        ),
        (
            "i915",
            // Neither tells its memory: unknown, not 0.
            json!([
                {"name": "Intel GPU 8086:4680", "uuid": "pci-0000:00:02.0", "memory_bytes": null},
                {"name": "Intel GPU 8086:56a0", "uuid": "pci-0000:03:00.0", "memory_bytes": null}
            ]),
        ),
        (
            "xe",
            json!([{"name": "Intel GPU 8086:e20b", "uuid": "pci-0000:03:00.0", "memory_bytes": 12_884_901_888u64}]),
        ),
    ] {
        let (gpus, text) = host(Some(&fixtures.join(driver)), &place, &none);
        assert_eq!(gpus, wanted, "{driver}");
        assert_eq!(
            text.lines().filter(|line| line.starts_with("GPU")).count(),
            wanted.as_array().unwrap().len()
        );
    }
}
