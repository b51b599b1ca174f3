//! Reads what the memory account asks for.

use super::Meter;
use crate::account::memory::{Resident, Wanted, is_worthwhile};
use crate::account::sharing::MemoryReading;
use crate::account::unmapped::SharedReading;
use crate::meter::tree::Tree;

/// What a rollup is taken to cost that could not be read.
const FAILED_READ_NS: u64 = 10_000;

impl Meter {
    /// After the machine was read: what it holds of shared memory, and how much of that the job maps.
    pub(super) fn note_shared_memory(&mut self) {
        let Some(machine_bytes) = self.machine.columns.shared_memory_bytes() else { return };
        let mapped = self.tree.processes.iter().filter(|process| !process.is_zombie());
        let mapped_sum_bytes = mapped.map(|process| process.shared_memory_bytes).sum();
        self.unmapped.take(SharedReading { machine_bytes, mapped_sum_bytes });
    }

    /// `[main, descendants, combined]` at this tick.
    pub(super) fn read_memory(&mut self, t_ns: u64) -> [Resident; 3] {
        let readings = self.tree.memory_readings();
        match self.memory.wants(&readings, t_ns) {
            Wanted::Nothing => self.memory.take(&readings),
            Wanted::SecondLook => {
                let least = second_look(&mut self.tree, &readings);
                self.memory.take(&least)
            }
            Wanted::Rollups { longest_ns } => {
                let cost_ns = read_rollups(&mut self.tree, &readings, longest_ns);
                let least = second_look(&mut self.tree, &readings);
                self.memory.take_pass(&readings, &self.tree.memory_readings(), cost_ns, t_ns);
                self.memory.take(&least)
            }
        }
    }
}

/// The least that each process held in two looks; one that is gone held nothing.
fn second_look(tree: &mut Tree, first: &[MemoryReading]) -> Vec<MemoryReading> {
    tree.refresh_memory();
    first.iter().zip(tree.memory_readings()).map(|(first, later)| first.least(&later)).collect()
}

fn read_rollups(tree: &mut Tree, readings: &[MemoryReading], longest_ns: u64) -> u64 {
    let mut spent_ns = 0;
    for (process, reading) in tree.processes.iter_mut().zip(readings) {
        process.rollup = None;
        if is_worthwhile(reading, longest_ns) {
            spent_ns += process.read_rollup(&mut tree.buffer).unwrap_or(FAILED_READ_NS);
        }
    }
    spent_ns
}
