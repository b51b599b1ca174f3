//! The event of one CPU that tells of processes, or of what they map.

use super::record::{self, MAX_RECORD, Parsed, Record, What};
use super::shared_ring::SharedRing;
use crate::linux::perf_event::{
    Attributes, FLAG_EXCLUDE_KERNEL, FLAG_INHERIT, FLAG_INHERIT_STAT, SAMPLE_TIME, SET_OUTPUT,
};
use crate::linux::sys;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// What a ring holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// Starts, names and ends of processes.
    Lives,
    /// What they map, from the beginning of each program on; of a job's processes alone also how many page faults each had at
    /// its end. A ring of its own, so that a program which maps a lot does not push out the others.
    Maps,
}

impl Holds {
    /// Data pages per CPU, a power of two: some 800 records of lives, or 2,000 of maps.
    fn data_pages(self) -> usize {
        match self {
            Holds::Lives => 8,
            Holds::Maps => 64,
        }
    }

    /// What the ring is for: with mmap records the kernel sends those of tasks unasked.
    fn pick(self, record: Record) -> Option<Record> {
        match (self, record.what) {
            (Holds::Maps, What::Mapped(_) | What::Counted { .. }) => Some(record),
            (Holds::Maps, What::Named { by_exec: true, .. }) => {
                Some(Record { what: What::NewImage, ..record })
            }
            (Holds::Lives, What::Mapped(_)) | (Holds::Maps, _) => None,
            (Holds::Lives, _) => Some(record),
        }
    }

    /// The largest record; a path can be long.
    fn longest_record_bytes(self) -> u64 {
        match self {
            Holds::Lives => MAX_RECORD as u64,
            Holds::Maps => 4096 + MAX_RECORD as u64,
        }
    }

    /// Exclude kernel and hypervisor, so that no privilege is asked for; wake up by watermark; the time on every record; our
    /// own choice of clock. Then comm and comm_exec, and task records or mmap with data and in its second form.
    fn flags(self) -> u64 {
        let common = FLAG_EXCLUDE_KERNEL | 1 << 6 | 1 << 9 | 1 << 14 | 1 << 18 | 1 << 24 | 1 << 25;
        match self {
            Holds::Lives => common | 1 << 13,
            Holds::Maps => common | 1 << 8 | 1 << 17 | 1 << 23,
        }
    }
}

impl Holds {
    fn open_event(self, pid: Option<i32>, cpu: i32) -> io::Result<OwnedFd> {
        let page_bytes = sys::sysconf(libc::_SC_PAGESIZE) as usize;
        let (counts, flags) = match (pid, self) {
            (None, _) => (SW_DUMMY, self.flags()),
            (Some(_), Holds::Lives) => (SW_DUMMY, self.flags() | FLAG_INHERIT),
            (Some(_), Holds::Maps) => (SW_MINOR_FAULTS, self.flags() | FLAG_INHERIT | FLAG_INHERIT_STAT),
        };
        let mut attributes = Attributes::software(counts, flags);
        attributes.sample_type = SAMPLE_TIME;
        attributes.wakeup_watermark = (self.data_pages() * page_bytes / 2) as u32;
        attributes.clock = libc::CLOCK_MONOTONIC;
        attributes.open(pid.unwrap_or(-1), cpu)
    }
}

const SW_MINOR_FAULTS: u64 = 5;

/// Counts nothing; it only carries the records.
const SW_DUMMY: u64 = 9;

pub(super) struct CpuRing {
    ring: SharedRing,
    holds: Holds,
    cpu: i32,
    /// Events of further processes, whose records are in the same ring.
    others: Vec<OwnedFd>,
}

impl CpuRing {
    /// Follows `pid` and all it will fork while on `cpu`; without a pid, everybody.
    pub(super) fn open(holds: Holds, pid: Option<i32>, cpu: i32) -> io::Result<CpuRing> {
        let event = holds.open_event(pid, cpu)?;
        let ring = SharedRing::map(event, holds.data_pages())?;
        Ok(CpuRing { ring, holds, cpu, others: Vec::new() })
    }

    /// Follows `pid` as well, and all it will fork.
    pub(super) fn add(&mut self, pid: i32) -> io::Result<()> {
        let event = self.holds.open_event(Some(pid), self.cpu)?;
        // SAFETY: both are descriptors of perf events.
        sys::check(unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, self.ring.as_raw_fd()) })?;
        self.others.push(event);
        Ok(())
    }

    /// Takes out all records; returns how many were lost. A ring that was found full may have lost some that
    /// the kernel has not told of yet: that counts as one.
    pub(super) fn drain(&mut self, out: &mut Vec<Record>) -> u64 {
        let mut lost = 0;
        let holds = self.holds;
        let may_miss = self.ring.drain(holds.longest_record_bytes(), |bytes| match record::parse(bytes) {
            Parsed::Record(record) => out.extend(holds.pick(record)),
            Parsed::Lost(count) => lost += count,
            Parsed::Other => {}
        });
        if may_miss { lost.max(1) } else { lost }
    }
}

impl AsRawFd for CpuRing {
    fn as_raw_fd(&self) -> RawFd {
        self.ring.as_raw_fd()
    }
}
