//! The pages that an event shares with the kernel, and the records in them.

use super::record::MAX_RECORD;
use crate::linux::sys;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the kernel keeps its place in the first page, and where we keep ours.
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;

pub(super) struct SharedRing {
    event: OwnedFd,
    pages: *mut u8,
    page_bytes: usize,
    data_pages: usize,
}

// SAFETY: the mapping belongs to this value alone and is reached through it only.
unsafe impl Send for SharedRing {}

impl SharedRing {
    /// A ring of `data_pages`, a power of two, for the records of `event`.
    pub(super) fn map(event: OwnedFd, data_pages: usize) -> io::Result<SharedRing> {
        let page_bytes = sys::sysconf(libc::_SC_PAGESIZE) as usize;
        // SAFETY: the mapping is fresh and ours to own.
        unsafe {
            let pages = libc::mmap(
                std::ptr::null_mut(),
                (1 + data_pages) * page_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            );
            if pages == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            Ok(SharedRing { event, pages: pages.cast(), page_bytes, data_pages })
        }
    }

    /// Takes out all records and passes each to `take`; of one longer than [`MAX_RECORD`] its beginning, and its last eight
    /// bytes. Returns whether records may be missing: there was no room for another of `longest_bytes`.
    pub(super) fn drain(&mut self, longest_bytes: u64, mut take: impl FnMut(&[u8])) -> bool {
        let size = self.data_bytes();
        let head = self.place(HEAD_AT).load(Ordering::Acquire);
        let mut tail = self.place(TAIL_AT).load(Ordering::Relaxed);
        let mut may_miss = head.wrapping_sub(tail) + longest_bytes > size as u64;
        let mut bytes = [0u8; MAX_RECORD];
        while head.wrapping_sub(tail) >= 8 {
            self.copy(tail, &mut bytes[..8]);
            let length = usize::from(u16::from_ne_bytes([bytes[6], bytes[7]]));
            if length < 8 || length as u64 > head.wrapping_sub(tail) {
                // Not what the kernel writes: nothing behind it can be trusted.
                may_miss = true;
                break;
            }
            let taken = length.min(MAX_RECORD);
            self.copy(tail, &mut bytes[..taken]);
            self.copy(tail + (length - 8) as u64, &mut bytes[taken - 8..taken]);
            take(&bytes[..taken]);
            tail += length as u64;
        }
        self.place(TAIL_AT).store(head, Ordering::Release);
        may_miss
    }

    fn data_bytes(&self) -> usize {
        self.data_pages * self.page_bytes
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

impl AsRawFd for SharedRing {
    fn as_raw_fd(&self) -> RawFd {
        self.event.as_raw_fd()
    }
}

impl Drop for SharedRing {
    fn drop(&mut self) {
        // SAFETY: unmaps what `map` mapped, once.
        unsafe { libc::munmap(self.pages.cast(), self.page_bytes + self.data_bytes()) };
    }
}
