//! Members that have left since the last full tick, and those that no tick has seen, found by their pid: thousands may end between two
//! full ticks.

use crate::account::ended::LastReadings;
use crate::linux::perf_ring::Passed;
use std::collections::HashMap;
use std::ops::Deref;

/// A member that left since the last full tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct Departed {
    pub pid: i32,
    pub is_main: bool,
    /// Forked copies of it count with what they changed: it counts for as long as any of them. 0 without copies.
    pub copies_until_ns: u64,
    pub readings: LastReadings,
    /// Its page faults when it was last read, those since the last full tick, and all of them where that is known.
    pub faults: u64,
    pub faults_since: u64,
    pub final_faults: Option<u64>,
    /// When it ended, where that is recorded.
    pub end_ns: Option<u64>,
    pub is_bounded_before: bool,
}

/// In the order in which they left.
#[derive(Debug, Default)]
pub(super) struct DepartedList {
    all: Vec<Departed>,
    by_pid: HashMap<i32, usize>,
}

impl DepartedList {
    pub(super) fn push(&mut self, gone: Departed) {
        let at = self.all.len();
        let known = self.by_pid.entry(gone.pid).or_insert(at);
        // Of two with the same pid, one that this interval has to bound.
        if self.all.get(*known).is_some_and(|first| first.is_bounded_before) {
            *known = at;
        }
        self.all.push(gone);
    }

    pub(super) fn get(&self, pid: i32) -> Option<&Departed> {
        self.by_pid.get(&pid).map(|at| &self.all[*at])
    }

    pub(super) fn get_mut(&mut self, pid: i32) -> Option<&mut Departed> {
        self.by_pid.get(&pid).map(|at| &mut self.all[*at])
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.by_pid.clear();
    }
}

impl Deref for DepartedList {
    type Target = [Departed];

    fn deref(&self) -> &[Departed] {
        &self.all
    }
}

/// Those of `passed`, which is sorted by pid, that had `pid`, the youngest last.
pub(super) fn of_pid(passed: &[Passed], pid: i32) -> &[Passed] {
    let start = passed.partition_point(|life| life.pid < pid);
    let length = passed[start..].partition_point(|life| life.pid == pid);
    &passed[start..start + length]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone(pid: i32, faults: u64, is_bounded_before: bool) -> Departed {
        let readings = LastReadings::default();
        let (is_main, copies_until_ns, final_faults, end_ns) = (false, 0, None, None);
        let faults_since = faults;
        Departed {
            pid,
            is_main,
            copies_until_ns,
            readings,
            faults,
            faults_since,
            final_faults,
            end_ns,
            is_bounded_before,
        }
    }

    #[test]
    fn of_two_with_a_pid_the_one_that_is_not_bounded_yet() {
        let mut list = DepartedList::default();
        [gone(7, 1, true), gone(7, 2, false), gone(7, 3, false), gone(8, 4, true)]
            .into_iter()
            .for_each(|gone| list.push(gone));
        let faults = |pid| list.get(pid).map(|gone| gone.faults);
        assert_eq!((faults(7), faults(8), faults(9), list.len()), (Some(2), Some(4), None, 4));
        list.clear();
        assert!(list.get(7).is_none() && list.is_empty());
    }

    #[test]
    fn lives_of_a_pid() {
        let life = |pid, fork_ns| Passed { pid, fork_ns, ..Passed::UNKNOWN };
        let passed = [life(2, 5), life(3, 1), life(3, 4), life(9, 2)];
        assert_eq!(of_pid(&passed, 3), &passed[1..3]);
        assert_eq!(of_pid(&passed, 2), &passed[..1]);
        assert!(of_pid(&passed, 4).is_empty() && of_pid(&passed, 10).is_empty() && of_pid(&[], 1).is_empty());
    }
}
