//! `jobmeter host` names the GPUs that the driver or the kernel shows.

use super::rig::{MIB, Rig, device, fixtures};
use serde_json::{Value, json};

/// The GPUs as JSON, and the whole as text.
fn host(rig: &Rig, options: &[&str]) -> (Value, String) {
    let ask = |more: &[&str]| {
        let mut command = rig.room.jobmeter(&[&["host"], options, more].concat());
        rig.point(&mut command);
        let run = rig.room.finish(command);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        String::from_utf8(run.stdout).expect("text")
    };
    (serde_json::from_str::<Value>(&ask(&["--json"])).expect("JSON")["gpus"].take(), ask(&[]))
}

#[test]
fn those_of_the_driver() {
    let devices = ["GPU-0", "GPU-1"].map(|uuid| device(uuid, json!([]), json!([])));
    let rig = Rig::scripted("host", &json!({"devices": devices}));
    let (gpus, text) = host(&rig, &[]);
    let one = |uuid: &str| json!({"name": "Imaginary A100", "uuid": uuid, "memory_bytes": 1000 * MIB});
    assert_eq!(gpus, json!([one("GPU-0"), one("GPU-1")]));
    assert_eq!(text.lines().filter(|line| line.contains("Imaginary A100")).count(), 2, "{text}");
}

#[test]
fn those_of_the_kernel() {
    let rig = Rig::new("host-drm");
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
        let root = fixtures().join("drm").join(driver);
        let (gpus, text) = host(&rig, &["--root", root.to_str().expect("text")]);
        assert_eq!(gpus, wanted, "{driver}");
        let shown = text.lines().filter(|line| line.starts_with("GPU")).count();
        assert_eq!(Some(shown), wanted.as_array().map(Vec::len), "{text}");
    }
}
