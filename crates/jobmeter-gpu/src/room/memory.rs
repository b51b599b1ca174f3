//! The memory that the meter and the process of the drivers share. The meter writes orders, the other side answers;
//! counters say whose turn it is, so that neither waits for the other. One order is under way at most, and every order
//! has one answer: with two places for answers, the one that the meter reads is never written to.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

const HEAD_BYTES: usize = 4096;
const ORDER_BYTES: usize = 4 << 20;
const ANSWER_BYTES: usize = 8 << 20;
const TOTAL_BYTES: usize = HEAD_BYTES + ORDER_BYTES + 2 * ANSWER_BYTES;

const CALL_WORDS: usize = 8;

/// At the begin of the memory.
#[repr(C)]
pub(crate) struct Head {
    /// How many orders were written, and how many of them were taken.
    pub(super) ordered: AtomicU64,
    pub(super) taken: AtomicU64,
    order_bytes: AtomicU64,
    pub(super) answered: AtomicU64,
    answer_bytes: [AtomicU64; 2],
    /// Since when the work is inside a driver, on the monotonic clock; 0: it is not.
    pub(super) busy_since_ns: AtomicU64,
    call: [AtomicU64; CALL_WORDS],
}

impl Head {
    pub(crate) fn enter(&self, call: &str) {
        let mut bytes = [0; CALL_WORDS * 8];
        let length = call.len().min(bytes.len());
        bytes[..length].copy_from_slice(&call.as_bytes()[..length]);
        for (word, part) in self.call.iter().zip(bytes.chunks_exact(8)) {
            let mut eight = [0; 8];
            eight.copy_from_slice(part);
            word.store(u64::from_ne_bytes(eight), Ordering::Relaxed);
        }
    }

    pub(super) fn call(&self) -> String {
        let bytes: Vec<u8> =
            self.call.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }
}

/// Mapped for the rest of the program: nobody can tell when a process that hangs will touch it last.
#[derive(Clone, Copy)]
pub(super) struct Memory(NonNull<u8>);

// SAFETY: the head is made of atomics; the rest is written by one side at a time, by the counters of the head.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Zeroed; pages that nobody touches cost nothing.
    pub(super) fn map() -> io::Result<Memory> {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let place = unsafe {
            libc::mmap(std::ptr::null_mut(), TOTAL_BYTES, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        if place == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(place.cast()).map(Memory).ok_or_else(|| io::Error::other("mapped at nought"))
    }

    pub(super) fn head(self) -> &'static Head {
        // SAFETY: mapped for ever, zeroed, aligned to a page; atomics may be shared.
        unsafe { self.0.cast::<Head>().as_ref() }
    }

    /// `false`: the order is too large and was not written.
    pub(super) fn write_order(self, bytes: &[u8]) -> bool {
        let fits = self.write(HEAD_BYTES, ORDER_BYTES, bytes);
        if fits {
            let head = self.head();
            head.order_bytes.store(bytes.len() as u64, Ordering::Relaxed);
            head.ordered.fetch_add(1, Ordering::Release);
        }
        fits
    }

    pub(super) fn read_order(self, into: &mut Vec<u8>) {
        let length = self.head().order_bytes.load(Ordering::Relaxed);
        self.read(HEAD_BYTES, ORDER_BYTES, length, into);
    }

    /// `false`: the answer is too large and was not written.
    pub(super) fn write_answer(self, bytes: &[u8]) -> bool {
        let head = self.head();
        let number = head.answered.load(Ordering::Relaxed) + 1;
        let fits = self.write(answer_place(number), ANSWER_BYTES, bytes);
        if fits {
            head.answer_bytes[number as usize % 2].store(bytes.len() as u64, Ordering::Relaxed);
            head.answered.store(number, Ordering::Release);
        }
        fits
    }

    pub(super) fn read_answer(self, number: u64, into: &mut Vec<u8>) {
        let length = self.head().answer_bytes[number as usize % 2].load(Ordering::Relaxed);
        self.read(answer_place(number), ANSWER_BYTES, length, into);
    }

    fn write(self, place: usize, most: usize, bytes: &[u8]) -> bool {
        if bytes.len() > most {
            return false;
        }
        // SAFETY: inside of the mapping, and this side's turn to write there.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.as_ptr().add(place), bytes.len());
        }
        true
    }

    /// Copies before anything is looked at: a broken driver may write there at any time.
    fn read(self, place: usize, most: usize, length: u64, into: &mut Vec<u8>) {
        let length = usize::try_from(length).unwrap_or(most).min(most);
        into.clear();
        into.reserve(length);
        // SAFETY: inside of the mapping; `into` has room for `length` bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(self.0.as_ptr().add(place), into.as_mut_ptr(), length);
            into.set_len(length);
        }
    }
}

fn answer_place(number: u64) -> usize {
    HEAD_BYTES + ORDER_BYTES + (number as usize % 2) * ANSWER_BYTES
}
