//! Records of what processes map, in rings of their own. Given up when one of them has overflowed, so that a job which maps all
//! the time is not followed at any price.

use super::cpu_ring::{CpuRing, Holds};
use super::record::Record;
use std::os::fd::{AsRawFd, RawFd};

/// Each ring is 256 KiB of locked memory.
const MAX_CPUS: usize = 32;

pub(super) struct MapRing {
    cpus: Vec<CpuRing>,
}

impl MapRing {
    /// Of all processes of the machine, or of `pid` and all that it will fork, where that is allowed.
    pub(super) fn open(online: &[i32], pid: Option<i32>) -> Option<MapRing> {
        if online.len() > MAX_CPUS {
            return None;
        }
        let cpus: Result<Vec<_>, _> =
            online.iter().map(|cpu| CpuRing::open(Holds::Maps, pid, *cpu)).collect();
        cpus.ok().map(|cpus| MapRing { cpus })
    }

    /// Of all `pids` and what they will fork, where that is allowed.
    pub(super) fn open_tree(online: &[i32], pids: &[i32]) -> Option<MapRing> {
        let (first, others) = pids.split_first()?;
        let mut maps = MapRing::open(online, Some(*first))?;
        for cpu in &mut maps.cpus {
            others.iter().try_for_each(|pid| cpu.add(*pid)).ok()?;
        }
        Some(maps)
    }

    pub(super) fn fds(&self) -> impl Iterator<Item = RawFd> {
        self.cpus.iter().map(|cpu| cpu.as_raw_fd())
    }

    /// Takes out all records; returns whether none was lost.
    pub(super) fn drain(&mut self, out: &mut Vec<Record>) -> bool {
        let lost: u64 = self.cpus.iter_mut().map(|cpu| cpu.drain(out)).sum();
        lost == 0
    }
}
