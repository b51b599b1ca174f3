//! The look at memory while the job runs: every millisecond, in a thread of its own.

use super::pages::{self, Mapper, Oracle};
use super::timeline::{self, Held};
use super::tree::Tree;
use super::{Group, lock};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[derive(Default)]
pub(crate) struct OracleFound {
    pub peak_bytes: u64,
    pub file_bytes: u64,
    /// Without the first process.
    pub descendants_bytes: u64,
    pub samples: u64,
    pub sees_frames: bool,
    pub samples_at: Vec<Held>,
}

/// Looks every millisecond if it can. Page maps are read only when the plain sum of resident memory leaves room for more
/// than was seen before, unless every moment is wanted. Where no events tell who lives, the group does.
pub(crate) fn watch_memory(
    tree: &Mutex<Tree>,
    members: Option<&Group>,
    stop: &AtomicBool,
    every_moment: bool,
) -> OracleFound {
    // On a busy machine it would miss the peak. As an ordinary user it stays as it is.
    // SAFETY: concerns the calling thread only.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -10) };
    let mut oracle = Oracle::new();
    let mut found = OracleFound { sees_frames: oracle.sees_frames, ..OracleFound::default() };
    while !stop.load(Ordering::Relaxed) {
        let start = Instant::now();
        let after_ns = timeline::wall_clock_ns();
        let (processes, root) = mappers(tree, members);
        let floor = if every_moment { 0 } else { found.peak_bytes };
        if pages::resident_sum_bytes(&processes) > floor
            && let Some(sample) = oracle.sample(&processes, floor)
        {
            found.peak_bytes = found.peak_bytes.max(sample.bytes);
            found.file_bytes = found.file_bytes.max(sample.file_bytes);
            let before_ns = timeline::wall_clock_ns();
            found.samples_at.push(Held { after_ns, before_ns, bytes: sample.bytes });
        }
        // Until it runs a program of its own, a vfork child has nothing but its parent's memory.
        let is_below = |mapper: &Mapper| mapper.process != root && !pages::share_memory(root, mapper.process);
        let below: Vec<Mapper> = processes.into_iter().filter(is_below).collect();
        if pages::resident_sum_bytes(&below) > found.descendants_bytes
            && let Some(sample) = oracle.sample(&below, found.descendants_bytes)
        {
            found.descendants_bytes = found.descendants_bytes.max(sample.bytes);
        }
        found.samples += 1;
        // At most half a core: what it takes is missing to the job.
        std::thread::sleep(Duration::from_millis(1).max(start.elapsed()));
    }
    found
}

/// The living processes, each with the first of its threads that lives, and which one is the first process.
fn mappers(tree: &Mutex<Tree>, members: Option<&Group>) -> (Vec<Mapper>, i32) {
    let (mut living, root) = {
        let tree = lock(tree);
        (tree.living(), tree.root)
    };
    if let Some(group) = members {
        living = group.processes().into_iter().map(|pid| (pid, pid)).collect();
    }
    living.sort_unstable();
    living.dedup_by_key(|(process, _)| *process);
    (living.into_iter().map(|(process, task)| Mapper { process, task }).collect(), root)
}
