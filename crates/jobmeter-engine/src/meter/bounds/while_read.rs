//! What processes can have grown by between their turn in a full tick and its end. Each is read in its turn: one that was read early may
//! grow while another, which is read late, still has what it is about to give back.

use super::{FAULTS_AFTER_RECORD, HUGE_PAGE_BYTES, MachinePages};
use crate::account::parts::{WhileRead, mapped_by_faults_bytes};
use crate::linux::proc::status;
use crate::linux::{cpus, sys};
use crate::meter::Meter;
use crate::meter::process::SHORTEST_FAULT_NS;

/// So many are read once more where the machine was not asked before the first of them.
const MOST_READ_AGAIN: usize = 32;

/// No core clears a huge page in less.
const SHORTEST_HUGE_FAULT_NS: u64 = 40_000;

/// A tick that took longer was held up while it read.
const HELD_UP_NS: u64 = 2_000_000;

/// So many page faults of the machine while a tick read are not worth asking whose they were.
const FEW_FAULTS: u64 = 16;

impl Meter {
    /// Where a full tick was held up while it read several processes, those that have run are read once more: what they can have grown by
    /// since is then little again.
    pub(in crate::meter) fn read_again_if_held_up(&mut self, now_ns: u64) {
        let since_ns = self.bounds.reading_since_ns;
        let is_held_up = since_ns.is_some_and(|since_ns| sys::monotonic_ns() > since_ns + HELD_UP_NS);
        if is_held_up && self.tree.processes.len() > 1 {
            self.begin_full_tick();
            self.tree.refresh(now_ns, true, false, &mut self.changes.departed, &mut || {});
            self.follow_events(false);
            self.note_departed();
        }
    }

    /// By the machine's count, `machine` at the end, or the members' own where that is less. Where the machine was not asked at the
    /// beginning, the job was one process then.
    pub(super) fn grown_while_read(&mut self, machine: &MachinePages) -> WhileRead {
        let Some(since_ns) = self.bounds.reading_since_ns else { return WhileRead::default() };
        let counted = self.bounds.history.at_begin().zip(machine.faults).zip(machine.huge_anon);
        let counted = counted.map(|((before, faults), huge_anon)| WhileRead {
            faults: faults.saturating_sub(before.faults),
            huge_bytes: huge_anon.saturating_sub(before.huge_anon) * HUGE_PAGE_BYTES,
            by_marks_bytes: None,
        });
        if let Some(few) = counted.filter(|counted| counted.faults <= FEW_FAULTS) {
            return few;
        }
        // What there was time for, on every core.
        let time_ns = sys::monotonic_ns().saturating_sub(since_ns) * cpus::online().len() as u64;
        let huge_bytes = (time_ns / SHORTEST_HUGE_FAULT_NS).saturating_mul(HUGE_PAGE_BYTES);
        let timed = WhileRead {
            faults: time_ns / SHORTEST_FAULT_NS,
            huge_bytes: huge_bytes.min(machine.huge.since_tick_bytes),
            by_marks_bytes: None,
        };
        let all = counted.map_or(timed, |counted| WhileRead {
            faults: counted.faults.min(timed.faults),
            huge_bytes: counted.huge_bytes.min(timed.huge_bytes),
            by_marks_bytes: None,
        });
        match self.grown_since_read(all.huge_bytes) {
            Some(Grown { faults: 0, .. }) => WhileRead::default(),
            Some(grown) => {
                let by_marks_bytes = Some(grown.bytes);
                WhileRead { faults: all.faults.min(grown.faults), by_marks_bytes, ..all }
            }
            None => all,
        }
    }

    /// What the members can have grown by since they were read, when the machine gave out `huge_bytes` in huge pages; `None` where they
    /// are too many to ask, or one has just ended of which no exit record tells.
    fn grown_since_read(&mut self, huge_bytes: u64) -> Option<Grown> {
        let Meter { tree, bounds, .. } = self;
        if tree.processes.len() > MOST_READ_AGAIN {
            return None;
        }
        let (proc, buffer) = (tree.proc, &mut tree.buffer);
        bounds.collect_exit_records();
        let mut all = Grown { faults: 0, bytes: 0 };
        for process in tree.processes.iter().filter(|process| !process.has_given_memory_back()) {
            let pid = process.id.pid;
            let stat = proc.stat(pid, buffer).filter(|stat| stat.start_ticks == process.id.start_ticks);
            let (faults, mark_bytes) = match stat {
                Some(stat) if stat.faults() == process.stat.faults() => continue,
                Some(stat) => {
                    let is_same = !stat.has_execed_since(&process.stat);
                    let length = proc.read(pid, "status", buffer).unwrap_or(0);
                    let mark_bytes = status::parse(&buffer[..length]).peak_rss_bytes;
                    (stat.faults(), mark_bytes.filter(|_| is_same))
                }
                // The mark is that of its last program.
                None => (bounds.exit_marks.get(&pid)?.record.faults + FAULTS_AFTER_RECORD, None),
            };
            let faults = faults.saturating_sub(process.stat.faults());
            let by_mark_bytes = mark_bytes.map(|bytes| bytes.saturating_sub(process.rss_bytes));
            let by_faults_bytes = mapped_by_faults_bytes(faults, huge_bytes);
            all.faults += faults;
            all.bytes = all.bytes.saturating_add(by_mark_bytes.unwrap_or(u64::MAX).min(by_faults_bytes));
        }
        Some(all)
    }
}

/// By page faults, and by marks that stand above what was read.
struct Grown {
    faults: u64,
    bytes: u64,
}
