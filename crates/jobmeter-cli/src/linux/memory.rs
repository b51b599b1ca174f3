//! What happens when memory runs out (`ulimit -v`, a tight cgroup). Rust's answer is to abort, which would leave a
//! job alone in the middle of its work. Ours: before the job exists, one sentence and exit code 125; afterwards the
//! job is waited for without a meter, and its status is ours.

use super::leave::{self, Ending};
use jobmeter_engine::run::plain;
use std::alloc::{GlobalAlloc, Layout, System};

struct Careful;

#[global_allocator]
static ALLOCATOR: Careful = Careful;

// SAFETY: every call goes to the system's allocator; instead of a null pointer there is no return at all.
unsafe impl GlobalAlloc for Careful {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`.
        checked(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { System.realloc(pointer, layout, size) })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn checked(pointer: *mut u8) -> *mut u8 {
    if pointer.is_null() { out_of_memory() } else { pointer }
}

#[cold]
fn out_of_memory() -> ! {
    // SAFETY: a plain query.
    let is_main_thread = jobmeter_engine::linux::sys::thread_id() == unsafe { libc::getpid() };
    if !is_main_thread {
        // The record or the GPUs are lost; the thread that serves the job needs nothing of us.
        loop {
            // SAFETY: waits for signals, which this thread blocks.
            unsafe { libc::pause() };
        }
    }
    match plain::under_way() {
        Some(job) => {
            complain("jobmeter: out of memory; the job goes on unmeasured\n");
            let end = plain::wait(job);
            leave::plan(Ending::of_job(end.status, end.timed_out));
        }
        None if leave::is_planned() => {}
        None => {
            complain("jobmeter: out of memory\n");
            leave::plan(Ending::Code(crate::OWN_FAILURE));
        }
    }
    leave::now()
}

/// Straight to standard error, if it takes it at once.
fn complain(text: &str) {
    if leave::takes_a_line() {
        // SAFETY: writes from a live buffer.
        unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
    }
}
