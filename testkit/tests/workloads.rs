//! The workloads do what they say: a test of jobmeter is worth as much as the truth it is compared with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

const TESTKIT: &str = env!("CARGO_BIN_EXE_testkit");

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()))
}

/// Runs a workload below the witness and returns (exit code, what the witness said).
fn witnessed(name: &str, workload: &[&str]) -> (Option<i32>, BTreeMap<String, String>) {
    let path = file(name);
    let status =
        Command::new(TESTKIT).arg("witness").arg(&path).arg(TESTKIT).args(workload).status().expect("start");
    let truth = jobmeter_testkit::truth::parse(&std::fs::read_to_string(&path).expect("the witness writes"));
    std::fs::remove_file(path).expect("remove");
    (status.code(), truth)
}

fn cpu_ms(truth: &BTreeMap<String, String>) -> u64 {
    truth["cpu_ns"].parse::<u64>().expect("a number") / 1_000_000
}

/// Never less than was ordered; forking and starting cost something on top (1 ms per child is generous).
#[test]
fn cpu_workloads_burn_what_was_ordered() {
    let cases: &[(&[&str], u64, u64)] = &[
        (&["burn", "100"], 100, 1),
        (&["spawn-short", "50", "2"], 100, 51),
        (&["spawn-exec", "20", "5"], 100, 21),
        (&["clone-no-sigchld", "50", "2"], 100, 51),
        (&["threads", "4", "25"], 100, 5),
        (&["leader-exit", "100", "0"], 100, 1),
    ];
    for (workload, ordered_ms, processes) in cases {
        let (code, truth) = witnessed("cpu", workload);
        assert_eq!(code, Some(0), "{workload:?}");
        let found = cpu_ms(&truth);
        assert!((*ordered_ms..=ordered_ms + 30 + 5 * processes).contains(&found), "{workload:?}: {found} ms");
    }
}

/// Orphans are counted by both kinds of witness; auto-reaped children only by a cgroup, which is why they are
/// called a hole.
#[test]
fn the_witness_sees_orphans() {
    let (code, truth) = witnessed("daemons", &["daemons", "4", "50"]);
    assert_eq!(code, Some(0));
    assert!(cpu_ms(&truth) >= 200, "{truth:?}");
    let (code, truth) = witnessed("autoreap", &["autoreap", "ignore", "20", "5"]);
    assert_eq!(code, Some(0));
    if truth["source"].starts_with("cgroup") {
        assert!(cpu_ms(&truth) >= 100, "{truth:?}");
    } else {
        assert!(cpu_ms(&truth) < 100, "{truth:?}");
    }
}

#[test]
fn memory_workloads_hold_what_was_ordered() {
    let path = file("memory");
    let truth = path.to_str().expect("a UTF-8 path");
    let cases: &[(&[&str], u64)] = &[
        (&["hold", "30M", "20", "40", truth], 30_000_000),
        (&["cow", "30M", "3", "1M", "20", truth], 33_000_000),
        (&["shared", "-", "30M", "3", "20", truth], 30_000_000),
        (&["daemon-hold", "30M", "20", truth], 30_000_000),
    ];
    for (workload, ordered) in cases {
        let status = Command::new(TESTKIT).args(*workload).status().expect("start");
        assert!(status.success(), "{workload:?}");
        let text = std::fs::read_to_string(&path).expect("a truth");
        let found: u64 = jobmeter_testkit::truth::parse(&text)["union_bytes"].parse().expect("a number");
        assert!((*ordered..ordered + 6_000_000).contains(&found), "{workload:?}: {found}");
    }
    std::fs::remove_file(path).expect("remove");
}

#[test]
fn crowds_are_counted() {
    let path = file("crowd");
    for (workload, expected) in [(["many", "200", "10"], "200"), (["storm", "1000", "1"], "1001")] {
        let status = Command::new(TESTKIT).args(workload).arg(&path).status().expect("start");
        assert!(status.success());
        let truth = jobmeter_testkit::truth::parse(&std::fs::read_to_string(&path).expect("a truth"));
        assert_eq!(truth["processes"], expected);
    }
    std::fs::remove_file(path).expect("remove");
}

#[test]
fn the_floor_watches_every_process() {
    let path = file("floor");
    let status = Command::new(TESTKIT)
        .args(["floor", "25", "5", "10"])
        .arg(&path)
        .args(["io=2", "stat=5", "status=5", "task=1"])
        .status()
        .expect("start");
    assert!(status.success());
    let truth = jobmeter_testkit::truth::parse(&std::fs::read_to_string(&path).expect("a truth"));
    std::fs::remove_file(path).expect("remove");
    assert_eq!(truth["processes"], "25");
    assert!(truth["cpu_ns_per_tick"].parse::<u64>().expect("a number") > 0);
}

#[test]
fn what_is_not_a_workload_is_refused() {
    for arguments in
        [&[][..], &["nonsense"], &["burn"], &["burn", "x"], &["floor", "1", "1", "1", "/x", "y=1"]]
    {
        let output = Command::new(TESTKIT).args(arguments).output().expect("start");
        assert_eq!(output.status.code(), Some(99), "{arguments:?}");
        assert!(output.stderr.starts_with(b"testkit: "));
    }
}
