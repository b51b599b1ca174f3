//! Meters inside the program that they measure: neither their time nor their threads are the program's.

use crate::linux::sys;
use crate::run::fork_fresh::ForkFresh;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU64, Ordering};

/// CPU time that meters have spent inside the program they measure, and how many of their threads live.
/// Neither is the program's.
pub(super) static METERS_CPU_NS: AtomicU64 = AtomicU64::new(0);
pub(super) static METERS_THREADS: AtomicU64 = AtomicU64::new(0);

/// In a child after fork: the meters of the parent are not in this process. Only stores to atomics, so it may
/// be called between fork and exec.
pub fn forget_meters_of_parent() {
    METERS_CPU_NS.store(0, Ordering::Relaxed);
    METERS_THREADS.store(0, Ordering::Relaxed);
    sys::forget_bytes_read();
    TURN.forget();
}

/// The meters of one program work one after the other: each then knows what all others have spent.
static TURN: ForkFresh<()> = ForkFresh::new();

pub(super) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock()
}

/// A further thread of ours inside the program, such as one that waits for a driver.
#[derive(Debug)]
pub struct OwnThread {
    accounted_ns: u64,
}

impl OwnThread {
    /// Called before the thread is made; it takes this along.
    pub fn enter() -> OwnThread {
        METERS_THREADS.fetch_add(1, Ordering::Relaxed);
        OwnThread { accounted_ns: 0 }
    }

    /// On the thread: what it has spent so far is not the program's.
    pub fn account(&mut self) {
        let spent_ns = sys::thread_cpu_ns();
        METERS_CPU_NS.fetch_add(spent_ns.saturating_sub(self.accounted_ns), Ordering::Relaxed);
        self.accounted_ns = spent_ns;
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        METERS_THREADS.fetch_sub(1, Ordering::Relaxed);
    }
}
