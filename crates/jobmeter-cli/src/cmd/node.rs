//! Ranks of one job on one node: which of them records the machine.

use jobmeter_engine::linux::node_lock::NodeLock;
use jobmeter_engine::run::marks;
use jobmeter_model::{JobInfo, RankMachine};

/// The kernel's number for the PID namespace that a machine starts with.
const FIRST_PID_NAMESPACE: u64 = 0xefff_fffc;

/// For one of many ranks: says which machine it is on, and opens the lock by which those on it agree. Without a lock the
/// machine is recorded by every rank, and the merge counts it once.
pub(crate) fn agree(job: &mut JobInfo) -> Option<NodeLock> {
    if !job.is_rank_of_many() {
        return None;
    }
    let boot = marks::boot();
    let host = super::measure::names().0;
    let lock = NodeLock::open(&format!("{boot}\n{host}\n{}", job.group())).ok();
    job.machine = Some(RankMachine {
        boot,
        is_contained: marks::namespace_of("self").is_some_and(|own| own != FIRST_PID_NAMESPACE),
        is_shared: lock.is_some(),
        ..RankMachine::default()
    });
    lock
}
