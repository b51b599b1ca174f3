//! Work without the interpreter lock, and the way back to it when the interpreter ends meanwhile.
//!
//! Before Python 3.14 a daemon thread that asks for the lock of an ending interpreter is ended by `pthread_exit`, which
//! unwinds our frames. In a module with an unwinder of its own, as the published wheel is, that crashes the program. So
//! threads that come back after the program has begun to end wait outside until the interpreter is gone, or go on if it
//! is not: an exit handler of the program may be waiting for them.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The thread that ends the program; 0 while none does.
static ENDING_THREAD: AtomicI32 = AtomicI32::new(0);
/// Threads that have found the program running and ask for the lock.
static COMING_BACK: AtomicUsize = AtomicUsize::new(0);

/// How long the end of the program waits for threads that come back.
const FOR_OTHERS: Duration = Duration::from_millis(500);
/// How long a thread waits for the interpreter to end.
const FOR_THE_END: Duration = Duration::from_millis(500);
const NAP: Duration = Duration::from_millis(1);

/// Runs `work` without the interpreter lock.
pub(crate) fn away<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let result = py.detach(|| {
        let result = work();
        come_back();
        result
    });
    COMING_BACK.fetch_sub(1, Ordering::SeqCst);
    result
}

/// Returns when the lock may be asked for. Announced before the look at who ends, so that the one who does sees us.
fn come_back() {
    COMING_BACK.fetch_add(1, Ordering::SeqCst);
    let ending = ENDING_THREAD.load(Ordering::SeqCst);
    if ending == 0 || ending == own_thread() {
        return;
    }
    COMING_BACK.fetch_sub(1, Ordering::SeqCst);
    let began = Instant::now();
    while began.elapsed() < FOR_THE_END || is_finalizing() {
        std::thread::sleep(NAP);
    }
    COMING_BACK.fetch_add(1, Ordering::SeqCst);
}

fn own_thread() -> i32 {
    jobmeter_engine::linux::sys::thread_id()
}

/// Whether the interpreter takes itself apart. Both names may be called without the lock; which one there is depends on the
/// version. Where there is none, a thread goes on after its wait.
fn is_finalizing() -> bool {
    let found = [c"Py_IsFinalizing", c"_Py_IsFinalizing"].into_iter().find_map(|name| {
        // SAFETY: plain look-up of a symbol by name.
        let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        (!symbol.is_null()).then_some(symbol)
    });
    let Some(symbol) = found else { return false };
    // SAFETY: both functions take nothing and return an int.
    let ask: unsafe extern "C" fn() -> libc::c_int = unsafe { std::mem::transmute(symbol) };
    // SAFETY: it reads one atomic of the runtime.
    unsafe { ask() != 0 }
}

/// In a forked child, which has none of the other threads.
pub(crate) fn forget_threads_of_parent() {
    COMING_BACK.store(0, Ordering::SeqCst);
    ENDING_THREAD.store(0, Ordering::SeqCst);
}

/// Called by an exit handler, in the thread that ends the program: from now on no other thread asks for the lock, and those
/// that have asked get it first.
#[pyfunction]
pub(crate) fn program_ends(py: Python<'_>) {
    ENDING_THREAD.store(own_thread(), Ordering::SeqCst);
    py.detach(|| {
        let began = Instant::now();
        while COMING_BACK.load(Ordering::SeqCst) > 0 && began.elapsed() < FOR_OTHERS {
            std::thread::sleep(NAP);
        }
    });
}
