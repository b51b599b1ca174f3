//! When memory grows: the time of every 64th page fault of each CPU. For root, as faults in the kernel count too.

use super::record::{u32_at, u64_at};
use super::shared_ring::SharedRing;
use crate::account::growth::FaultTimes;
use crate::linux::perf_event::Attributes;
use crate::linux::sys;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

const SW_MINOR_FAULTS: u64 = 5;

/// A record costs its process a microsecond, 64 faults cost it thirty to a hundred.
const PERIOD: u64 = 64;

/// Data pages per CPU: 1,000 records, or 256 MiB of growth.
const DATA_PAGES: usize = 4;
const RECORD_BYTES: u64 = 16;

/// Each CPU adds up to a period of faults whose time is not known: with many of them little would be known.
const MAX_CPUS: usize = 32;

/// So many records are taken at once, and so many more per second: a machine that faults faster is not followed any more.
const MOST_AT_ONCE: u64 = 50_000;
const MOST_PER_S: u64 = 20_000;

const LOST: u32 = 2;
const SAMPLE: u32 = 9;

pub(super) struct FaultRing {
    cpus: Vec<SharedRing>,
    opened_ns: u64,
    taken: u64,
    times: FaultTimes,
}

impl FaultRing {
    pub(super) fn open(online: &[i32]) -> io::Result<FaultRing> {
        if online.len() > MAX_CPUS {
            return Err(io::Error::other("too many CPUs"));
        }
        let page_bytes = sys::sysconf(libc::_SC_PAGESIZE) as usize;
        let watermark_bytes = (DATA_PAGES * page_bytes / 2) as u32;
        let event = Attributes::timed(SW_MINOR_FAULTS, PERIOD, watermark_bytes);
        let open = |cpu: &i32| SharedRing::map(event.open(-1, *cpu)?, DATA_PAGES);
        let cpus = online.iter().map(open).collect::<io::Result<Vec<SharedRing>>>()?;
        let times = FaultTimes::every(PERIOD, cpus.len() as u64);
        Ok(FaultRing { cpus, opened_ns: sys::monotonic_ns(), taken: 0, times })
    }

    pub(super) fn fds(&self) -> impl Iterator<Item = RawFd> {
        self.cpus.iter().map(|cpu| cpu.as_raw_fd())
    }

    pub(super) fn times_mut(&mut self) -> &mut FaultTimes {
        &mut self.times
    }

    /// Takes out all records; returns whether none is missing and they are not too many.
    pub(super) fn drain(&mut self) -> bool {
        let (times, mut taken, mut is_whole) = (&mut self.times, 0, true);
        for cpu in &mut self.cpus {
            let may_miss = cpu.drain(RECORD_BYTES, |bytes| match (u32_at(bytes, 0), u64_at(bytes, 8)) {
                (Some(SAMPLE), Some(t_ns)) => {
                    taken += 1;
                    times.note(t_ns);
                }
                (Some(LOST), _) | (None, _) => is_whole = false,
                _ => {}
            });
            is_whole &= !may_miss;
        }
        self.taken += taken;
        let elapsed_ms = sys::monotonic_ns().saturating_sub(self.opened_ns) / 1_000_000;
        is_whole && self.taken <= MOST_AT_ONCE + MOST_PER_S * elapsed_ms / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_grows_leaves_its_times() {
        let online = crate::linux::cpus::online();
        let mut ring = match FaultRing::open(online) {
            Ok(ring) => ring,
            Err(error) => {
                return eprintln!("not tested: page faults of whole CPUs may not be followed: {error}");
            }
        };
        assert!(ring.drain());
        let (before, records) = (ring.times_mut().timed(), 100);
        let page_bytes = sys::sysconf(libc::_SC_PAGESIZE) as usize;
        let length = records * PERIOD as usize * page_bytes;
        // SAFETY: a fresh mapping of our own, which is touched in its bounds and given back once.
        unsafe {
            let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let start = libc::mmap(std::ptr::null_mut(), length, libc::PROT_WRITE, private, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            libc::madvise(start, length, libc::MADV_NOHUGEPAGE);
            (0..length).step_by(page_bytes).for_each(|at| start.cast::<u8>().add(at).write_volatile(1));
            libc::munmap(start, length);
        }
        assert!(ring.drain());
        let timed = (ring.times_mut().timed() - before) as usize;
        assert!(timed + online.len() >= records, "{timed} records of {records}");
    }
}
