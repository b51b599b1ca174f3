//! What processes can have grown by between their turn in a full tick and its end. Each is read in its turn: one that was read early may
//! grow while another, which is read late, still has what it is about to give back.

use super::{HUGE_PAGE_BYTES, MachinePages};
use crate::account::parts::WhileRead;
use crate::meter::Meter;

/// So many are read once more where the machine was not asked before the first of them.
const MOST_READ_AGAIN: usize = 4;

/// Allows for more memory than any machine has.
const UNKNOWN_FAULTS: u64 = u64::MAX >> 24;

impl Meter {
    /// By the machine's count, `machine` at the end. Where that was not asked at the beginning, the job was one process then, and few have
    /// come.
    pub(super) fn grown_while_read(&mut self, machine: &MachinePages) -> WhileRead {
        let counted = self.bounds.history.at_begin().zip(machine.faults).zip(machine.huge_anon);
        if let Some(((before, faults), huge_anon)) = counted {
            return WhileRead {
                faults: faults.saturating_sub(before.faults),
                huge_bytes: huge_anon.saturating_sub(before.huge_anon) * HUGE_PAGE_BYTES,
            };
        }
        let faults = self.faults_since_read().or(machine.faults_since_tick).unwrap_or(UNKNOWN_FAULTS);
        let huge_bytes = if faults > 0 { machine.huge.since_tick_bytes } else { 0 };
        WhileRead { faults, huge_bytes }
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
