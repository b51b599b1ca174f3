//! A tick before which no process of the job has run: the row of the tick before still holds, and only the CPU clock of each
//! process is read. Reading the job costs several times as much, because the caches are cold after a tenth of a second.

use super::{Meter, Target};

/// Trees of more processes are read: see `still` for those.
const MOST_PROCESSES: usize = 16;

/// The job is read at least this often: the kernel takes memory away by itself, and hands orphans over.
const READ_EVERY_NS: u64 = 1_000_000_000;

/// What the last reading of the job found.
#[derive(Debug, Default)]
pub(crate) struct Idleness {
    read_at_ns: u64,
    /// Nobody had run since the reading before, so that there was nothing left to account.
    was_idle: bool,
}

impl Meter {
    /// Whether nobody can have changed anything since the job was last read, and nothing was left to be read.
    pub(super) fn is_idle(&self, now_ns: u64) -> bool {
        let processes = &self.tree.processes;
        self.idle.was_idle
            && !self.memory.awaits_pass()
            && now_ns < self.idle.read_at_ns + READ_EVERY_NS
            && (1..=MOST_PROCESSES).contains(&processes.len())
            && processes.iter().all(|process| process.is_settled() && process.is_idle())
    }

    /// The job was read at `now_ns`.
    pub(super) fn note_idleness(&mut self, now_ns: u64) {
        // The meter is a part of the program, or some of the job's processes are started by others.
        let is_alone = self.target != Target::Own
            && self.tree.groups.watched.is_empty()
            && !self.containers.are_possible()
            && self.contained.is_empty();
        let was_idle = is_alone && !self.tree.has_changed();
        self.idle = Idleness { read_at_ns: now_ns, was_idle };
    }
}
