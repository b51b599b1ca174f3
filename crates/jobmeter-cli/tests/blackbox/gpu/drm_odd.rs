//! DRM files as other kernels, drivers and ROCm write them: what they do not tell is unknown.

use super::course::Course;
use super::rig::{MIB, Rig};
use super::unknown::is_unknown;
use crate::help::{Run, value};
use serde_json::{Value, json};
use std::fs;

const CARD: &str = "root/sys/class/drm/card0/device";
const MEMORY: [&str; 1] = ["main_gpu_memory_bytes_max"];
const BUSY: [&str; 2] = ["main_gpu_busy_ppm_max", "main_gpu_busy_ppm_mean"];

/// The job holds a descriptor of the first card, with these texts one after the other.
fn run(rig: &mut Rig, texts: &[&str], more: &Value) -> Run {
    let step = |text: &&str| {
        let mut files = more.clone();
        files["proc/PID/fdinfo/5"] = json!(text);
        files
    };
    let mut steps: Vec<Value> = texts.iter().map(|text| json!([step(text), 0.5])).collect();
    // Links are made once.
    steps[0][0]["proc/PID/fd/5"] = json!("/dev/dri/renderD128");
    fs::write(rig.room.path("job.json"), json!(steps).to_string()).expect("steps");
    fs::write(rig.room.path("job.py"), include_str!("drm_one.py")).expect("a job");
    fs::remove_file(rig.root().join("proc")).expect("the link to the real processes");
    rig.interval = "50ms";
    rig.room.finish(rig.command(&[], &["python3", "job.py"]))
}

fn amd(name: &str) -> Rig {
    Rig::with_sys(name, "drm/amdgpu")
}

fn client(driver: &str, pdev: &str, rest: &str) -> String {
    format!("pos:\t0\ndrm-driver:\t{driver}\ndrm-client-id:\t9\ndrm-pdev:\t{pdev}\n{rest}")
}

fn first(run: &Run) -> &jobmeter_model::summary::Figures {
    &run.summary().gpus[0].figures
}

#[test]
fn amdgpu_before_the_common_keys_tells_memory_and_no_use() {
    let text = "pos:\t0\npdev:\t0000:03:00.0\npasid:\t32771\nvram mem:\t2048 kB\ngtt mem:\t512 kB\ncpu mem:\t0 kB\n\
        gfx0:\t12.34%\n";
    let mut rig = amd("old-keys");
    let run = run(&mut rig, &[text], &json!({}));
    assert_eq!(value(first(&run), MEMORY[0]), (2 * MIB) as f64, "{}", run.stderr);
    is_unknown(&run, &BUSY);
    assert_eq!(run.summary().gpus[0].facts["used"], "yes");
}

#[test]
fn clients_without_number_or_without_engines_are_unknown() {
    let no_number = "pos:\t0\ndrm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-memory-vram:\t2048 KiB\n";
    let mut rig = amd("no-number");
    let unnumbered = run(&mut rig, &[no_number], &json!({}));
    is_unknown(&unnumbered, &MEMORY);
    is_unknown(&unnumbered, &BUSY);
    let mut rig = amd("no-engines");
    let text = client("amdgpu", "0000:03:00.0", "drm-memory-vram:\t0 KiB\n");
    let silent = run(&mut rig, &[&text], &json!({}));
    is_unknown(&silent, &BUSY);
    assert_eq!(silent.summary().gpus[0].facts["used"], "unknown");
    assert!(!rig.reasons().contains("2 of 2 visible GPUs were never used"), "{}", rig.reasons());
}

#[test]
fn a_counter_that_steps_back_counts_nothing_twice() {
    let text =
        |ms: u64| client("i915", "0000:00:02.0", &format!("drm-engine-render:\t{} ns\n", ms * 1_000_000));
    let texts = [0, 5000, 2000, 5000, 2000, 5000, 2000, 5000].map(text);
    let mut rig = Rig::with_sys("step-back", "drm/i915");
    run(&mut rig, &texts.each_ref().map(String::as_str), &json!({}));
    // One jump of 5 s makes one tick fully busy, if a sample caught it; stepping back and forth counts as no work.
    // Two ticks may show the same sample.
    let column = Course::of(&rig).column("main_gpu_busy_ppm", Some("pci-0000:00:02.0"));
    let full: Vec<u64> = column.values().filter(|ppm| *ppm > 0).collect();
    assert!(full.len() <= 2, "{full:?}");
}

#[test]
fn cycles_without_those_that_have_passed_are_no_use() {
    let text = |cycles: u64| {
        client("xe", "0000:03:00.0", &format!("drm-cycles-rcs:\t{cycles}\ndrm-total-vram0:\t4 MiB\n"))
    };
    let texts = [text(1000), text(90_000_000)];
    let mut rig = Rig::with_sys("cycles", "drm/xe");
    let run = run(&mut rig, &texts.each_ref().map(String::as_str), &json!({}));
    is_unknown(&run, &BUSY);
    assert_eq!(value(first(&run), MEMORY[0]), (4 * MIB) as f64);
}

#[test]
fn an_apu_counts_what_it_maps_of_the_systems_memory() {
    let mut rig = amd("apu");
    fs::write(rig.room.path(CARD).join("gpu_metrics"), [0x80, 0, 2, 1, 0, 0]).expect("a table");
    let read =
        |file: &str| -> f64 { rig.room.text(&format!("{CARD}/{file}")).trim().parse().expect("a number") };
    let (used, mapped) = (read("mem_info_vram_used"), read("mem_info_gtt_used"));
    let text = client(
        "amdgpu",
        "0000:03:00.0",
        "drm-memory-vram:\t1 MiB\ndrm-memory-gtt:\t6 MiB\ndrm-engine-gfx:\t5 ns\n",
    );
    let run = run(&mut rig, &[&text], &json!({}));
    assert_eq!(value(first(&run), MEMORY[0]), (7 * MIB) as f64);
    assert_eq!(value(first(&run), "gpu_memory_bytes_max"), used + mapped);
}

#[test]
fn xe_energy_of_the_package_where_the_card_has_none() {
    let mut rig = Rig::with_sys("energy2", "drm/xe");
    let hwmon = rig.room.path(CARD).join("hwmon/hwmon2");
    fs::rename(hwmon.join("energy1_input"), hwmon.join("energy2_input")).expect("another name");
    let text = client("xe", "0000:03:00.0", "drm-total-vram0:\t4 MiB\n");
    let run = run(&mut rig, &[&text], &json!({}));
    assert_eq!(run.summary().gpus[0].facts["energy_method"], "driver counter");
}

/// A topology with the first card, which has 60 compute units.
fn topology(rig: &Rig) {
    let node = rig.root().join("sys/class/kfd/kfd/topology/nodes/1");
    fs::create_dir_all(&node).expect("a node");
    fs::write(node.join("gpu_id"), "4711\n").expect("its number");
    // Bus 3.
    let properties = "cpu_cores_count 0\nsimd_count 240\nsimd_per_cu 4\nlocation_id 768\ndomain 0\n";
    fs::write(node.join("properties"), properties).expect("its properties");
}

#[test]
fn rocm_is_read_where_its_driver_tells() {
    let mut rig = amd("rocm");
    topology(&rig);
    let own = "sys/class/kfd/kfd/proc/PID";
    let more = json!({"proc/PID/fdinfo/7": "pos:\t0\n", format!("{own}/vram_4711"): "104857600\n",
        format!("{own}/sdma_4711"): "0\n", format!("{own}/stats_4711/cu_occupancy"): "15\n"});
    let text = client("amdgpu", "0000:03:00.0", "drm-memory-vram:\t1024 KiB\n");
    let run = run(&mut rig, &[&text, &text], &more);
    assert_eq!(value(first(&run), MEMORY[0]), (100 * MIB) as f64, "the megabyte is part of it");
    assert_eq!(value(first(&run), BUSY[0]), 250_000.0, "15 of 60 units");
    assert_eq!(run.summary().gpus[0].facts["used"], "yes");
}

#[test]
fn rocm_that_its_driver_does_not_tell_is_unknown() {
    let mut rig = amd("rocm-untold");
    topology(&rig);
    let more = json!({"sys/class/kfd/kfd/proc/PID/pasid": "32770\n"});
    let text = client("amdgpu", "0000:03:00.0", "drm-memory-vram:\t1024 KiB\n");
    let run = run(&mut rig, &[&text], &more);
    is_unknown(&run, &MEMORY);
    is_unknown(&run, &BUSY);
    assert_ne!(run.summary().gpus[0].facts["used"], "no");
}

#[test]
fn fdinfo_of_a_sleeping_xe_card_is_not_read() {
    let mut rig = Rig::with_sys("xe-asleep", "drm/xe");
    fs::write(rig.room.path(CARD).join("power/runtime_status"), "suspended\n").expect("asleep");
    let text = client("xe", "0000:03:00.0", "drm-total-vram0:\t4 MiB\ndrm-engine-rcs:\t5 ns\n");
    let run = run(&mut rig, &[&text], &json!({}));
    is_unknown(&run, &MEMORY);
    assert!(rig.reasons().contains("not read while the card is asleep"), "{}", rig.reasons());
}

/// How far apart two samples lie is the scheduler's choice, so the busy time counts and not the share of one gap. A slow
/// start may miss the first step, and a tick may show the sample of the tick before.
fn was_busy_for_90_ms(run: &Run) {
    let share = value(first(run), BUSY[1]) / 1e6;
    let busy_ns = share * run.summary().run.wall_ns.expect("wall time") as f64;
    assert!((20e6..200e6).contains(&busy_ns), "{busy_ns} ns of 90,000,000: {}", run.stderr);
}

#[test]
fn panfrost_has_no_address_and_counts_time_beside_cycles() {
    // Of Linux 6.7: the time of two job slots, cycles without their total, and no drm-pdev.
    let text = |ms: u64| {
        format!(
            "pos:\t0\ndrm-driver:\tpanfrost\ndrm-client-id:\t12\ndrm-engine-fragment:\t{0} ns\n\
             drm-cycles-fragment:\t94439687187\ndrm-maxfreq-fragment:\t799999987 Hz\n\
             drm-curfreq-fragment:\t799999987 Hz\ndrm-engine-vertex-tiler:\t{1} ns\n\
             drm-cycles-vertex-tiler:\t22\ndrm-total-memory:\t290 MiB\ndrm-resident-memory:\t7 MiB\n\
             drm-purgeable-memory:\t128 KiB\n",
            ms * 1_000_000,
            ms * 100_000
        )
    };
    let texts = [0, 30, 60, 90].map(text);
    let mut rig = Rig::with_sys("panfrost", "drm/panfrost");
    let run = run(&mut rig, &texts.each_ref().map(String::as_str), &json!({}));
    assert_eq!(run.summary().gpus[0].name, "drm-card0");
    assert_eq!(value(first(&run), MEMORY[0]), (7 * MIB) as f64);
    was_busy_for_90_ms(&run);
}

#[test]
fn panthor_has_one_engine_of_its_own_name_and_memory_of_the_driver_beside() {
    // Of Linux 6.13: one queue for everything, and the driver's own memory under keys of its own.
    let text = |ms: u64| {
        format!(
            "pos:\t0\ndrm-driver:\tpanthor\ndrm-client-id:\t10\ndrm-engine-panthor:\t{} ns\n\
             drm-cycles-panthor:\t94439687187\ndrm-maxfreq-panthor:\t1000000000 Hz\n\
             drm-curfreq-panthor:\t1000000000 Hz\npanthor-resident-memory:\t10396 KiB\n\
             panthor-active-memory:\t10396 KiB\ndrm-total-memory:\t16 MiB\ndrm-shared-memory:\t0\n\
             drm-active-memory:\t9 MiB\ndrm-resident-memory:\t12 MiB\ndrm-purgeable-memory:\t0\n",
            ms * 1_000_000
        )
    };
    let texts = [0, 30, 60, 90].map(text);
    let mut rig = Rig::with_sys("panthor", "drm/panthor");
    let run = run(&mut rig, &texts.each_ref().map(String::as_str), &json!({}));
    assert_eq!(value(first(&run), MEMORY[0]), (12 * MIB) as f64);
    was_busy_for_90_ms(&run);
}

#[test]
fn i915_with_guc_tells_memory_and_no_use() {
    let text = client(
        "i915",
        "0000:00:02.0",
        "drm-total-system0:\t8 MiB\ndrm-resident-system0:\t6 MiB\ndrm-engine-capacity-video:\t2\n",
    );
    let mut rig = Rig::with_sys("guc", "drm/i915");
    let run = run(&mut rig, &[&text], &json!({}));
    assert_eq!(value(first(&run), MEMORY[0]), (6 * MIB) as f64);
    is_unknown(&run, &BUSY);
    let reason = first(&run)[BUSY[0]].reason.as_deref().unwrap_or_default();
    assert!(reason.contains("no time of engines"), "{reason}");
}
