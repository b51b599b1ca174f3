//! AMD and Intel: two cards, a main process and two children that hold clients on them, one of the clients shared by
//! fork. The job itself writes the kernel's files, so it knows the truth.

use super::course::{Column, Course, of_device};
use super::rig::{Rig, lay};
use jobmeter_model::metric::Scope;
use serde_json::{Value, json};
use std::fs;

const INTERVAL: &str = "100ms";
/// How long each frame lasts: eight ticks.
const FRAME_S: f64 = 0.8;
/// A sample that is under way when the script goes on may be told by two ticks, for each of the steps.
const BETWEEN: usize = 12;

/// A client in the kernel's words. Memory rises and falls with all others, so that a reading in between lies in between.
struct Client {
    card: usize,
    id: u32,
    owners: &'static [(&'static str, &'static [&'static str])],
    memory_kib: [u64; 4],
    /// Share of the time that its engines are busy, in thousandths.
    permille: u64,
}

/// Main has the first on two descriptors and shares it with a child.
const CLIENTS: [Client; 4] = [
    Client {
        card: 0,
        id: 28,
        owners: &[("main", &["5", "6"]), ("one", &["5"])],
        memory_kib: [102_400, 307_200, 524_288, 51_200],
        permille: 300,
    },
    Client {
        card: 0,
        id: 31,
        owners: &[("two", &["5"])],
        memory_kib: [1024, 2048, 70_000, 512],
        permille: 100,
    },
    Client {
        card: 1,
        id: 28,
        owners: &[("one", &["7"])],
        memory_kib: [40_960, 81_920, 90_112, 8192],
        permille: 50,
    },
    Client { card: 1, id: 7, owners: &[("main", &["9"])], memory_kib: [100, 200, 300, 50], permille: 200 },
];

struct Machine {
    driver: &'static str,
    cards: [&'static str; 2],
    pci: [&'static str; 2],
    region: [&'static str; 2],
    engine: &'static str,
    capacity: u64,
    /// File below the root, factor to the figure, figure, card, and what it says in each frame.
    files: Vec<(&'static str, u64, &'static str, usize, [u64; 4])>,
}

fn is_in(client: &Client, scope: Scope) -> bool {
    client.owners.iter().any(|(name, _)| match scope {
        Scope::Main => *name == "main",
        Scope::Descendants => *name != "main",
        _ => true,
    })
}

/// The scripted level of a scope on one card or both. Before and after, nobody holds anything that counts.
fn levels(scope: Scope, card: Option<usize>) -> Vec<u64> {
    let own = |client: &&Client| is_in(client, scope) && card.is_none_or(|card| client.card == card);
    let of = |frame: usize| CLIENTS.iter().filter(own).map(|client| client.memory_kib[frame] * 1024).sum();
    // When the script ends, the child called two ends with its client; everybody else holds on.
    let left = CLIENTS.iter().filter(own).filter(|client| client.id != 31);
    let rest = left.map(|client| client.memory_kib[3] * 1024).sum();
    [0].into_iter().chain((0..4).map(of)).chain([rest]).collect()
}

fn busy_ppm(scope: Scope, card: Option<usize>) -> u64 {
    let own = |client: &&Client| is_in(client, scope) && card.is_none_or(|card| client.card == card);
    CLIENTS.iter().filter(own).map(|client| client.permille * 1000).sum()
}

fn run(rig: &mut Rig, machine: &Machine) -> crate::help::Run {
    let frame = |number: usize| -> Value {
        machine
            .files
            .iter()
            .map(|(path, .., values)| ((*path).to_owned(), json!(format!("{}\n", values[number]))))
            .collect()
    };
    let clients: Vec<Value> = CLIENTS
        .iter()
        .map(|client| {
            json!({"driver": machine.driver, "id": client.id, "pdev": machine.pci[client.card],
                "region": machine.region[client.card], "engine": machine.engine, "capacity": machine.capacity,
                "permille": client.permille, "memory_kib": client.memory_kib,
                "owners": client.owners.iter().map(|(name, list)| ((*name).to_owned(), json!(list))).collect::<serde_json::Map<_, _>>()})
        })
        .collect();
    let script =
        json!({"frame_s": FRAME_S, "clients": clients, "frames": (0..4).map(frame).collect::<Vec<_>>()});
    fs::write(rig.room.path("script.json"), script.to_string()).expect("a script");
    fs::write(rig.room.path("job.py"), include_str!("drm_job.py")).expect("a job");
    // The first frame of the cards is there before anybody looks.
    for (path, .., values) in &machine.files {
        fs::write(rig.root().join(path), format!("{}\n", values[0])).expect("a file");
    }
    fs::remove_file(rig.root().join("proc")).expect("the link to the real processes");
    rig.interval = INTERVAL;
    rig.room.finish(rig.command(&[], &["python3", "job.py"]))
}

fn every_figure_equals_the_script(mut rig: Rig, machine: &Machine) {
    let run = run(&mut rig, machine);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let summary = run.summary();
    let names: Vec<&str> = summary.gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    assert_eq!(names, machine.cards, "{}", machine.driver);
    let course = Course::of(&rig);
    for scope in Scope::JOB {
        for card in [Some(0), Some(1), None] {
            let device = card.map(|card| machine.cards[card]);
            let memory = course.column(&format!("{}_gpu_memory_bytes", scope.key()), device);
            let script = levels(scope, card);
            memory.walks_through(&script, BETWEEN);
            assert_eq!(memory.max(), script.iter().copied().max().unwrap_or(0) as f64, "{}", memory.name);
            let busy = course.column(&format!("{}_gpu_busy_ppm", scope.key()), device);
            share_is(&busy, busy_ppm(scope, card), machine);
            for (column, key) in [(memory, "gpu_memory_bytes"), (busy, "gpu_busy_ppm")] {
                match device {
                    None => column.is_summed_up_in(summary.scope(scope), key),
                    Some(uuid) => {
                        column.is_summed_up_in(of_device(summary, uuid), &format!("{}_{key}", scope.key()));
                    }
                }
            }
        }
    }
    for (_, factor, key, card, values) in &machine.files {
        let uuid = machine.cards[*card];
        let column = course.column(&format!("system_{key}"), Some(uuid));
        if *key == "gpu_energy_uj" {
            assert_eq!(column.max(), (values[3] - values[0]) as f64 * *factor as f64, "{}", column.name);
            assert_eq!(crate::help::value(of_device(summary, uuid), key), column.max());
            continue;
        }
        let script: Vec<u64> = values.iter().map(|value| value * factor).collect();
        column.walks_through(&script, 0);
        column.is_summed_up_in(of_device(summary, uuid), key);
    }
}

/// While the clients are there, the share of the time that their engines are busy. The kernel's nanoseconds have to be
/// divided by the time between two readings, and the job writes them every few milliseconds: one tick may be off, their
/// mean is not. xe tells the cycles that have passed too: then each tick is true by itself.
fn share_is(column: &Column, ppm: u64, machine: &Machine) {
    let first_ns = column.ticks.iter().find(|(_, value)| *value > 0).expect("work").0;
    let script_ns = (4.0 * FRAME_S * 1e9) as u64;
    let inner = first_ns + script_ns / 20..first_ns + script_ns * 9 / 10;
    let ticks = column.ticks.iter().filter(|(t_ns, _)| inner.contains(t_ns));
    let shares: Vec<u64> = ticks.map(|(_, value)| *value).collect();
    assert!(shares.len() > 12, "{}: only {} ticks", column.name, shares.len());
    if machine.driver == "xe" {
        // Each client loses less than a nanosecond of its share, and a sample may see one of two clients renewed.
        let exact = shares.iter().filter(|share| share.abs_diff(ppm) <= 4).count();
        assert!(exact * 10 >= shares.len() * 8, "{}: {exact} ticks are {ppm}: {shares:?}", column.name);
        return;
    }
    // A tick that comes late tells of a longer time. Two ticks may tell of one sample, which is one of some 25 here.
    let mean = column.mean_between(inner);
    assert!((mean / ppm as f64 - 1.0).abs() < 0.15, "{}: {mean} against {ppm}: {shares:?}", column.name);
}

#[test]
fn amd_equals_the_script() {
    let rig = Rig::with_sys("amdgpu-truth", "drm/amdgpu");
    let machine = Machine {
        driver: "amdgpu",
        cards: ["GPU-1a2b3c4d5e6f7081", "pci-0000:43:00.0"],
        pci: ["0000:03:00.0", "0000:43:00.0"],
        region: ["vram"; 2],
        engine: "gfx",
        capacity: 1,
        files: vec![
            ("sys/class/drm/card0/device/gpu_busy_percent", 10_000, "gpu_busy_ppm", 0, [10, 42, 77, 5]),
            ("sys/class/drm/card0/device/mem_busy_percent", 10_000, "gpu_memory_busy_ppm", 0, [3, 13, 21, 1]),
            (
                "sys/class/drm/card0/device/mem_info_vram_used",
                1,
                "gpu_memory_bytes",
                0,
                [1 << 30, 2 << 30, 3 << 30, 1 << 29],
            ),
            (
                "sys/class/drm/card0/device/mem_info_gtt_used",
                1,
                "gpu_gtt_bytes",
                0,
                [1 << 20, 20 << 20, 30 << 20, 2 << 20],
            ),
            (
                "sys/class/drm/card0/device/hwmon/hwmon2/temp1_input",
                1,
                "gpu_temperature_mc",
                0,
                [41_000, 54_000, 61_000, 50_000],
            ),
            (
                "sys/class/drm/card1/device/mem_info_vram_used",
                1,
                "gpu_memory_bytes",
                1,
                [1 << 20, 3 << 20, 4 << 20, 2 << 20],
            ),
        ],
    };
    every_figure_equals_the_script(rig, &machine);
}

#[test]
fn intel_i915_equals_the_script() {
    let rig = Rig::with_sys("i915-truth", "drm/i915");
    let machine = Machine {
        driver: "i915",
        cards: ["pci-0000:00:02.0", "pci-0000:03:00.0"],
        pci: ["0000:00:02.0", "0000:03:00.0"],
        region: ["system0", "local0"],
        engine: "video",
        capacity: 2,
        files: vec![
            ("sys/class/drm/card0/gt_act_freq_mhz", 1_000_000, "gpu_clock_sm_hz", 0, [300, 1150, 1400, 350]),
            (
                "sys/class/drm/card1/gt/gt0/rps_act_freq_mhz",
                1_000_000,
                "gpu_clock_sm_hz",
                1,
                [600, 2050, 2400, 700],
            ),
            (
                "sys/class/drm/card1/device/hwmon/hwmon3/energy1_input",
                1,
                "gpu_energy_uj",
                1,
                [7_000_000, 7_400_000, 8_000_000, 8_100_000],
            ),
        ],
    };
    every_figure_equals_the_script(rig, &machine);
}

#[test]
fn intel_xe_equals_the_script() {
    let rig = Rig::with_sys("xe-truth", "drm/xe");
    // A second card beside the captured one.
    let cards = rig.root().join("sys/class/drm");
    lay(&cards.join("card0"), &cards.join("card1"));
    let uevent = cards.join("card1/device/uevent");
    let text = fs::read_to_string(&uevent).expect("uevent");
    fs::write(&uevent, text.replace("0000:03:00.0", "0000:04:00.0")).expect("uevent");
    let machine = Machine {
        driver: "xe",
        cards: ["pci-0000:03:00.0", "pci-0000:04:00.0"],
        pci: ["0000:03:00.0", "0000:04:00.0"],
        region: ["vram0"; 2],
        engine: "ccs",
        capacity: 4,
        files: vec![
            (
                "sys/class/drm/card0/device/tile0/gt0/freq0/act_freq",
                1_000_000,
                "gpu_clock_sm_hz",
                0,
                [300, 1200, 2850, 400],
            ),
            (
                "sys/class/drm/card0/device/hwmon/hwmon2/temp2_input",
                1,
                "gpu_temperature_mc",
                0,
                [41_000, 48_000, 57_000, 50_000],
            ),
            (
                "sys/class/drm/card1/device/hwmon/hwmon2/energy1_input",
                1,
                "gpu_energy_uj",
                1,
                [1_000_000, 1_900_000, 2_000_000, 2_500_000],
            ),
        ],
    };
    every_figure_equals_the_script(rig, &machine);
}
