//! The GPUs that `jobmeter host` names: of the fake driver, and of fake kernel files.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

const MIB: u64 = 1 << 20;

/// Builds the fake NVML and gives its path.
fn library() -> PathBuf {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "jobmeter-fake-nvml"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the fake NVML builds");
    let test = std::env::current_exe().expect("own path");
    // target/PROFILE/deps/TEST; the fake is always a debug build.
    test.ancestors().nth(3).expect("target folder").join("debug/libfake_nvml.so")
}

fn device(uuid: &str) -> Value {
    json!({"name": "Imaginary A100", "uuid": uuid, "memory_total": 1000 * MIB, "memory_used": 0, "gpu_util": 0})
}

fn host(root: Option<&Path>, place: &Path, library: &Path) -> (Value, String) {
    let ask = |json: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jobmeter"));
        command.arg("host").args(json.then_some("--json"));
        if let Some(root) = root {
            command.arg("--root").arg(root);
        }
        command.env("FAKE_NVML_STATE", place.join("state.json")).env("JOBMETER_NVML_PATH", library);
        let output = command.output().expect("jobmeter starts");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    (serde_json::from_str::<Value>(&ask(true)).expect("JSON")["gpus"].take(), ask(false))
}

#[test]
fn host_names_the_gpus_that_the_driver_shows() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let state = json!({"devices": [device("GPU-0"), device("GPU-1")]});
    std::fs::write(place.join("state.json"), state.to_string()).expect("state");
    let (gpus, text) = host(None, place, &library());
    let one = |uuid: &str| json!({"name": "Imaginary A100", "uuid": uuid, "memory_bytes": 1000 * MIB});
    assert_eq!(gpus, json!([one("GPU-0"), one("GPU-1")]));
    assert_eq!(text.lines().filter(|line| line.contains("Imaginary A100")).count(), 2, "{text}");
}

#[test]
fn host_names_the_gpus_that_the_kernel_shows() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    // A library that is none: only the kernel's own files can tell.
    let none = place.join("no-driver.so");
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
        let (gpus, text) = host(Some(&fixtures.join(driver)), place, &none);
        assert_eq!(gpus, wanted, "{driver}");
        assert_eq!(
            text.lines().filter(|line| line.starts_with("GPU")).count(),
            wanted.as_array().unwrap().len()
        );
    }
}
