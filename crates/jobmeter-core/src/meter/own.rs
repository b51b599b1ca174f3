//! Meters inside the program that they measure: neither their time nor their threads are the program's.

use crate::sys;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// CPU time that meters have spent inside the program they measure, and how many of their threads live.
/// Neither is the program's.
pub(super) static METERS_CPU_NS: AtomicU64 = AtomicU64::new(0);
pub(super) static METERS_THREADS: AtomicU64 = AtomicU64::new(0);

/// In a child after fork: the meters of the parent are not in this process. Only stores to atomics, so it may
/// be called between fork and exec.
pub fn forget_meters_of_parent() {
    METERS_CPU_NS.store(0, Ordering::Relaxed);
    METERS_THREADS.store(0, Ordering::Relaxed);
    TURN.store(null_mut(), Ordering::Release);
}

/// Behind a pointer, so that a forked child can let go of it: whoever held it is not there.
static TURN: AtomicPtr<Mutex<()>> = AtomicPtr::new(null_mut());

/// The meters of one program work one after the other: each then knows what all others have spent.
pub(super) fn turn() -> MutexGuard<'static, ()> {
    let mut turn = TURN.load(Ordering::Acquire);
    if turn.is_null() {
        let fresh = Box::into_raw(Box::<Mutex<()>>::default());
        turn = match TURN.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fresh,
            Err(winner) => {
                // SAFETY: it was never shared.
                drop(unsafe { Box::from_raw(fresh) });
                winner
            }
        };
    }
    // SAFETY: never freed once it is shared.
    let turn: &'static Mutex<()> = unsafe { &*turn };
    turn.lock().unwrap_or_else(PoisonError::into_inner)
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
