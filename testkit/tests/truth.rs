//! A small part of `make truth`, with figures that are judged on every machine: jobs of a second or less, held
//! against the witnesses that can be had here. The harness prints which cannot.

use std::path::Path;
use std::process::Command;

const TRUTH: &str = env!("CARGO_BIN_EXE_jobmeter-truth");

#[test]
fn what_jobmeter_says_of_short_jobs_holds() {
    let beside = Path::new(TRUTH).with_file_name("jobmeter");
    assert!(beside.exists(), "build it first: cargo build -p jobmeter-cli");
    let figures = [
        "combined.cpu_ns",
        "combined.rss_bytes_max",
        "combined.read_chars_bytes",
        "combined.read_storage_bytes",
        "combined.write_storage_bytes",
        "combined.faults_minor",
        "combined.processes_total",
        "verdict",
    ];
    // SAFETY: has no arguments and cannot fail.
    let mode = if unsafe { libc::geteuid() } == 0 { "root" } else { "user-nogroup" };
    let output = Command::new(TRUTH)
        .args(["burst", "pipeline", "known-bytes", "copy-on-write"])
        .env("TRUTH_RUNS", "1")
        .env("TRUTH_MODES", mode)
        .env("TRUTH_FIGURES", figures.join(","))
        .output()
        .expect("start");
    let (table, progress) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{table}\n{progress}");
    // Nothing false is not enough: something must have been judged.
    assert!(table.contains("| known-bytes | combined.write_storage_bytes |"), "{table}\n{progress}");
}
