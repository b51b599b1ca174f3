//! What the writer and its carrier share: one buffer, and one word that says whose it is.

use super::raw;
use crate::error::RecordError;
use jobmeter_model::job::StoreTime;
use std::cell::UnsafeCell;
use std::ffi::{CString, c_int};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

/// Whose turn it is. The word is also what the sleeping side waits on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Turn {
    /// The writer may hand over bytes. The carrier sleeps.
    Idle = 0,
    /// The carrier writes; the buffer is its own until it is `Idle` again.
    Busy = 1,
    /// A call failed, see [`Slot::fault`]. Nothing is written any more.
    Failed = 2,
    /// As `Busy`; afterwards the carrier closes the file and ends.
    Last = 3,
    /// The carrier is to close the file and to end; the buffer was written.
    Closing = 4,
    /// It has.
    Closed = 5,
}

/// About a tenth of a millisecond where nobody else wants the core.
const MOST_YIELDS: u32 = 250;

impl Turn {
    fn of(word: u32) -> Turn {
        [Turn::Idle, Turn::Busy, Turn::Failed, Turn::Last, Turn::Closing]
            .into_iter()
            .find(|turn| *turn as u32 == word)
            .unwrap_or(Turn::Closed)
    }
}

/// Which step failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Step {
    MakeFolder = 1,
    Create,
    Write,
    Close,
}

impl Step {
    const ALL: [Step; 4] = [Step::MakeFolder, Step::Create, Step::Write, Step::Close];
}

/// Where the bytes go, ready for calls that allocate nothing.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) file: CString,
    /// The file, where it was made before.
    pub(super) opened: Option<c_int>,
    /// Folders to make when the file has none, from the root on.
    pub(super) folders: Vec<CString>,
    /// A name for short-lived files by which the clock of the file server is compared with ours, where that is wanted.
    pub(super) time_file: Option<CString>,
}

#[derive(Debug)]
pub(super) struct Slot {
    turn: AtomicU32,
    /// Somebody sleeps until the carrier is done.
    is_awaited: AtomicBool,
    /// Step in the upper half, error number in the lower; 0 is none.
    fault: AtomicU64,
    bytes: UnsafeCell<Vec<u8>>,
    /// The last comparison with the file server's clock, and the kind of file system; the writer's as `bytes` are.
    time: UnsafeCell<Option<(StoreTime, i64)>>,
    pub(super) place: Place,
}

// SAFETY: `bytes` and `time` belong to the carrier while the turn is `Busy` or `Last` and to the writer otherwise; everything else is
// atomic or never changes.
unsafe impl Sync for Slot {}

impl Slot {
    /// The carrier begins with these bytes.
    pub(super) fn new(place: Place, first: Vec<u8>) -> Slot {
        Slot {
            turn: AtomicU32::new(Turn::Busy as u32),
            is_awaited: AtomicBool::new(false),
            fault: AtomicU64::new(0),
            bytes: UnsafeCell::new(first),
            time: UnsafeCell::new(None),
            place,
        }
    }

    pub(super) fn turn(&self) -> Turn {
        Turn::of(self.turn.load(Ordering::Acquire))
    }

    /// Writer only, and only when the turn is `Idle`: swaps the buffers and wakes the carrier. `turn` is `Busy` or
    /// `Last`.
    pub(super) fn hand_over(&self, pending: &mut Vec<u8>, turn: Turn) {
        // SAFETY: the turn is `Idle`, so the buffer is the writer's.
        std::mem::swap(unsafe { &mut *self.bytes.get() }, pending);
        self.turn.store(turn as u32, Ordering::Release);
        raw::wake(&self.turn);
    }

    /// Writer only: no more bytes will come. A carrier with bytes in hand writes them first.
    pub(super) fn ask_to_close(&self) {
        let closing = |word| match Turn::of(word) {
            Turn::Busy => Some(Turn::Last as u32),
            Turn::Idle | Turn::Failed => Some(Turn::Closing as u32),
            Turn::Last | Turn::Closing | Turn::Closed => None,
        };
        if self.turn.fetch_update(Ordering::AcqRel, Ordering::Acquire, closing).is_ok() {
            raw::wake(&self.turn);
        }
    }

    /// Carrier only, and only when the turn is `Busy` or `Last`.
    pub(super) fn note_time(&self, time: StoreTime, file_system: i64) {
        // SAFETY: the turn is the carrier's, so the writer leaves it alone.
        unsafe { *self.time.get() = Some((time, file_system)) };
    }

    /// Writer only, and only when the turn is `Idle`.
    pub(super) fn take_time(&self) -> Option<(StoreTime, i64)> {
        // SAFETY: the turn is `Idle`, so it is the writer's.
        unsafe { (*self.time.get()).take() }
    }

    /// Carrier only, and only when the turn is `Busy` or `Last`.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the turn is the carrier's, so the writer leaves the buffer alone.
        unsafe { &*self.bytes.get() }
    }

    /// Carrier only: the work of turn `done` is done. Returns false when it was asked to close meanwhile.
    pub(super) fn give_turn(&self, done: Turn, next: Turn) -> bool {
        let changed =
            self.turn.compare_exchange(done as u32, next as u32, Ordering::SeqCst, Ordering::SeqCst);
        if changed.is_ok() {
            self.wake_writer();
        }
        changed.is_ok()
    }

    /// Carrier only: the file is closed.
    pub(super) fn say_closed(&self) {
        self.turn.store(Turn::Closed as u32, Ordering::SeqCst);
        self.wake_writer();
    }

    fn wake_writer(&self) {
        if self.is_awaited.load(Ordering::SeqCst) {
            raw::wake(&self.turn);
        }
    }

    /// Carrier only: sleeps while there is nothing to do. Woken before there is, it stays awake for a moment.
    pub(super) fn sleep_while(&self, turn: Turn) {
        raw::sleep_while(&self.turn, turn as u32, None);
        self.yield_while(|now| now == turn);
    }

    /// Writer only: bytes will come at once. To wake up takes longer than to write them.
    pub(super) fn announce(&self) {
        raw::wake(&self.turn);
    }

    /// Leaves the core to others for a moment, without sleep: to be woken takes longer than most of what is waited for.
    fn yield_while(&self, holds: impl Fn(Turn) -> bool) {
        let mut left = MOST_YIELDS;
        while left > 0 && holds(self.turn()) {
            raw::yield_core();
            left -= 1;
        }
    }

    /// Writer only: waits until the carrier has done what it is at; the turn it leaves, or the one it is stuck in.
    pub(super) fn wait_until(&self, deadline: Instant) -> Turn {
        self.yield_while(|turn| matches!(turn, Turn::Busy | Turn::Last | Turn::Closing));
        self.is_awaited.store(true, Ordering::SeqCst);
        let last = loop {
            let turn = self.turn();
            let left = deadline.saturating_duration_since(Instant::now());
            if !matches!(turn, Turn::Busy | Turn::Last | Turn::Closing) || left.is_zero() {
                break turn;
            }
            raw::sleep_while(&self.turn, turn as u32, Some(left));
        };
        self.is_awaited.store(false, Ordering::SeqCst);
        last
    }

    /// Carrier only; the first fault counts.
    pub(super) fn note_fault(&self, step: Step, error: i32) {
        let fault = u64::from(step as u32) << 32 | u64::from(error.unsigned_abs());
        if self.fault.load(Ordering::Relaxed) == 0 {
            self.fault.store(fault, Ordering::Release);
        }
    }

    pub(super) fn fault(&self, path: &Path) -> Option<RecordError> {
        let fault = self.fault.load(Ordering::Acquire);
        let step = Step::ALL.into_iter().find(|step| u64::from(*step as u32) == fault >> 32)?;
        let source = io::Error::from_raw_os_error(fault as u32 as i32);
        Some(match step {
            Step::Create if source.kind() == io::ErrorKind::AlreadyExists => {
                RecordError::Exists { path: path.to_owned() }
            }
            Step::MakeFolder => RecordError::io("create", path.parent().unwrap_or(path), source),
            Step::Create => RecordError::io("create", path, source),
            Step::Write => RecordError::io("write", path, source),
            Step::Close => RecordError::io("close", path, source),
        })
    }
}
