//! Our own weight: CPU per sample of 16 GPUs with 64 processes each beyond the library's own time, CPU per
//! sample through NVML against one `nvidia-smi` per sample, and the wall time that a slow driver adds.
//!
//! `cargo bench -p jobmeter-gpu --bench weight`. The library's own time is taken with a bare loop over the
//! same functions of the same library. The devices are imaginary: see docs/gpu.md.

#[path = "weight/bare.rs"]
mod bare;

use bare::Bare;
use jobmeter_gpu::{GpuConfig, GpuMonitor, Layout, Member};
use jobmeter_model::ProcessId;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const GPUS: usize = 16;
const PROCESSES: usize = 64;
const ROUNDS: usize = 200;
/// Long enough for a sample of the imaginary devices.
const SAMPLE_IS_THERE: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(20);

fn main() {
    raise_descriptors();
    let target = build_testkit();
    let folder = std::env::temp_dir().join(format!("jobmeter-gpu-weight-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("root")).expect("temporary folder");
    std::os::unix::fs::symlink("/proc", folder.join("root/proc")).expect("link");
    let mut out = std::io::stdout().lock();
    // A process of its own first: it is made by a fork, which wants a program of one thread.
    for apart in [true, false] {
        for distinct in [PROCESSES, GPUS * PROCESSES] {
            let line = many(&folder, &target, distinct, apart);
            writeln!(out, "{line}").expect("stdout");
        }
        writeln!(out, "{}", slow_driver(&folder, &target, apart)).expect("stdout");
    }
    writeln!(out, "{}", against_smi(&folder, &target)).expect("stdout");
    std::fs::remove_dir_all(&folder).expect("clean up");
}

/// An own copy of the library, so that each measurement has an own state file beside it.
fn library(folder: &Path, target: &Path, name: &str, state: &Value) -> PathBuf {
    let place = folder.join(name);
    std::fs::create_dir_all(&place).expect("folder");
    std::fs::copy(target.join("libfake_nvml.so"), place.join("libnvidia-ml.so.1")).expect("copy");
    std::fs::write(place.join("fake-nvml.json"), state.to_string()).expect("state");
    place.join("libnvidia-ml.so.1")
}

fn config(folder: &Path, library: &Path, apart: bool) -> GpuConfig {
    let root = folder.join("root");
    GpuConfig { nvml_path: Some(library.to_owned()), root, apart, ..GpuConfig::default() }
}

fn place(apart: bool) -> &'static str {
    if apart { "process of its own" } else { "thread" }
}

fn many(folder: &Path, target: &Path, distinct: usize, apart: bool) -> String {
    let people: Vec<Child> = (0..distinct)
        .map(|_| {
            Command::new("sleep")
                .arg("600")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("sleep")
        })
        .collect();
    let pids: Vec<u32> = people.iter().map(Child::id).collect();
    let devices: Vec<Value> = (0..GPUS)
        .map(|gpu| {
            let own: Vec<u32> = (0..PROCESSES).map(|p| pids[(gpu * PROCESSES + p) % distinct]).collect();
            device(gpu, &own)
        })
        .collect();
    let name = format!("many-{distinct}-{apart}");
    let library = library(folder, target, &name, &json!({ "devices": devices }));
    let monitor = GpuMonitor::start(config(folder, &library, apart)).expect("valid").expect("a driver");
    let helper = apart.then(|| jobmeter_gpu::helpers().last().expect("the driver's process").get());
    let bare = Bare::open(&library, GPUS);
    let members: Vec<Member> =
        pids.iter().enumerate().map(|(i, &pid)| Member { id: id(pid), main: i == 0 }).collect();
    monitor.set_processes(members.clone());
    let first = monitor.sample_within(PATIENCE).expect("a sample");
    assert_eq!(first.clients.len(), GPUS * PROCESSES);
    assert!(first.failures.is_empty(), "{:?}", first.failures);
    let mut layout = Layout::new(&first.devices);
    let mut values = Vec::new();
    let (mut ours, mut theirs, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        // What a tick waits for: the order and the answer to the last one, and never the driver.
        monitor.request();
        std::thread::sleep(SAMPLE_IS_THERE);
        let tick = members.clone();
        let begin = Instant::now();
        monitor.set_processes(tick);
        monitor.request();
        drop(monitor.latest());
        calls.push(begin.elapsed().as_secs_f64() * 1e6);
        monitor.sample_within(PATIENCE).expect("a sample");
        let both_us = || cpu_us() + helper.map_or(0.0, cpu_of_us);
        let begin = both_us();
        monitor.set_processes(members.clone());
        let snapshot = monitor.sample_within(PATIENCE).expect("a sample");
        values.clear();
        layout.values(&snapshot, &mut values);
        ours.push(both_us() - begin);
        let begin = cpu_us();
        bare.sample();
        theirs.push(cpu_us() - begin);
    }
    monitor.stop(PATIENCE);
    people.into_iter().for_each(end);
    let (ours, theirs, call) = (median(&mut ours), median(&mut theirs), median(&mut calls));
    format!(
        "{GPUS} GPUs x {PROCESSES} processes ({distinct} distinct), {}: {ours:.0} us CPU per sample, the library's own \
         {theirs:.0} us, ours {:.0} us (bound 1000 us); a tick waits {call:.0} us",
        place(apart),
        ours - theirs
    )
}

fn device(gpu: usize, pids: &[u32]) -> Value {
    let compute: Vec<Value> = pids.iter().map(|pid| json!({"pid": pid, "memory": 1 << 20})).collect();
    let samples: Vec<Value> = pids.iter().map(|pid| json!({"pid": pid, "sm": 1})).collect();
    json!({
        "uuid": format!("GPU-{gpu}"), "memory_total": 80u64 << 30, "memory_used": 1 << 30, "gpu_util": 50,
        "memory_util": 20, "power_mw": 300_000, "energy_mj": 1, "temperature_c": 50, "sm_mhz": 1000,
        "memory_mhz": 900, "throttle": 0, "pcie_rx_kb": 1, "pcie_tx_kb": 2, "compute": compute, "samples": samples,
    })
}

fn against_smi(folder: &Path, target: &Path) -> String {
    let own = std::process::id();
    let library = library(folder, target, "smi", &json!({"devices": [device(0, &[own])]}));
    let monitor = GpuMonitor::start(config(folder, &library, false)).expect("valid").expect("a driver");
    monitor.set_processes(vec![Member { id: id(own), main: true }]);
    monitor.sample_within(PATIENCE).expect("a sample");
    let (mut nvml, mut smi) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        let begin = cpu_us();
        monitor.sample_within(PATIENCE).expect("a sample");
        nvml.push(cpu_us() - begin);
        let begin = cpu_us() + children_us();
        for query in ["--query-gpu=memory.used,utilization.gpu", "--query-compute-apps=pid,used_memory"] {
            let output = Command::new(target.join("nvidia-smi"))
                .args([query, "--format=csv,noheader,nounits"])
                .env("FAKE_NVML_STATE", library.with_file_name("fake-nvml.json"))
                .stderr(Stdio::inherit())
                .output()
                .expect("the stand-in starts");
            assert!(output.status.success() && !output.stdout.is_empty());
        }
        smi.push(cpu_us() + children_us() - begin);
    }
    monitor.stop(PATIENCE);
    let (nvml, smi) = (median(&mut nvml), median(&mut smi));
    format!(
        "1 GPU: {nvml:.0} us CPU per sample through NVML, {smi:.0} us by two queries of the nvidia-smi stand-in: \
         {:.0} times (the real one initialises a driver each time and costs far more)",
        smi / nvml
    )
}

fn slow_driver(folder: &Path, target: &Path, apart: bool) -> String {
    let state = json!({"devices": [{"uuid": "GPU-0"}], "delay_ms": {"nvmlInit_v2": 2000}});
    let library = library(folder, target, &format!("slow-{apart}"), &state);
    let begin = Instant::now();
    let monitor = GpuMonitor::start(config(folder, &library, apart)).expect("valid").expect("a driver");
    monitor.request();
    let begun = begin.elapsed();
    let stopping = Instant::now();
    monitor.stop(Duration::ZERO);
    let stopped = stopping.elapsed();
    format!("driver that takes 2 s to initialise, {}: start {begun:.0?}, stop {stopped:.0?}", place(apart))
}

fn build_testkit() -> PathBuf {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--release", "-p", "jobmeter-fake-nvml"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the fake NVML builds");
    let bench = std::env::current_exe().expect("own path");
    let target = bench.ancestors().nth(3).expect("target folder");
    target.join("release")
}

/// As the engine does for large trees: one descriptor per process of the job that is on a GPU.
fn raise_descriptors() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: reads and writes one rlimit.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = limit.rlim_max.min(16_384);
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
    }
}

fn id(pid: u32) -> ProcessId {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("stat");
    let fields = text.rsplit_once(')').expect("command name").1;
    let start = fields.split_ascii_whitespace().nth(19).expect("field 22");
    ProcessId { pid: pid as i32, start_ticks: start.parse().expect("number") }
}

fn end(mut child: Child) {
    child.kill().expect("kill");
    child.wait().expect("wait");
}

fn cpu_us() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) };
    now.tv_sec as f64 * 1e6 + now.tv_nsec as f64 / 1e3
}

fn cpu_of_us(pid: i32) -> f64 {
    let mut clock = 0;
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one clock number and one timespec.
    unsafe {
        libc::clock_getcpuclockid(pid, &mut clock);
        libc::clock_gettime(clock, &mut now);
    }
    now.tv_sec as f64 * 1e6 + now.tv_nsec as f64 / 1e3
}

fn children_us() -> f64 {
    // SAFETY: all zeros is a valid rusage, and getrusage fills it in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let us = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    us(usage.ru_utime) + us(usage.ru_stime)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
