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

impl Meter {
    /// By the machine's count, `machine` at the end. Where that was not asked at the beginning, the job was one process then: by the
    /// page faults of all that are there now.
    pub(super) fn grown_while_read(&mut self, machine: &MachinePages) -> WhileRead {
        let counted = self.bounds.history.at_begin().zip(machine.faults).zip(machine.huge_anon);
        if let Some(((before, faults), huge_anon)) = counted {
            return WhileRead {
                faults: faults.saturating_sub(before.faults),
                huge_bytes: huge_anon.saturating_sub(before.huge_anon) * HUGE_PAGE_BYTES,
            };
        }
        let read_again = self.faults_since_read();
        if read_again == Some(0) {
            return WhileRead::default();
        }
        // What there was time for, on every core.
        let time_ns = sys::monotonic_ns().saturating_sub(self.clock.full_at_ns) * cpus::online().len() as u64;
        let huge_bytes = (time_ns / SHORTEST_HUGE_FAULT_NS).saturating_mul(HUGE_PAGE_BYTES);
        WhileRead {
            faults: read_again.unwrap_or(u64::MAX).min(time_ns / SHORTEST_FAULT_NS),
            huge_bytes: huge_bytes.min(machine.huge.since_tick_bytes),
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
