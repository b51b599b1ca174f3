//! The event of one CPU and the pages it shares with the kernel.

use super::record::{self, MAX_RECORD, Parsed, Record};
use crate::sys;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Data pages per CPU, a power of two: some 800 records.
const DATA_PAGES: usize = 8;

/// `perf_event_attr` up to the clock id (PERF_ATTR_SIZE_VER3, 96 bytes).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    bp_type: u32,
    config_1_and_2: [u64; 2],
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock: i32,
}

const TYPE_SOFTWARE: u32 = 1;
/// Counts nothing; it only carries the records.
const SW_DUMMY: u64 = 9;
const SAMPLE_TIME: u64 = 1 << 2;
const FLAG_INHERIT: u64 = 1 << 1;
/// Exclude kernel and hypervisor, so that no privilege is asked for; comm and task records; wake up by
/// watermark; the time on every record; comm_exec; our own choice of clock.
const FLAGS: u64 = 1 << 5 | 1 << 6 | 1 << 9 | 1 << 13 | 1 << 14 | 1 << 18 | 1 << 24 | 1 << 25;

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
        let attributes = Attributes {
            kind: TYPE_SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: SW_DUMMY,
            sample_type: SAMPLE_TIME,
            flags: if pid.is_some() { FLAGS | FLAG_INHERIT } else { FLAGS },
            wakeup_watermark: (DATA_PAGES * page_bytes / 2) as u32,
            clock: libc::CLOCK_MONOTONIC,
            ..Attributes::default()
        };
        const CLOSE_ON_EXEC: libc::c_ulong = 8;
        // SAFETY: `attributes` outlives the call; the descriptor and the mapping are fresh and ours to own.
        unsafe {
            let fd = sys::check(libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                pid.unwrap_or(-1),
                cpu,
                -1,
                CLOSE_ON_EXEC,
            ) as libc::c_int)?;
            let event = OwnedFd::from_raw_fd(fd);
            let pages = libc::mmap(
                std::ptr::null_mut(),
                (1 + DATA_PAGES) * page_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd,
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
