//! The event of one CPU and the pages it shares with the kernel.

use super::record::{self, MAX_RECORD, Parsed, Record, What};
use crate::linux::perf_event::{Attributes, FLAG_EXCLUDE_KERNEL, FLAG_INHERIT};
use crate::linux::sys;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a ring holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// Starts, names and ends of processes.
    Lives,
    /// What they map. A ring of its own, so that a program which maps a lot does not push out the others.
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

    /// With mmap records the kernel sends those of tasks unasked.
    fn is_wanted(self, record: &Record) -> bool {
        matches!(record.what, What::Mapped(_)) == (self == Holds::Maps)
    }

    /// The largest record; a path can be long.
    fn longest_record_bytes(self) -> u64 {
        match self {
            Holds::Lives => MAX_RECORD as u64,
            Holds::Maps => 4096 + MAX_RECORD as u64,
        }
    }

    /// Exclude kernel and hypervisor, so that no privilege is asked for; wake up by watermark; the time on every record; our
    /// own choice of clock. Then comm and task records and comm_exec, or mmap with data and in its second form.
    fn flags(self) -> u64 {
        let common = FLAG_EXCLUDE_KERNEL | 1 << 6 | 1 << 14 | 1 << 18 | 1 << 25;
        match self {
            Holds::Lives => common | 1 << 9 | 1 << 13 | 1 << 24,
            Holds::Maps => common | 1 << 8 | 1 << 17 | 1 << 23,
        }
    }
}

/// Counts nothing; it only carries the records.
const SW_DUMMY: u64 = 9;
const SAMPLE_TIME: u64 = 1 << 2;

/// Where the kernel keeps its place in the first page, and where we keep ours.
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;

pub(super) struct CpuRing {
    event: OwnedFd,
    holds: Holds,
    pages: *mut u8,
    page_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and is reached through it only.
unsafe impl Send for CpuRing {}

impl CpuRing {
    /// Follows `pid` and all it will fork while on `cpu`; without a pid, everybody.
    pub(super) fn open(holds: Holds, pid: Option<i32>, cpu: i32) -> io::Result<CpuRing> {
        let page_bytes = sys::sysconf(libc::_SC_PAGESIZE) as usize;
        let flags = if pid.is_some() { holds.flags() | FLAG_INHERIT } else { holds.flags() };
        let mut attributes = Attributes::software(SW_DUMMY, flags);
        attributes.sample_type = SAMPLE_TIME;
        attributes.wakeup_watermark = (holds.data_pages() * page_bytes / 2) as u32;
        attributes.clock = libc::CLOCK_MONOTONIC;
        let event = attributes.open(pid.unwrap_or(-1), cpu)?;
        // SAFETY: the mapping is fresh and ours to own.
        unsafe {
            let pages = libc::mmap(
                std::ptr::null_mut(),
                (1 + holds.data_pages()) * page_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            );
            if pages == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            Ok(CpuRing { event, holds, pages: pages.cast(), page_bytes })
        }
    }

    /// Takes out all records; returns how many were lost. A ring that was found full may have lost some that
    /// the kernel has not told of yet: that counts as one.
    pub(super) fn drain(&mut self, out: &mut Vec<Record>) -> u64 {
        let size = self.data_bytes();
        let head = self.place(HEAD_AT).load(Ordering::Acquire);
        let mut tail = self.place(TAIL_AT).load(Ordering::Relaxed);
        let mut lost = 0;
        let filled = head.wrapping_sub(tail);
        let was_full = filled + self.holds.longest_record_bytes() > size as u64;
        let mut bytes = [0u8; MAX_RECORD];
        while head.wrapping_sub(tail) >= 8 {
            self.copy(tail, &mut bytes[..8]);
            let length = usize::from(u16::from_ne_bytes([bytes[6], bytes[7]]));
            if length < 8 || length as u64 > head.wrapping_sub(tail) {
                // Not what the kernel writes: nothing behind it can be trusted.
                lost += 1;
                break;
            }
            let taken = length.min(MAX_RECORD);
            self.copy(tail, &mut bytes[..taken]);
            // The time is at the end of a record.
            self.copy(tail + (length - 8) as u64, &mut bytes[taken - 8..taken]);
            match record::parse(&bytes[..taken]) {
                Parsed::Record(record) if self.holds.is_wanted(&record) => out.push(record),
                Parsed::Lost(count) => lost += count,
                Parsed::Record(_) | Parsed::Other => {}
            }
            tail += length as u64;
        }
        self.place(TAIL_AT).store(head, Ordering::Release);
        if was_full { lost.max(1) } else { lost }
    }

    fn data_bytes(&self) -> usize {
        self.holds.data_pages() * self.page_bytes
    }

    fn place(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: both places are aligned u64 of the mapped first page, shared with the kernel as atomics.
        unsafe { AtomicU64::from_ptr(self.pages.add(offset).cast()) }
    }

    /// Copies from the data pages, round the end where need be.
    fn copy(&self, from: u64, to: &mut [u8]) {
        let size = self.data_bytes();
        let at = (from % size as u64) as usize;
        let first = to.len().min(size - at);
        // SAFETY: the data pages follow the first one, `size` bytes long; the kernel does not write between
        // tail and head, where we read.
        unsafe {
            let data = self.pages.add(self.page_bytes);
            std::ptr::copy_nonoverlapping(data.add(at), to.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(data, to.as_mut_ptr().add(first), to.len() - first);
        }
    }
}

impl AsRawFd for CpuRing {
    fn as_raw_fd(&self) -> RawFd {
        self.event.as_raw_fd()
    }
}

impl Drop for CpuRing {
    fn drop(&mut self) {
        // SAFETY: unmaps what `open` mapped, once.
        unsafe { libc::munmap(self.pages.cast(), self.page_bytes + self.data_bytes()) };
    }
}
