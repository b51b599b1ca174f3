//! The event of one CPU and the pages it shares with the kernel.

use super::record::{self, MAX_RECORD, Parsed, Record};
use crate::linux::perf_event::{Attributes, FLAG_EXCLUDE_KERNEL, FLAG_INHERIT};
use crate::linux::sys;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Data pages per CPU, a power of two: some 800 records.
const DATA_PAGES: usize = 8;

/// Counts nothing; it only carries the records.
const SW_DUMMY: u64 = 9;
const SAMPLE_TIME: u64 = 1 << 2;
/// Exclude kernel and hypervisor, so that no privilege is asked for; comm and task records; wake up by
/// watermark; the time on every record; comm_exec; our own choice of clock.
const FLAGS: u64 = FLAG_EXCLUDE_KERNEL | 1 << 6 | 1 << 9 | 1 << 13 | 1 << 14 | 1 << 18 | 1 << 24 | 1 << 25;

/// Where the kernel keeps its place in the first page, and where we keep ours.
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;

pub(super) struct CpuRing {
    event: OwnedFd,
    pages: *mut u8,
    page_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and is reached through it only.
unsafe impl Send for CpuRing {}

impl CpuRing {
    /// Follows `pid` and all it will fork while on `cpu`; without a pid, everybody.
    pub(super) fn open(pid: Option<i32>, cpu: i32) -> io::Result<CpuRing> {
        let page_bytes = sys::sysconf(libc::_SC_PAGESIZE) as usize;
        let flags = if pid.is_some() { FLAGS | FLAG_INHERIT } else { FLAGS };
        let mut attributes = Attributes::software(SW_DUMMY, flags);
        attributes.sample_type = SAMPLE_TIME;
        attributes.wakeup_watermark = (DATA_PAGES * page_bytes / 2) as u32;
        attributes.clock = libc::CLOCK_MONOTONIC;
        let event = attributes.open(pid.unwrap_or(-1), cpu)?;
        // SAFETY: the mapping is fresh and ours to own.
        unsafe {
            let pages = libc::mmap(
                std::ptr::null_mut(),
                (1 + DATA_PAGES) * page_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            );
            if pages == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            Ok(CpuRing { event, pages: pages.cast(), page_bytes })
        }
    }

    /// Takes out all records; returns how many were lost. A ring that was found full may have lost some that
    /// the kernel has not told of yet: that counts as one.
    pub(super) fn drain(&mut self, out: &mut Vec<Record>) -> u64 {
        let size = DATA_PAGES * self.page_bytes;
        let head = self.place(HEAD_AT).load(Ordering::Acquire);
        let mut tail = self.place(TAIL_AT).load(Ordering::Relaxed);
        let mut lost = 0;
        let filled = head.wrapping_sub(tail);
        let was_full = filled + MAX_RECORD as u64 > size as u64;
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
            match record::parse(&bytes[..taken]) {
                Parsed::Record(record) => out.push(record),
                Parsed::Lost(count) => lost += count,
                Parsed::Other => {}
            }
            tail += length as u64;
        }
        self.place(TAIL_AT).store(head, Ordering::Release);
        if was_full { lost.max(1) } else { lost }
    }

    fn place(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: both places are aligned u64 of the mapped first page, shared with the kernel as atomics.
        unsafe { AtomicU64::from_ptr(self.pages.add(offset).cast()) }
    }

    /// Copies from the data pages, round the end where need be.
    fn copy(&self, from: u64, to: &mut [u8]) {
        let size = DATA_PAGES * self.page_bytes;
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
        unsafe { libc::munmap(self.pages.cast(), (1 + DATA_PAGES) * self.page_bytes) };
    }
}
