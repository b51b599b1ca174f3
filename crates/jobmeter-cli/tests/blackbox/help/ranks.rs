//! Waiting for the ranks of a job that runs.

use super::Room;
use serde_json::Value;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn wait(what: &str, mut is_there: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_there() {
        assert!(Instant::now() < deadline, "there is not {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A run or a job as it is now; `None` where a record of it is just being made.
pub(crate) fn try_show(room: &Room, selector: &str) -> Option<Value> {
    let shown = room.finish(room.jobmeter(&["show", selector, "--json"]));
    serde_json::from_slice(&shown.stdout).ok().filter(|_| shown.code == 0)
}

/// Waits until every rank of `job` has read the machine for the first time, and the recorder of each node has read it after all
/// of them. What a rank counts begins with its first reading, and between two rows of the recorder that is put in by time: in
/// proportion, so that energy spent in between would be counted by half.
pub(crate) fn wait_until_all_count(room: &Room, job: &str, count: u32) {
    wait("a record of each rank", || room.store_files().len() == count as usize);
    wait("a row of each rank", || {
        let ticks = |run: Value| run["run"]["ticks"].as_u64();
        let mut rows = (0..count).map(|rank| try_show(room, &format!("{job}/{rank}")).and_then(ticks));
        rows.all(|ticks| ticks.is_some_and(|ticks| ticks > 1))
    });
    let all_counted = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos();
    wait("a row of each recorder after that", || {
        let Some(shown) = try_show(room, job) else { return false };
        let nodes = shown["nodes"].as_array().expect("nodes");
        nodes.iter().all(|node| {
            let last = node["recorders"][0]["to_unix_ns"].as_u64();
            last.is_some_and(|last_unix_ns| u128::from(last_unix_ns) > all_counted)
        })
    });
}

/// Adds energy to a counter. It is never empty in between, which a meter that reads it at that moment would call unreadable.
pub(crate) fn spend(counter: &Path, energy_uj: u64) {
    let text = std::fs::read_to_string(counter).expect("energy");
    let before_uj: u64 = text.trim().parse().expect("a number");
    let file = std::fs::File::options().write(true).open(counter).expect("the counter");
    file.write_all_at(format!("{}\n", before_uj + energy_uj).as_bytes(), 0).expect("energy");
}
