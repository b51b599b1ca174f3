//! Until when memory is held: a forked copy has that of its parent until it becomes another program or ends.

use super::Follower;
use crate::account::growth::FaultsByTime;
use crate::linux::perf_ring::Passed;
use std::collections::HashMap;

impl Follower {
    /// Page faults whose times are recorded so far, where they are.
    pub(crate) fn timed_faults(&mut self) -> Option<u64> {
        self.ring.collect_faults();
        self.ring.faults.as_mut().map(|faults| faults.times_mut().timed())
    }

    /// See [`crate::account::growth::FaultTimes::ask`].
    pub(crate) fn faults_by_time(
        &mut self,
        all: u64,
        timed_before: u64,
        from_ns: u64,
    ) -> Option<FaultsByTime> {
        self.ring.collect_faults();
        self.ring.faults.as_mut()?.times_mut().ask(all, timed_before, from_ns)
    }

    /// Who has forked those that are known or in `passed`.
    pub(crate) fn parent_pids(&self, passed: &[Passed]) -> impl Iterator<Item = i32> {
        passed.iter().copied().chain(self.lives.all()).map(|life| life.parent_pid)
    }

    /// When the memory of each process was free, by its pid and the time of its fork. `passed` are those that are gone, or that no
    /// tick has seen.
    pub(crate) fn held_until_ns(&self, passed: &[Passed]) -> HashMap<(i32, u64), u64> {
        held_until_ns(passed.iter().copied().chain(self.lives.all()).collect())
    }
}

fn held_until_ns(mut lives: Vec<Passed>) -> HashMap<(i32, u64), u64> {
    // The youngest first: children come before their parents, and who has a pid again before who had it first.
    lives.sort_unstable_by_key(|life| {
        (std::cmp::Reverse(life.fork_ns), life.pid, std::cmp::Reverse(life.end_ns))
    });
    lives.dedup_by_key(|life| (life.fork_ns, life.pid));
    let mut copies: HashMap<i32, Vec<(u64, u64)>> = HashMap::new();
    let mut held = HashMap::with_capacity(lives.len());
    for life in lives {
        let of_copies = copies.remove(&life.pid).unwrap_or_default();
        let latest = |until_ns: u64, fork_before_ns: u64| {
            let inherits = of_copies.iter().filter(|(fork_ns, _)| *fork_ns <= fork_before_ns);
            inherits.map(|(_, held_ns)| *held_ns).fold(until_ns, u64::max)
        };
        held.insert((life.pid, life.fork_ns), latest(life.end_ns, u64::MAX));
        let of_parent_ns = match life.exec_ns {
            Some(exec_ns) => latest(exec_ns.min(life.end_ns), exec_ns),
            None => latest(life.end_ns, u64::MAX),
        };
        copies.entry(life.parent_pid).or_default().push((life.fork_ns, of_parent_ns));
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life(pid: i32, parent_pid: i32, fork_ns: u64, exec_ns: Option<u64>, end_ns: u64) -> Passed {
        Passed { pid, fork_ns, end_ns, parent_pid, exec_ns, ..Passed::UNKNOWN }
    }

    #[test]
    fn a_copy_holds_the_memory_of_its_parent() {
        let held = held_until_ns(vec![
            life(1, 0, 0, Some(1), 50),
            life(2, 1, 10, None, 90),
            life(3, 2, 20, Some(200), 300),
            life(4, 3, 30, None, 400),
            life(4, 3, 30, None, 400),
            life(5, 3, 250, None, 500),
        ]);
        assert_eq!(held[&(5, 250)], 500);
        assert_eq!(held[&(3, 20)], 500, "its copies may have what it has as another program");
        assert_eq!(held[&(2, 10)], 400, "4 was forked before 3 became another program, and 5 after it");
        assert_eq!(held[&(1, 0)], 400);
    }

    #[test]
    fn a_pid_that_comes_back_is_another_process() {
        let held = held_until_ns(vec![
            life(1, 0, 10, None, 20),
            life(2, 1, 15, Some(16), 100),
            life(1, 0, 30, None, 40),
            life(3, 1, 35, None, 70),
        ]);
        assert_eq!((held[&(1, 10)], held[&(1, 30)]), (20, 70));
    }
}
