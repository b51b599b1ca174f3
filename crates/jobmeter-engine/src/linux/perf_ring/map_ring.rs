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

    /// Of all `pids` and what they will fork, where that is allowed. Those that have ended meanwhile are left out.
    pub(super) fn open_tree(online: &[i32], pids: &[i32]) -> Option<MapRing> {
        let mut pids = pids.iter();
        let mut maps = pids.find_map(|pid| MapRing::open(online, Some(*pid)))?;
        for pid in pids {
            for cpu in &mut maps.cpus {
                match cpu.add(*pid) {
                    Err(error) if error.raw_os_error() != Some(libc::ESRCH) => return None,
                    _ => {}
                }
            }
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
