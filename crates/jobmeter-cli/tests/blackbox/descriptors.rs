//! Few descriptors: a tree is read whole through one descriptor at a time, or the summary says that it was not.

use crate::help::{JOBMETER, Room, Run, value};
use jobmeter_model::{Quality, Summary};
use std::process::Command;

const CHILDREN: usize = 30;

/// A job of 31 processes under a jobmeter that may have `limit` descriptors, and cannot have more.
fn run_with_limit(room: &Room, limit: u32) -> Run {
    let job = format!("i=0; while [ $i -lt {CHILDREN} ]; do sleep 0.6 & i=$((i+1)); done; wait");
    let script = format!(
        "ulimit -n {limit}; exec \"$0\" run -i 50ms --no-cgroup --no-perf --no-record -f json -- sh -c \"$1\""
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script, JOBMETER, &job]);
    command.env("JOBMETER_STORE", room.path("store"));
    room.finish(command)
}

#[test]
fn a_tree_that_could_not_be_read_whole_is_said_to_be_so() {
    let room = Room::new("few-descriptors");
    let mut whole = 0;
    for limit in [13, 14, 15, 16, 20, 64] {
        let run = run_with_limit(&room, limit);
        // Too few even to start: then that is said.
        if run.code == 125 {
            eprintln!("ulimit -n {limit}: {}", run.stderr.trim());
            continue;
        }
        assert_eq!(run.code, 0, "ulimit -n {limit}: {}", run.stderr);
        // On standard error: to write a file takes descriptors, too.
        let json = run.stderr.find('{').map_or("", |at| &run.stderr[at..]);
        let summary: Summary = serde_json::from_str(json).unwrap_or_else(|_| panic!("{}", run.stderr));
        let seen = value(&summary.combined, "processes_total") as usize;
        let warned = summary.warnings.iter().any(|warning| warning.kind == "descriptors");
        eprintln!("ulimit -n {limit}: {seen} processes, warned: {warned}");
        assert!(seen > CHILDREN || warned, "ulimit -n {limit}: {seen} processes, without a word");
        if warned {
            for key in ["processes_total", "cpu_ns", "rss_bytes_max"] {
                let quality = summary.combined[key].quality;
                assert_eq!(quality, Quality::LowerBound, "ulimit -n {limit}: {key}");
            }
        }
        whole += usize::from(seen > CHILDREN);
    }
    assert!(whole >= 2, "with 20 and with 64 descriptors the tree is read whole");
}
