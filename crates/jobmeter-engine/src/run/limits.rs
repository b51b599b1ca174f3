//! What a job started by this process may use.

use crate::linux::cgroup::Membership;
use jobmeter_model::summary::Limits;

/// The limits that bind a job started by this process.
pub fn job_limits(membership: &Membership) -> Limits {
    let mut limits = membership.limits();
    limits.affinity_cores = affinity_cores();
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid out-pointer.
    let got = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    limits.address_space_bytes =
        (got == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur);
    limits
}

/// Cores the scheduler lets this process run on.
pub fn affinity_cores() -> Option<u32> {
    // Large enough for 8,192 cores; cpu_set_t alone ends at 1,024.
    let mut mask = [0u64; 128];
    // SAFETY: the kernel writes at most the given size.
    let filled =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, size_of_val(&mask), mask.as_mut_ptr()) };
    (filled > 0).then(|| mask.iter().map(|word| word.count_ones()).sum())
}

/// Cores that a job may use: affinity and cgroup quota.
pub fn usable_cores(limits: &Limits) -> f64 {
    let affinity = f64::from(limits.affinity_cores.unwrap_or(1).max(1));
    limits.cgroup_cores.map_or(affinity, |quota| quota.min(affinity))
}
