//! What processes can have grown by between their turn in a full tick and its end. Each is read in its turn: one that was read early may
//! grow while another, which is read late, still has what it is about to give back.

use super::{HUGE_PAGE_BYTES, MachinePages};
use crate::account::parts::WhileRead;
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
        });
        if let Some(few) = counted.filter(|counted| counted.faults <= FEW_FAULTS) {
            return few;
        }
        let read_again = self.faults_since_read();
        if read_again == Some(0) {
            return WhileRead::default();
        }
        // What there was time for, on every core.
        let time_ns = sys::monotonic_ns().saturating_sub(since_ns) * cpus::online().len() as u64;
        let huge_bytes = (time_ns / SHORTEST_HUGE_FAULT_NS).saturating_mul(HUGE_PAGE_BYTES);
        let timed = WhileRead {
            faults: time_ns / SHORTEST_FAULT_NS,
            huge_bytes: huge_bytes.min(machine.huge.since_tick_bytes),
        };
        let counted = counted.unwrap_or(timed);
        WhileRead {
            faults: read_again.unwrap_or(u64::MAX).min(counted.faults).min(timed.faults),
            huge_bytes: counted.huge_bytes.min(timed.huge_bytes),
        }
    }

    /// Page faults of the members since they were read; `None` where they are too many to ask, or one has just ended.
    fn faults_since_read(&mut self) -> Option<u64> {
        let (proc, buffer) = (self.tree.proc, &mut self.tree.buffer);
        if self.tree.processes.len() > MOST_READ_AGAIN {
            return None;
        }
        let living = self.tree.processes.iter().filter(|process| !process.has_given_memory_back());
        living
            .map(|process| {
                let stat = proc.stat(process.id.pid, buffer)?;
                let is_same = stat.start_ticks == process.id.start_ticks;
                is_same.then(|| stat.faults().saturating_sub(process.stat.faults()))
            })
            .sum()
    }
}
