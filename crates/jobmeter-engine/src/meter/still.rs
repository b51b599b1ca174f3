//! A tree of many processes that all sleep. Reading the CPU clock of each costs a system call. The job's control group counts
//! the CPU time of all of them: if that count has not changed, no process has run, and no clock is read.

use super::Meter;
use crate::linux::cgroup::JobGroup;

/// Fewer processes are asked themselves: the group costs as much as about so many clocks.
const WORTH_FROM: usize = 16;

/// A process that ran although the group stood still was moved out of it, or ran between the two reads. So long the group
/// is not asked again.
const DOUBT_NS: u64 = 60_000_000_000;

/// What the group last said.
#[derive(Debug, Default)]
pub(crate) struct Stillness {
    group_cpu_ns: Option<u64>,
    doubted_until_ns: u64,
}

impl Meter {
    /// Whether nobody in the job has run since this was last asked, or at least not since an earlier tick.
    pub(super) fn is_group_still(&mut self, now_ns: u64) -> bool {
        let still = &mut self.still;
        if self.tree.processes.len() < WORTH_FROM || now_ns < still.doubted_until_ns {
            return false;
        }
        let group = self.witnesses.group.as_ref().filter(|group| group.holds_all_cheaply());
        let cpu_ns = group.and_then(JobGroup::cpu).map(|cpu| cpu.total_ns);
        let before_ns = std::mem::replace(&mut still.group_cpu_ns, cpu_ns);
        cpu_ns.is_some() && cpu_ns == before_ns && self.tree.groups.watched.is_empty()
    }

    /// After the tree was read.
    pub(super) fn check_stillness(&mut self, now_ns: u64) {
        if self.tree.belies_group() {
            self.still.doubted_until_ns = now_ns.saturating_add(DOUBT_NS);
        }
    }
}
