//! Huge pages come without page faults that would tell of their size, and the machine counts them without saying who got them. Marks do:
//! a program whose mark is far above what its page faults can have mapped had the rest in huge pages.

use super::departed::Departed;
use super::{HUGE_PAGE_BYTES, MachinePages};
use crate::account::ended::LastReadings;
use crate::linux::cpus;
use crate::linux::perf_ring::Passed;
use crate::meter::Meter;
use crate::meter::process::Process;
use std::collections::HashSet;

/// A life since the last full tick, as the member that it was, if a tick has seen it, and what is known of its memory.
pub(super) type Lived = (Option<Departed>, Passed, LastReadings);

impl Meter {
    /// Of the huge pages that the machine gave out since the first of those was born whom no tick has seen, their last programs had those
    /// that their marks prove: nobody had these before an exec. Only for those that ended before `machine` was read, from
    /// `counting_since_ns` on.
    pub(super) fn share_out_huge_pages(
        &self,
        lived: &mut [Lived],
        machine: &MachinePages,
        counting_since_ns: u64,
    ) {
        let is_unseen =
            |(gone, life, _): &Lived| gone.is_none() && life.fork_ns > 0 && life.end_ns < counting_since_ns;
        let unseen = lived.iter().filter(|one| is_unseen(one));
        let Some(oldest_ns) = unseen.clone().map(|(_, life, _)| life.fork_ns).min() else { return };
        let before = self.bounds.history.before(oldest_ns);
        let Some((before, now)) = before.zip(machine.huge_anon.zip(machine.huge_file)) else { return };
        let given_out = (now.0 + now.1).saturating_sub(before.huge_anon + before.huge_file);
        let lag_bytes = cpus::per_cpu_lag_pages() * self.tree.scale.page_bytes;
        // One that has forked may share its memory with a child of vfork, whose page faults are not its own.
        let members = self.tree.processes.iter().map(Process::forked_by);
        let forkers: HashSet<i32> = lived.iter().map(|(_, life, _)| life.parent_pid).chain(members).collect();
        let proven = unseen.filter(|(_, life, _)| !forkers.contains(&life.pid));
        let proven_bytes: u64 = proven.map(|(.., readings)| readings.huge_at_least_bytes(lag_bytes)).sum();
        let left_bytes = (given_out * HUGE_PAGE_BYTES).saturating_sub(proven_bytes);
        for (.., readings) in lived.iter_mut().filter(|one| is_unseen(one)) {
            readings.before_exec.iter_mut().for_each(|before| before.huge_at_most_bytes = Some(left_bytes));
        }
    }
}
