//! Who held which memory since the last full tick, and until when: what the times of page faults are set against.

use super::FAULTS_AFTER_RECORD;
use super::departed::{Departed, of_pid};
use crate::account::ended::LastReadings;
use crate::account::growth::{FaultsByTime, Holder};
use crate::account::parts::Huge;
use crate::linux::perf_ring::Passed;
use crate::meter::Meter;

/// With more processes than this their growth is not looked at: each costs a look-up at every full tick.
const MOST_HOLDERS: usize = 2048;

impl Meter {
    /// The times of page faults are recorded from now on.
    pub(crate) fn begin_growth(&mut self) {
        let all = self.bounds.vmstat.pages().and_then(|pages| pages.faults);
        self.faults_by_time(all, Some(0));
    }

    /// Page faults of the machine since the last full tick, where their times are recorded: `all` that it has taken, and `timed`
    /// of them in records before that was read.
    pub(super) fn faults_by_time(&mut self, all: Option<u64>, timed: Option<u64>) -> Option<FaultsByTime> {
        let from_ns = self.bounds.bounded_at_ns;
        self.witnesses.follower.as_mut()?.faults_by_time(all?, timed?, from_ns)
    }

    /// Everybody who had memory since the last full tick; `None` where somebody is not known well enough. `lived` are those that
    /// ended, and those that no tick has seen.
    pub(super) fn holders(
        &self,
        passed: &[Passed],
        lived: &[(Option<Departed>, Passed, LastReadings)],
        huge: Huge,
    ) -> Option<Vec<Holder>> {
        if self.tree.processes.len() + lived.len() > MOST_HOLDERS {
            return None;
        }
        let follower = self.witnesses.follower.as_ref()?;
        let from_ns = self.bounds.bounded_at_ns;
        let held = follower.held_until_ns(passed);
        let held_until_ns = |pid: i32, fork_ns: u64| held.get(&(pid, fork_ns)).copied().unwrap_or(u64::MAX);
        let mut holders = Vec::with_capacity(self.tree.processes.len() + lived.len());
        for process in self.tree.processes.iter().filter(|process| !process.is_end_bounded()) {
            let fork_ns = follower.fork_ns(process.id.pid);
            if of_pid(passed, process.id.pid).iter().any(|life| Some(life.fork_ns) == fork_ns) {
                continue;
            }
            let newborn_bytes = fork_ns.filter(|fork_ns| *fork_ns > from_ns).map(|_| 0);
            let anon_bytes = process.anon_at_full_bytes().or(newborn_bytes)?;
            if process.hid_memory() && huge.anon_since_start_bytes > 0 {
                return None;
            }
            let until_ns = match fork_ns {
                Some(fork_ns) if process.is_final => held_until_ns(process.id.pid, fork_ns),
                _ => u64::MAX,
            };
            holders.push(Holder { anon_bytes, faults: process.faults_since_full(), until_ns });
        }
        let departed = self.bounds.departed.iter().filter(|gone| !gone.is_bounded_before);
        for gone in departed.filter(|gone| of_pid(passed, gone.pid).is_empty()) {
            holders.push(Holder {
                anon_bytes: gone.readings.anon_at_full_bytes?,
                faults: 0,
                until_ns: u64::MAX,
            });
        }
        for (_, life, readings) in lived {
            let until_ns = held_until_ns(life.pid, life.fork_ns);
            let faults = readings.faults_at_least(FAULTS_AFTER_RECORD);
            holders.push(match readings.anon_at_full_bytes {
                _ if life.pid == 0 => return None,
                Some(anon_bytes) => Holder { anon_bytes, faults, until_ns },
                None if life.fork_ns > from_ns => Holder { anon_bytes: 0, faults, until_ns },
                // The last full tick did not see it: all that it ever had, its faults before that tick included.
                None if life.fork_ns > 0 && huge.anon_since_start_bytes == 0 => {
                    Holder { anon_bytes: readings.at_most(huge)?.anon_bytes, faults: 0, until_ns }
                }
                None => return None,
            });
        }
        Some(holders)
    }
}
