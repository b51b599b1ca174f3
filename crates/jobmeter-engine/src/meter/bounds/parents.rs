//! Forked copies: what a copy did not change is its parent's, and counts with the parent for as long as the copy lives.

use super::FAULTS_AFTER_RECORD;
use super::departed::of_pid;
use super::unread::LateMark;
use crate::account::parts::anon_by_faults_bytes;
use crate::account::peaks::{EndedParent, Living};
use crate::linux::perf_ring::Passed;
use crate::linux::{cpus, sys};
use crate::meter::Meter;

/// The shortest time in which a page can be copied on write.
const SHORTEST_COPY_NS: u64 = 200;

/// A fork is recorded a moment after the memory was copied.
const FORK_LAG_NS: u64 = 100_000;

/// More than any process takes.
const UNKNOWN_FAULTS: u64 = 1 << 50;

/// When a forked copy began and ended, as far as that is recorded.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CopyLife {
    pub fork_ns: Option<u64>,
    pub end_ns: Option<u64>,
    /// It has forked nobody, by records of which none is missing.
    pub is_leaf: bool,
    /// How long it was a copy, if it has become a program once since its fork.
    pub copy_ns: Option<u64>,
}

/// Page faults of the parent of a forked copy: with each it can have changed a page that the copy keeps as it was.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParentFaults {
    pub total: u64,
    /// Since the last full tick.
    pub since: u64,
    /// After the fork, by the time that passed.
    pub after_fork_at_most: u64,
    /// Anonymous memory that it had at least whenever it forked since the last full tick: what it has now, less one page for
    /// each of its faults. A copy began with as much.
    pub anon_at_least_bytes: u64,
    /// Anonymous memory that it had at the last full tick, where that has read it.
    pub anon_at_full_bytes: Option<u64>,
}

impl ParentFaults {
    fn new(total: u64, since: u64, copy: CopyLife, parent_end_ns: Option<u64>) -> ParentFaults {
        let until_ns = [copy.end_ns, parent_end_ns].into_iter().flatten().min();
        let until_ns = until_ns.unwrap_or_else(sys::monotonic_ns);
        let passed_ns = copy.fork_ns.map(|fork_ns| until_ns.saturating_sub(fork_ns) + FORK_LAG_NS);
        let at_once = cpus::online().len() as u64;
        let after_fork_at_most = passed_ns.map_or(u64::MAX, |ns| ns / SHORTEST_COPY_NS * at_once);
        ParentFaults { total, since, after_fork_at_most, anon_at_least_bytes: 0, anon_at_full_bytes: None }
    }

    /// Those after the fork of a copy before which it had `before`.
    pub(crate) fn after(&self, before: u64) -> u64 {
        self.total.saturating_sub(before).min(self.after_fork_at_most)
    }

    /// Those after the fork of a copy that was born since the last full tick.
    pub(crate) fn after_late_fork(&self) -> u64 {
        self.since.min(self.after_fork_at_most)
    }
}

impl Meter {
    /// Page faults of `pid` where its memory counts as long as that of a copy of it does: it lives, or it has ended itself since
    /// the last full tick and is kept for as long. Not where it was a copy too: then the copy may have pages of its parent's
    /// parent. `passed` are those of this interval that no tick has seen.
    pub(super) fn counts_with_copy(
        &mut self,
        pid: i32,
        copy: CopyLife,
        passed: &[Passed],
    ) -> Option<ParentFaults> {
        self.ended_counts_with_copy(pid, copy, passed).or_else(|| {
            let keeps_memory = self.has_kept_its_program(pid, copy.fork_ns, passed);
            if keeps_memory { self.living_parent(pid, copy) } else { None }
        })
    }

    fn ended_counts_with_copy(
        &mut self,
        pid: i32,
        copy: CopyLife,
        passed: &[Passed],
    ) -> Option<ParentFaults> {
        if !self.has_kept_its_program(pid, copy.fork_ns, passed) {
            return None;
        }
        let until_ns = copy.end_ns.unwrap_or(u64::MAX);
        let gone = self.bounds.departed.get(pid).filter(|gone| !gone.is_bounded_before).copied();
        if let Some(gone) = gone {
            if gone.readings.is_copy() {
                return None;
            }
            let total = gone.final_faults.or_else(|| Some(gone.faults + self.faults_of_ended_unread()?))?;
            if let Some(gone) = self.bounds.departed.get_mut(pid) {
                gone.copies_until_ns = until_ns.max(gone.copies_until_ns);
            }
            let since = total.saturating_sub(gone.faults) + gone.faults_since;
            let anon_at_full_bytes = gone.readings.anon_at_full_bytes;
            return Some(ParentFaults {
                anon_at_full_bytes,
                ..ParentFaults::new(total, since, copy, gone.end_ns)
            });
        }
        if let Some((parent, _)) = self.tree.get_mut(pid).filter(|(parent, _)| parent.has_given_memory_back())
        {
            let total = parent.final_faults().filter(|_| !parent.is_end_bounded())?;
            if parent.stat.is_forked_copy() {
                return None;
            }
            // It ended since the last full tick, and counts until the next one; or as one that a tick found too late.
            parent.has_copies = true;
            let since = parent.faults_since_full() + total.saturating_sub(parent.stat.faults());
            let anon_at_full_bytes = parent.anon_at_full_bytes();
            self.bounds.note_unseen_parent(pid, until_ns);
            return Some(ParentFaults { anon_at_full_bytes, ..ParentFaults::new(total, since, copy, None) });
        }
        // One that was born before a copy, and had ended before a tick could see it.
        let is_parent = |life: &&Passed| {
            life.end_ns < u64::MAX && copy.fork_ns.is_some_and(|fork_ns| life.fork_ns < fork_ns)
        };
        let life = of_pid(passed, pid).iter().rev().find(is_parent)?;
        let bounds = &mut self.bounds;
        let total = match bounds.exit_marks.get(&pid).map(|mark| mark.record) {
            Some(record) if record.is_copy => return None,
            Some(record) => record.faults + FAULTS_AFTER_RECORD,
            // Those after the fork are bounded by the time that it lived on.
            None if life.exec_ns.is_some() => UNKNOWN_FAULTS,
            None => return None,
        };
        bounds.note_unseen_parent(pid, until_ns);
        Some(ParentFaults::new(total, total, copy, Some(life.end_ns)))
    }

    /// Returns whether no record tells that `pid` has become another program since `fork_ns`: with an exec it leaves the memory that its
    /// copies still have, and its mark.
    fn has_kept_its_program(&self, pid: i32, fork_ns: Option<u64>, passed: &[Passed]) -> bool {
        let follower = self.witnesses.follower.as_ref();
        let passed_ns = of_pid(passed, pid).last().and_then(|life| life.exec_ns);
        let exec_ns = follower.and_then(|follower| follower.exec_ns(pid)).or(passed_ns);
        exec_ns.is_none_or(|exec_ns| fork_ns.is_some_and(|fork_ns| exec_ns < fork_ns))
    }

    /// Page faults after the last readings of those that have ended since the last full tick; `None` where a parent discards
    /// the accounts of its children.
    fn faults_of_ended_unread(&mut self) -> Option<u64> {
        let has_hole = self.counters.ledger.has_hole || self.doubts.may_discard;
        let since = self.ended_faults_total().saturating_sub(self.bounds.ended_faults);
        let read: u64 = self.bounds.departed.iter().map(|gone| gone.faults).sum();
        (!has_hole).then(|| since.saturating_sub(read))
    }

    /// Of a member that has not ended: what its forked copies did not change is in its memory.
    fn living_parent(&self, pid: i32, copy: CopyLife) -> Option<ParentFaults> {
        let parent = self.tree.get(pid).filter(|process| !process.has_given_memory_back())?;
        let (total, since) = (parent.stat.faults(), parent.faults_since_full());
        let anon_bytes = parent.rss_bytes.saturating_sub(parent.rss_file_bytes);
        let anon_at_least_bytes = anon_bytes.saturating_sub(anon_by_faults_bytes(since));
        let anon_at_full_bytes = parent.anon_at_full_bytes();
        Some(ParentFaults {
            anon_at_least_bytes,
            anon_at_full_bytes,
            ..ParentFaults::new(total, since, copy, None)
        })
    }

    /// Dates the copy by the page faults of its parent. Where the parent was read late, or has ended since the last full tick, it counts
    /// until the next one, and the copy with what is not its parent's.
    pub(super) fn ended_parent_of(
        &mut self,
        copy: &mut Living,
        late_marks: &[(i32, LateMark)],
        passed: &[Passed],
    ) -> Option<EndedParent> {
        if !copy.is_copy {
            return None;
        }
        let fork_ns = self.witnesses.follower.as_mut().and_then(|follower| follower.late_fork_ns(copy.pid));
        let life = CopyLife { fork_ns, ..CopyLife::default() };
        let pid = copy.parent_pid;
        let living = self.living_parent(pid, life);
        let faults = living.or_else(|| self.ended_counts_with_copy(pid, life, passed))?;
        if living.is_some() && !self.has_kept_its_program(pid, fork_ns, passed) {
            // What the parent has now is none of what it had: all that its copies inherited counts, once for all of them.
            copy.parent_pid = -pid;
            return None;
        }
        // A copy that was found late does not know how many its parent had at the fork.
        copy.parent_faults_at_birth = faults.total - faults.after(copy.parent_faults_at_birth);
        let has_late_mark = late_marks.iter().any(|(late, mark)| *late == pid && mark.bytes.is_some());
        let is_main = pid == self.main_pid();
        (living.is_none() || has_late_mark).then_some(EndedParent { pid, faults: faults.total, is_main })
    }

    pub(super) fn forked_at_ns(&self, pid: i32) -> Option<u64> {
        self.witnesses.follower.as_ref()?.fork_ns(pid)
    }
}
