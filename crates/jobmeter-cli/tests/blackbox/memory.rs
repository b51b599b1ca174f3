//! Memory against workloads whose resident size is known.
//!
//! `union_bytes` is what a workload holds on purpose. Every process needs a little more to exist (program, C
//! library, stack: `BASE` at most, most of it shared), so the truth lies between union and union + BASE.

use crate::help::{Room, Run, figure, not_here, value};
use jobmeter_model::{Figure, Number};

const BASE: f64 = 6e6;
const MB: f64 = 1e6;

fn peak(run: &Run) -> &Figure {
    figure(&run.summary().combined, "rss_bytes_max")
}

/// Every memory workload, at a fine and at a coarse interval: the truth is inside the bounds that are given.
#[test]
fn the_truth_is_inside_the_bounds() {
    let room = Room::new("bounds");
    let (truth, file) = (room.file("truth"), room.file("mapped"));
    let workloads: &[&[&str]] = &[
        &["hold", "120M", "300", "600", &truth],
        &["hold", "200M", "30", "1000", &truth],
        &["cow", "100M", "4", "10M", "400", &truth],
        &["cow", "60M", "8", "60M", "400", &truth],
        &["shared", "-", "100M", "4", "400", &truth],
        &["shared", &file, "100M", "4", "400", &truth],
        &["daemon-hold", "80M", "400", &truth],
        &["family", "200M", "4", "20M", "400", &truth],
    ];
    let mut wrong = Vec::new();
    for interval in ["20ms", "1s"] {
        for workload in workloads {
            let run = room.run_testkit(&["-i", interval], workload);
            assert_eq!(run.code, 0, "{workload:?}: {}", run.stderr);
            let union = room.truth_number("truth", "union_bytes");
            let peak = peak(&run);
            let upper =
                peak.upper.map_or(peak.as_f64(), |upper| Some(upper.as_f64())).expect("an upper bound");
            let lower =
                peak.lower.map_or(peak.as_f64(), |lower| Some(lower.as_f64())).expect("a lower bound");
            eprintln!(
                "{interval} {workload:?}: {:.1} ≤ {:.1} ≤ {:.1} MB",
                lower / MB,
                union / MB,
                upper / MB
            );
            if lower > union + BASE
                || upper < union * 0.999
                || !(lower..=upper).contains(&value(&run.summary().combined, "rss_bytes_max"))
            {
                wrong.push(format!("{interval} {workload:?}: truth {union}, {peak:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} workloads outside their bounds:\n{}", wrong.len(), wrong.join("\n"));
}

/// Small children of a large parent, each of which ends between two ticks, make no loose bound.
#[test]
fn small_children_of_a_large_parent_are_bounded_by_their_own_size() {
    let room = Room::new("family");
    for interval in ["20ms", "500ms"] {
        let run =
            room.run_testkit(&["-i", interval], &["family", "300M", "4", "20M", "1200", &room.file("truth")]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let (union, peak) = (room.truth_number("truth", "union_bytes"), peak(&run));
        let upper = peak.upper.map(Number::as_f64).expect("a bound");
        assert!((union..union * 1.15).contains(&upper), "{interval}: {upper} for {union}");
    }
}

#[test]
fn a_burst_between_two_ticks_is_not_missed() {
    let room = Room::new("burst");
    let run = room.run_testkit(&["-i", "1s"], &["hold", "200M", "30", "5000", &room.file("truth")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let said = value(&run.summary().combined, "rss_bytes_max");
    assert!(said >= 195.0 * MB, "{said}");
    assert!(said <= 200.0 * MB + BASE, "{said}");
    assert!(value(&run.summary().main, "rss_bytes_max") >= 195.0 * MB);
}

/// A file in tmpfs is memory that a limit charges to the job, although no process maps it. Other programs of the machine
/// may give shared memory back meanwhile: a tenth is left for them.
#[test]
fn memory_in_tmpfs_is_held_by_the_job() {
    let room = Room::new("tmpfs");
    let file = format!("/dev/shm/jobmeter-test-{}", std::process::id());
    let script = format!("sleep 0.4; head -c 80000000 /dev/zero > {file}; sleep 0.8; rm {file}");
    let run = room.run(&["-i", "100ms"], &["sh", "-c", &script]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let held = figure(&run.summary().combined, "unmapped_memory_peak_bytes");
    assert!(held.as_f64().is_some_and(|bytes| bytes >= 70.0 * MB), "{held:?}");
    assert!(value(&run.summary().combined, "rss_bytes_max") < 20.0 * MB);
}

#[test]
fn copy_on_write_is_counted_once() {
    let room = Room::new("cow");
    let run = room.run_testkit(&["-i", "100ms"], &["cow", "300M", "4", "5M", "1500", &room.file("truth")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let union = room.truth_number("truth", "union_bytes");
    assert_eq!(union, 320.0 * MB);
    let combined = &run.summary().combined;
    let said = value(combined, "rss_bytes_max");
    assert!((said / union - 1.0).abs() <= 0.03, "{said} instead of {union}");
    // Copies count with what they changed, unless they end together with their parent between two looks: then nothing
    // says which of their pages it still shared, and each may count in full.
    let upper = peak(&run).upper.map(Number::as_f64).expect("an upper bound");
    assert!((union..5.0 * 300.0 * MB + 20.0 * MB + BASE).contains(&upper), "{upper} for {union}");
    // The plain sum, which counts the block five times, is known as what it is.
    assert!(value(combined, "rss_sum_bytes_max") >= 1_500.0 * MB);
    // Before the first fork the whole block is the parent's own, so the private part may peak at all of it.
    let private = value(combined, "rss_private_bytes_max");
    assert!((20.0 * MB..300.0 * MB + BASE).contains(&private), "{private}");
    // Afterwards 295 MB are shared: all children replaced the same 5 MB, which only the parent maps now.
    let shared = value(combined, "rss_shared_bytes_max");
    assert!((290.0 * MB..300.0 * MB + BASE).contains(&shared), "{shared}");
}

#[test]
fn a_daemonised_grandchild_is_seen() {
    let room = Room::new("daemon");
    let run = room.run_testkit(&["-i", "100ms"], &["daemon-hold", "150M", "600", &room.file("truth")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for figures in [&run.summary().combined, &run.summary().descendants] {
        let said = value(figures, "rss_bytes_max");
        assert!((150.0 * MB..150.0 * MB + BASE).contains(&said), "{said}");
    }
    assert!(value(&run.summary().main, "rss_bytes_max") < BASE);
}

/// A job of 50 ms has a real figure wherever the kernel has one to give.
#[test]
fn a_short_job_has_real_figures() {
    let room = Room::new("short-job");
    let run = room.run_testkit(&[], &["hold", "20M", "50", "50", &room.file("truth")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let summary = run.summary();
    for key in [
        "cpu_ns",
        "cpu_user_ns",
        "cpu_system_ns",
        "cores_used_max",
        "cores_used_mean",
        "hardware_ratio_max",
        "hardware_ratio_mean",
        "rss_bytes_max",
        "rss_bytes_mean",
        "rss_private_bytes_max",
        "rss_shared_bytes_max",
        "swap_bytes_max",
        "processes_max",
        "threads_max",
        "read_chars_bytes",
        "write_chars_bytes",
        "read_storage_bytes",
        "write_storage_bytes",
        "faults_minor",
        "faults_major",
        "switches_voluntary",
        "switches_involuntary",
    ] {
        value(&summary.combined, key);
        value(&summary.main, key);
    }
    value(&summary.combined, "processes_total");
    for key in [
        "cpu_ns",
        "cpu_user_ns",
        "cpu_system_ns",
        "memory_total_bytes_max",
        "memory_used_bytes_max",
        "memory_available_bytes_min",
        "memory_buffers_bytes_max",
        "memory_cached_bytes_max",
        "memory_active_bytes_max",
        "memory_inactive_bytes_max",
        "swap_total_bytes_max",
        "load1_milli_max",
        "processes_max",
        "disk_read_bytes",
        "disk_write_bytes",
        "net_receive_bytes",
        "net_transmit_bytes",
    ] {
        value(&summary.system, key);
    }
    // 20 MB of 4K pages were touched one by one.
    assert!(value(&summary.main, "faults_minor") >= 4882.0);
    assert!(value(&summary.main, "rss_bytes_max") >= 20.0 * MB);
    assert!(value(&summary.main, "cpu_ns") > 0.0);
    assert!(summary.cores.len() as u32 == summary.run.system_cores);
    assert!(!summary.mounts.is_empty() && !summary.networks.is_empty());
}

#[test]
fn bytes_read_and_written_are_counted_once() {
    let room = Room::new("io");
    // 40 MB written and read back by children of children; `io` of a parent includes waited-for children, so a
    // careless sum counts them twice.
    let script = format!(
        "for i in 1 2 3 4; do (dd if=/dev/zero of='{0}' bs=1000000 count=10; dd if='{0}' of=/dev/null bs=1000000) 2>/dev/null; done",
        room.file("data")
    );
    for interval in ["10ms", "1s"] {
        let run = room.run(&["-i", interval], &["sh", "-c", &script]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let combined = &run.summary().combined;
        // Written: 40 MB to the file and 40 MB to /dev/null. The rest is start-up: libraries read, messages.
        let written = value(combined, "write_chars_bytes");
        assert!((80e6..80.2e6).contains(&written), "{written}");
        let read = value(combined, "read_chars_bytes");
        assert!((80e6..81e6).contains(&read), "{read}");
    }
}

/// Thirty small programs map the same C library: it is in memory once, and the bound counts it once.
#[test]
fn a_file_that_many_map_counts_once() {
    let room = Room::new("mapped-once");
    let script = "sleep 0.2; for number in $(seq 30); do sleep 0.5 & done; wait";
    let run = room.run(&["--follow"], &["sh", "-c", script]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let followed = run.summary().sources.iter().any(|source| source.name == "perf_ring" && source.used);
    if !followed {
        return not_here("perf events are refused");
    }
    let (peak, sum) = (peak(&run), value(&run.summary().combined, "rss_sum_bytes_max"));
    let upper = peak.upper.map(Number::as_f64).expect("a bound");
    assert!(sum > 30.0 * MB, "each shows the library as its own: {sum}");
    assert!(upper < 24.0 * MB, "{upper} of {sum}: {peak:?}");
    assert!(peak.reason.as_deref().is_some_and(|reason| reason.contains("counted once")), "{peak:?}");
}
