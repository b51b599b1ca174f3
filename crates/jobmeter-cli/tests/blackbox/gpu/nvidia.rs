//! Two scripted NVIDIA GPUs, a main process and two children. The script goes on with each sample of the meter, so every
//! tick must show one frame of it, whole.

use super::course::{Course, of_device};
use super::rig::{FAMILY, MIB, Rig};
use crate::help::value;
use jobmeter_model::metric::Scope;
use jobmeter_model::summary::Figures;
use serde_json::{Value, json};

/// Frames in which nothing of the job is listed yet: the processes have to be there first.
const LEAD: usize = 12;
/// Samples that see each frame.
const REPEATS: usize = 4;

/// Per device: memory in MiB and use in per cent of main, one and two; then use of the device and memory in use.
struct Frame {
    memory: [[u64; 3]; 2],
    sm: [[u64; 3]; 2],
    busy: [u64; 2],
    used: [u64; 2],
}

static IDLE: Frame = Frame { memory: [[0; 3]; 2], sm: [[0; 3]; 2], busy: [1, 2], used: [90, 91] };

/// The peaks of main, descendants, combined and of the devices are in different frames.
static SCRIPT: [Frame; 4] = [
    Frame {
        memory: [[100, 20, 3], [200, 1, 50]],
        sm: [[30, 20, 10], [5, 1, 2]],
        busy: [61, 7],
        used: [300, 350],
    },
    Frame {
        memory: [[400, 10, 1], [10, 2, 60]],
        sm: [[50, 1, 1], [25, 2, 5]],
        busy: [52, 33],
        used: [512, 170],
    },
    Frame {
        memory: [[50, 200, 99], [1, 300, 60]],
        sm: [[1, 45, 44], [1, 80, 19]],
        busy: [90, 100],
        used: [430, 460],
    },
    Frame {
        memory: [[120, 20, 30], [20, 30, 6]],
        sm: [[1, 2, 3], [4, 5, 6]],
        busy: [8, 17],
        used: [260, 156],
    },
];

fn script() -> Vec<&'static Frame> {
    let lead = std::iter::repeat_n(&IDLE, LEAD);
    let frames = SCRIPT.iter().flat_map(|frame| std::iter::repeat_n(frame, REPEATS));
    lead.chain(frames).chain([&IDLE]).collect()
}

/// Temperature tells the frames apart: 40 at rest, then 51, 52 and so on.
fn temperature(frame: &Frame) -> u64 {
    let place = SCRIPT.iter().position(|known| std::ptr::eq(known, frame));
    place.map_or(40, |place| 51 + place as u64)
}

fn device(frame: &Frame, gpu: usize) -> Value {
    let names: &[&str] = if std::ptr::eq(frame, &IDLE) { &[] } else { &["main", "one", "two"] };
    let of_job = names.iter().enumerate();
    // The stranger is on both devices and in none of the job's figures.
    let processes =
        of_job.clone().map(|(who, name)| json!({"pid": name, "memory": frame.memory[gpu][who] * MIB}));
    let processes = processes.chain([json!({"pid": 1, "memory": 77 * MIB})]);
    let samples = of_job
        .map(|(who, name)| json!({"pid": name, "sm": frame.sm[gpu][who], "memory": frame.sm[gpu][who] / 2}));
    let samples = samples.chain([json!({"pid": 1, "sm": 1, "memory": 1})]);
    let heat = temperature(frame);
    json!({"name": "Imaginary A100", "uuid": format!("GPU-{gpu}"), "pci": format!("0000:4{gpu}:00.0"),
        "memory_total": 1000 * MIB, "memory_used": frame.used[gpu] * MIB, "memory_reserved": 20 * MIB,
        "gpu_util": frame.busy[gpu], "memory_util": frame.busy[gpu] / 2, "power_mw": 1000 * heat + gpu as u64,
        "energy_mj": 5000 + heat * 10, "temperature_c": heat, "sm_mhz": 1000 + heat, "memory_mhz": 1215, "throttle": 0,
        "pcie_rx_kb": heat, "pcie_tx_kb": 2 * heat,
        "compute": processes.collect::<Vec<_>>(), "samples": samples.collect::<Vec<_>>()})
}

/// A column and what a frame says of it.
type Truth = Box<dyn Fn(&Frame) -> u64>;

fn truths() -> Vec<(Scope, &'static str, Option<String>, Truth)> {
    let mut all: Vec<(Scope, &'static str, Option<String>, Truth)> = Vec::new();
    let scopes: [(Scope, &'static [usize]); 3] =
        [(Scope::Main, &[0]), (Scope::Descendants, &[1, 2]), (Scope::Combined, &[0, 1, 2])];
    for (scope, people) in scopes {
        for devices in [vec![0], vec![1], vec![0, 1]] {
            let name = (devices.len() == 1).then(|| format!("GPU-{}", devices[0]));
            let on = devices.clone();
            let memory = move |frame: &Frame| {
                on.iter().flat_map(|gpu| people.iter().map(|who| frame.memory[*gpu][*who] * MIB)).sum()
            };
            let on = devices.clone();
            let busy = move |frame: &Frame| {
                on.iter().flat_map(|gpu| people.iter().map(|who| frame.sm[*gpu][*who] * 10_000)).sum()
            };
            let on = devices.clone();
            let controller = move |frame: &Frame| {
                on.iter().flat_map(|gpu| people.iter().map(|who| frame.sm[*gpu][*who] / 2 * 10_000)).sum()
            };
            all.push((scope, "gpu_memory_bytes", name.clone(), Box::new(memory)));
            all.push((scope, "gpu_busy_ppm", name.clone(), Box::new(busy)));
            all.push((scope, "gpu_memory_busy_ppm", name, Box::new(controller)));
        }
    }
    for gpu in 0..2 {
        let mut put = |key, truth: Truth| all.push((Scope::System, key, Some(format!("GPU-{gpu}")), truth));
        put("gpu_memory_bytes", Box::new(move |frame| frame.used[gpu] * MIB));
        put("gpu_memory_total_bytes", Box::new(|_| 1000 * MIB));
        put("gpu_memory_free_bytes", Box::new(move |frame| (1000 - 20 - frame.used[gpu]) * MIB));
        put("gpu_busy_ppm", Box::new(move |frame| frame.busy[gpu] * 10_000));
        put("gpu_memory_busy_ppm", Box::new(move |frame| frame.busy[gpu] / 2 * 10_000));
        put("gpu_power_mw", Box::new(move |frame| 1000 * temperature(frame) + gpu as u64));
        put("gpu_temperature_mc", Box::new(|frame| 1000 * temperature(frame)));
        put("gpu_clock_sm_hz", Box::new(|frame| (1000 + temperature(frame)) * 1_000_000));
        put("gpu_clock_memory_hz", Box::new(|_| 1_215_000_000));
    }
    let mut put = |key, truth: Truth| all.push((Scope::System, key, None, truth));
    put("gpu_memory_bytes", Box::new(|frame| (frame.used[0] + frame.used[1]) * MIB));
    put("gpu_memory_total_bytes", Box::new(|_| 2000 * MIB));
    put("gpu_busy_ppm", Box::new(|frame| (frame.busy[0] + frame.busy[1]) * 10_000));
    put("gpu_power_mw", Box::new(|frame| 2000 * temperature(frame) + 1));
    all
}

#[test]
fn every_figure_of_two_gpus_main_and_two_children_equals_the_script() {
    let frames: Vec<Value> =
        script().iter().map(|frame| json!({"devices": [device(frame, 0), device(frame, 1)]})).collect();
    // The first call of each sample.
    let state = json!({"frames": frames, "step_on": "nvmlDeviceGetMemoryInfo_v2"});
    let rig = Rig::scripted("nvidia-truth", &state);
    let run = rig.run(&[], FAMILY);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let summary = run.summary();
    let course = Course::of(&rig);
    let shown: Vec<&Frame> = course
        .column("system_gpu_temperature_mc", Some("GPU-0"))
        .values()
        .map(|mc| match mc / 1000 {
            40 => &IDLE,
            heat => &SCRIPT[(heat - 51) as usize],
        })
        .collect();
    for frame in &SCRIPT {
        assert!(shown.iter().any(|seen| std::ptr::eq(*seen, frame)), "a frame was not seen by any tick");
    }
    let end = 1 + shown.iter().rposition(|frame| !std::ptr::eq(*frame, &IDLE)).expect("a frame");
    for (scope, key, gpu, truth) in truths() {
        let column = course.column(&format!("{}_{key}", scope.key()), gpu.as_deref());
        let expected: Vec<u64> = shown.iter().map(|frame| truth(frame)).collect();
        let values: Vec<u64> = column.values().collect();
        // When the driver tells nothing more of a process, its last use stands for two periods.
        let is_held = scope != Scope::System && key.ends_with("busy_ppm");
        let told = if is_held { end } else { values.len() };
        assert_eq!(values[..told], expected[..told], "{}", column.name);
        assert_eq!(values.last(), expected.last(), "{}", column.name);
        let script_max = SCRIPT.iter().chain([&IDLE]).map(&truth).max().unwrap_or(0);
        assert_eq!(column.max(), script_max as f64, "{}", column.name);
        match gpu {
            None => column.is_summed_up_in(summary.scope(scope), key),
            Some(uuid) => {
                let prefix = if scope == Scope::System { "" } else { &format!("{}_", scope.key()) };
                column.is_summed_up_in(of_device(summary, &uuid), &format!("{prefix}{key}"));
            }
        }
    }
    hardware_is_the_sum_over_the_expected_gpus(&[
        (&summary.main, "main"),
        (&summary.descendants, "descendants"),
        (&summary.combined, "combined"),
        (&summary.system, "system"),
    ]);
    // Up from rest to the hottest frame; the way down is a reset, not energy given back.
    let climb_mj = (temperature(&SCRIPT[3]) - 40) * 10;
    for gpu in ["GPU-0", "GPU-1"] {
        assert_eq!(value(of_device(summary, gpu), "gpu_energy_uj"), (climb_mj * 1000) as f64, "{gpu}");
    }
    assert_eq!(value(&summary.combined, "energy_joules"), (2 * climb_mj) as f64 / 1000.0);
}

fn hardware_is_the_sum_over_the_expected_gpus(scopes: &[(&Figures, &str)]) {
    for (figures, scope) in scopes {
        for suffix in ["max", "mean"] {
            let sum_ppm = value(figures, &format!("gpu_busy_ppm_{suffix}"));
            let ratio = value(figures, &format!("gpu_hardware_ratio_{suffix}"));
            assert!((ratio - sum_ppm / 2e6).abs() < 1e-12, "{scope} {suffix}: {ratio} of {sum_ppm}");
        }
    }
}
