//! Which GPUs: by UUID, by brand, none, those that the job can see, and what is said where there are none.

use super::rig::{MIB, Rig, device, fixtures, lay};
use crate::help::Run;
use crate::help::fake_nvml::library;
use serde_json::{Value, json};

fn two() -> Value {
    json!({"devices": [device("GPU-0", json!([{"pid": "main", "memory": MIB}]), json!([])),
        device("GPU-1", json!([]), json!([])), device("GPU-2", json!([]), json!([]))]})
}

fn names(run: &Run) -> Vec<&str> {
    run.summary().gpus.iter().map(|gpu| gpu.name.as_str()).collect()
}

#[test]
fn wrong_uuids_are_refused_before_the_job_starts() {
    for (name, list, expected) in [
        ("unknown", "GPU-0,GPU-9", "no GPU has the UUID GPU-9: valid are GPU-0, GPU-1, GPU-2"),
        ("empty", "", "the list of GPU UUIDs is empty"),
    ] {
        let rig = Rig::scripted(name, &two());
        let run = rig.run(&["--gpu-uuids", list], "touch started");
        assert_eq!(run.code, 125, "{list}");
        assert!(run.stderr.contains(expected), "{}", run.stderr);
        assert!(!rig.room.path("started").exists());
    }
}

#[test]
fn chosen_gpus_are_the_expected_ones() {
    let rig = Rig::scripted("chosen", &two());
    let run = rig.run(&["--gpu-uuids", "GPU-1,gpu-2"], "sleep 0.3");
    assert_eq!(names(&run), ["GPU-1", "GPU-2"]);
    let system = &run.summary().system;
    // 80 % on each of two: 160 % in sum, 80 % of the hardware.
    assert_eq!(system["gpu_busy_ppm_max"].as_f64(), Some(1_600_000.0));
    assert_eq!(system["gpu_hardware_ratio_max"].as_f64(), Some(0.8));
}

#[test]
fn a_brand_narrows_and_no_gpu_leaves_them_alone() {
    let rig = Rig::scripted("brand", &two());
    for (number, driver) in [(0, "amdgpu"), (1, "i915")] {
        let cards = rig.root().join("sys/class/drm");
        lay(
            &fixtures().join(format!("drm/{driver}/sys/class/drm/card0")),
            &cards.join(format!("card{number}")),
        );
    }
    let amd = "GPU-1a2b3c4d5e6f7081";
    let intel = "pci-0000:00:02.0";
    for (options, expected) in [
        (&[][..], &["GPU-0", "GPU-1", "GPU-2", amd, intel][..]),
        (&["--gpu-brand", "nvidia"], &["GPU-0", "GPU-1", "GPU-2"]),
        (&["--gpu-brand", "amd"], &[amd]),
        (&["--gpu-uuids", "1aff73bf-0000-1000-802b-3c4d5e6f7081"], &[amd]),
        (&["--gpu-uuids", "0x1a2b3c4d5e6f7081"], &[amd]),
        (&["--gpu-brand", "intel"], &[intel]),
        (&["--gpu-uuids", intel], &[intel]),
        (&["--no-gpu"], &[]),
    ] {
        let run = rig.run(options, "sleep 0.3");
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(names(&run), expected, "{options:?}");
    }
    let wrong = rig.run(&["--gpu-brand", "nvidea"], "true");
    assert_eq!(wrong.code, 125);
    assert!(wrong.stderr.contains("nvidia, amd or intel"), "{}", wrong.stderr);
}

#[test]
fn visible_gpus_that_were_never_used_are_named() {
    let rig = Rig::scripted("visible", &two());
    for (visible, seen, said) in [
        (None, ["yes", "yes", "yes"], "2 of 3 visible GPUs were never used"),
        (Some("0,2"), ["yes", "no", "yes"], "1 of 2 visible GPUs were never used"),
        (Some("GPU-1"), ["no", "yes", "no"], "1 of 1 visible GPUs were never used"),
    ] {
        let mut command = rig.command(&[], &["sh", "-c", "echo $$ > main.pid; sleep 0.7"]);
        command.envs(visible.map(|list| ("CUDA_VISIBLE_DEVICES", list)));
        let run = rig.room.finish(command);
        let marks: Vec<&str> = run.summary().gpus.iter().map(|gpu| gpu.facts["visible"].as_str()).collect();
        assert_eq!(marks, seen, "{visible:?}");
        let used: Vec<&str> = run.summary().gpus.iter().map(|gpu| gpu.facts["used"].as_str()).collect();
        assert_eq!(used, ["yes", "no", "no"]);
        let shown = rig.room.finish(rig.room.jobmeter(&["show", "--full", &rig.room.file("run.jobmeter")]));
        let text = String::from_utf8(shown.stdout).expect("UTF-8");
        assert!(text.contains(said), "{visible:?}: {text}");
    }
}

#[test]
fn a_list_that_names_a_gpu_twice_shows_none() {
    let rig = Rig::scripted("twice", &two());
    let mut command = rig.command(&[], &["sleep", "0.3"]);
    command.env("CUDA_VISIBLE_DEVICES", "0,0");
    let run = rig.room.finish(command);
    assert!(run.summary().gpus.iter().all(|gpu| gpu.facts["visible"] == "no"));
    assert!(!rig.reasons().contains("never used"), "{}", rig.reasons());
}

#[test]
fn another_nvml_may_be_named() {
    let rig = Rig::new("nvml");
    std::fs::write(rig.room.path("state.json"), two().to_string()).expect("a state");
    std::fs::copy(library(), rig.room.path("other.so")).expect("a copy");
    let named = rig.room.file("other.so");
    let mut command = rig.command(&["--nvml", &named], &["sleep", "0.3"]);
    command.env("JOBMETER_NVML_PATH", rig.room.path("no-such.so"));
    assert_eq!(
        names(&rig.room.finish(command)),
        ["GPU-0", "GPU-1", "GPU-2"],
        "the flag goes before the environment"
    );
}

#[test]
fn the_library_is_found_where_the_loader_does_not_look() {
    let rig = Rig::new("elsewhere");
    std::fs::write(rig.room.path("state.json"), two().to_string()).expect("a state");
    let place = "run/opengl-driver/lib";
    std::fs::create_dir_all(rig.root().join(place)).expect("a folder");
    std::fs::copy(library(), rig.root().join(place).join("libnvidia-ml.so.1")).expect("a copy");
    let inside = rig.command(&[], &["sleep", "0.3"]);
    let mut command = std::process::Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-ec"]);
    command.arg("mount --rbind root/run /run; exec \"$@\"").arg("sh");
    command.arg(inside.get_program()).args(inside.get_args()).current_dir(&rig.room.dir);
    for (name, value) in inside.get_envs() {
        match value.filter(|_| name != "JOBMETER_NVML_PATH") {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let run = rig.room.finish(command);
    if run.stderr.contains("unshare:") || run.stderr.contains("mount:") {
        crate::help::not_here("no mount namespace may be made");
        return;
    }
    assert_eq!(names(&run), ["GPU-0", "GPU-1", "GPU-2"], "{}", run.stderr);
}

#[test]
fn where_there_is_none_only_verbose_says_so() {
    let rig = Rig::new("none");
    let text = |options: &[&str]| {
        let mut command = rig.room.jobmeter(&[&["run", "--no-record"], options, &["--", "true"]].concat());
        rig.point(&mut command);
        rig.room.finish(command).stderr
    };
    let looked = "no GPU found (looked for libnvidia-ml.so.1, /dev/nvidiactl, /sys/class/drm/card*)";
    assert!(text(&["-v"]).contains(looked));
    assert!(!text(&[]).contains("GPU"), "silent without -v");
    assert!(!text(&["-v", "--no-gpu"]).contains("GPU"), "nobody asked for one");
}
