//! Huge pages come without page faults that would tell of their size, and the machine counts them without saying who got them. Marks do:
//! a program whose mark is far above what its page faults can have mapped had the rest in huge pages.

use super::departed::of_pid;
use super::{Bounds, FAULTS_AFTER_RECORD, HUGE_PAGE_BYTES, MachinePages};
use crate::account::ended::{LastReadings, Present};
use crate::account::parts::huge_at_least_bytes;
use crate::linux::perf_ring::Passed;
use crate::meter::Meter;
use crate::meter::peak_figures::mark_lag_bytes;

/// The oldest proofs are forgotten beyond so many.
const MOST_KEPT: usize = 256;

/// With more processes than this between two full ticks, two of them may have had the same pid.
const MOST_PASSED: usize = 2048;

/// Huge pages of a program that has ended, at least.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proof {
    fork_ns: u64,
    bytes: u64,
}

/// Huge pages that the machine gave out in a time and that are not known to be of a program that has them still, or had them at its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct HugeLeft {
    since_ns: u64,
    until_ns: u64,
    /// Of the machine since boot, by then.
    given_out: u64,
    bytes: u64,
}

impl HugeLeft {
    /// What somebody who was forked at `fork_ns` and has been a program since `exec_ns`, or became one just now, can have had of them before.
    fn before_exec_bytes(self, bounds: &mut Bounds, fork_ns: u64, exec_ns: Option<u64>) -> Option<u64> {
        if fork_ns <= self.since_ns {
            return None;
        }
        if exec_ns.is_some_and(|exec_ns| exec_ns < self.until_ns) {
            return Some(self.bytes);
        }
        let now = bounds.vmstat.pages()?;
        let since = (now.huge_anon + now.huge_file).saturating_sub(self.given_out) * HUGE_PAGE_BYTES;
        Some(self.bytes.saturating_add(since))
    }
}

impl Bounds {
    /// `readings` are of one that was forked at `fork_ns`; see [`HugeLeft::before_exec_bytes`].
    pub(super) fn bound_huge(&mut self, readings: &mut LastReadings, fork_ns: u64, exec_ns: Option<u64>) {
        let (Some(left), Some(before)) = (self.huge_left, &mut readings.before_exec) else { return };
        before.huge_at_most_bytes = left.before_exec_bytes(self, fork_ns, exec_ns);
    }

    /// Keeps what the marks of `passed` prove, which ended before `until_ns`.
    fn note_proofs(&mut self, passed: &[Passed], until_ns: u64, lag_bytes: u64) {
        for life in passed.iter().filter(|life| life.fork_ns > 0 && life.end_ns < until_ns) {
            // One that has forked may share its memory with a child of vfork, whose page faults are not its own.
            let is_known = !life.has_forked && of_pid(passed, life.pid).len() == 1;
            // By `wait` it may be the mark of a program before.
            let mark = self.exit_marks.get(&life.pid).filter(|mark| is_known && !mark.is_reaped);
            let Some(record) = mark.map(|mark| mark.record).filter(|record| !record.is_copy) else {
                continue;
            };
            let bytes = proven_bytes(record.peak_rss_bytes, record.faults, lag_bytes);
            if bytes > 0 {
                self.huge_proofs.push(Proof { fork_ns: life.fork_ns, bytes });
            }
        }
        self.huge_proofs.drain(..self.huge_proofs.len().saturating_sub(MOST_KEPT));
    }
}

/// By a mark and all page faults of a life. Counters per CPU may have the mark too high by `lag_bytes`.
fn proven_bytes(bytes: u64, faults: u64, lag_bytes: u64) -> u64 {
    huge_at_least_bytes(bytes, faults + FAULTS_AFTER_RECORD).saturating_sub(lag_bytes)
}

impl Meter {
    /// What is left of the huge pages that the machine gave out since the first of `passed` was born. `machine` was read from `until_ns`
    /// on, and the tick at `now_ns` had read the living by then.
    pub(super) fn huge_left(
        &mut self,
        passed: &[Passed],
        machine: &MachinePages,
        until_ns: u64,
        now_ns: u64,
    ) -> Option<HugeLeft> {
        if passed.len() > MOST_PASSED {
            return None;
        }
        let lag_bytes = mark_lag_bytes();
        self.bounds.note_proofs(passed, until_ns, lag_bytes);
        let oldest_ns = passed.iter().map(|life| life.fork_ns).filter(|fork_ns| *fork_ns > 0).min()?;
        let before = self.bounds.history.before(oldest_ns)?;
        let given_out = machine.huge_anon? + machine.huge_file?;
        let given_out_bytes = given_out.saturating_sub(before.huge_anon + before.huge_file) * HUGE_PAGE_BYTES;
        let proofs = self.bounds.huge_proofs.iter().filter(|proof| proof.fork_ns > before.t_ns);
        let of_ended: u64 = proofs.map(|proof| proof.bytes).sum();
        let programs = self.tree.processes.iter().filter(|process| !process.stat.is_forked_copy());
        let of_living: u64 = programs
            .filter(|process| self.birth_of_leaf_ns(process.id.pid).is_some_and(|ns| ns > before.t_ns))
            .filter_map(|process| Some((process.present(now_ns)?, process.stat.faults())))
            .map(|(Present { anon_bytes, file_bytes }, faults)| {
                proven_bytes(anon_bytes + file_bytes, faults, lag_bytes)
            })
            .sum();
        let bytes = given_out_bytes.saturating_sub(of_ended + of_living);
        Some(HugeLeft { since_ns: before.t_ns, until_ns, given_out, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::taskstats::ExitRecord;
    use crate::meter::bounds::ExitMark;

    const MIB: u64 = 1 << 20;

    fn mark(pid: i32, peak_rss_bytes: u64, faults: u64, is_copy: bool, is_reaped: bool) -> (i32, ExitMark) {
        let record = ExitRecord {
            pid,
            wait_status: None,
            cpu_ns: 0,
            parent_pid: 1,
            is_copy,
            name: None,
            peak_rss_bytes,
            faults,
        };
        (pid, ExitMark { record, is_reaped, age: 0 })
    }

    #[test]
    fn marks_prove_huge_pages() {
        let marks = [
            mark(2, 62 * MIB, 158, false, false),
            mark(3, 62 * MIB, 158, true, false),
            mark(4, 62 * MIB, 158, false, true),
            mark(5, 62 * MIB, 15_000, false, false),
            mark(6, 62 * MIB, 158, false, false),
            mark(7, 62 * MIB, 158, false, false),
        ];
        let mut bounds = Bounds { exit_marks: marks.into_iter().collect(), ..Bounds::default() };
        let life = |pid, fork_ns| Passed { pid, fork_ns, end_ns: 90, has_forked: false, ..Passed::UNKNOWN };
        let late = Passed { end_ns: 100, ..life(6, 10) };
        let parent = Passed { has_forked: true, ..life(7, 10) };
        bounds.note_proofs(&[life(2, 10), life(3, 10), life(4, 10), life(5, 10), late, parent], 100, MIB);
        let proven = |bounds: &Bounds| -> Vec<(u64, u64)> {
            bounds.huge_proofs.iter().map(|proof| (proof.fork_ns, proof.bytes)).collect()
        };
        assert_eq!(proven(&bounds), [(10, 51 * MIB)], "no copy, no mark by wait, no small pages, no parent");
        bounds.note_proofs(&[life(2, 20), life(2, 30)], 100, MIB);
        assert_eq!(proven(&bounds).len(), 1, "two lives and one record");
    }

    #[test]
    fn what_is_left_is_known_until_the_machine_was_read() {
        let left = HugeLeft { since_ns: 10, until_ns: 100, given_out: 0, bytes: 5 };
        let mut bounds = Bounds::default();
        let mut bytes = |fork_ns, exec_ns| left.before_exec_bytes(&mut bounds, fork_ns, exec_ns);
        assert_eq!((bytes(10, Some(50)), bytes(11, Some(99))), (None, Some(5)));
        assert!(bytes(11, Some(100)).is_none_or(|bytes| bytes >= 5), "the machine is asked again");
    }
}
