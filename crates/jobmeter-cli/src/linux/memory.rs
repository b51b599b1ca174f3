//! What happens when memory runs out (`ulimit -v`, `ulimit -s`, a tight cgroup) or our own code faults. The usual
//! answer is to abort or to be killed, which would leave a job alone in the middle of its work. Ours: before the job
//! exists, one sentence and exit code 125; afterwards the job is waited for without a meter, and its status is ours.
//!
//! The heap runs out in the allocator. The stack grows page by page, and where it may not, the kernel sends SIGSEGV; a
//! program file that has become unreadable gives SIGBUS. Both arrive on a stack of their own.

use super::leave::{self, Ending};
use jobmeter_engine::linux::sys;
use jobmeter_engine::run::plain;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicI32, Ordering};

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
    if pointer.is_null() { give_up("out of memory") } else { pointer }
}

/// The thread that serves the job, which is the first one of its process; 0 before [`watch_own_faults`].
static SERVING: AtomicI32 = AtomicI32::new(0);

/// Memory for a handler: enough for the registers of any processor and a few plain calls. It costs no page until it is used.
const STACK_BYTES: usize = 64 * 1024;

struct FaultStack(UnsafeCell<[MaybeUninit<u8>; STACK_BYTES]>);

// SAFETY: only the kernel writes to it, for one thread.
unsafe impl Sync for FaultStack {}

static FAULT_STACK: FaultStack = FaultStack(UnsafeCell::new([MaybeUninit::uninit(); STACK_BYTES]));

/// From now on a fault of our own does not end us before the job. A program that is executed begins without this.
pub(super) fn watch_own_faults() {
    SERVING.store(sys::thread_id(), Ordering::Relaxed);
    let stack = libc::stack_t { ss_sp: FAULT_STACK.0.get().cast(), ss_flags: 0, ss_size: STACK_BYTES };
    let handler: extern "C" fn(libc::c_int) = by_fault;
    // SAFETY: plain settings; the stack lives as long as the process, and an action of zeroes is a valid one.
    unsafe {
        libc::sigaltstack(&raw const stack, std::ptr::null_mut());
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_ONSTACK;
        for signal in [libc::SIGSEGV, libc::SIGBUS] {
            let mut before = MaybeUninit::<libc::sigaction>::zeroed();
            libc::sigaction(signal, &raw const action, before.as_mut_ptr());
            // What is ignored stays so in the job, and a handler does not: then our own fault ends us.
            if before.assume_init().sa_sigaction == libc::SIG_IGN {
                libc::sigaction(signal, before.as_ptr(), std::ptr::null_mut());
            }
        }
    }
}

extern "C" fn by_fault(signal: libc::c_int) {
    give_up(match signal {
        libc::SIGSEGV => "SIGSEGV, as when the stack may not grow (ulimit -s, ulimit -v)",
        _ => "SIGBUS, as when the program file can no longer be read",
    })
}

/// The end of measuring, whatever thread or process of ours it is in.
#[cold]
fn give_up(why: &str) -> ! {
    let serving = SERVING.load(Ordering::Relaxed);
    // SAFETY: a plain query.
    if serving != 0 && serving != unsafe { libc::getpid() } {
        // A helper, which may share this memory: the record or the GPUs are lost. Or the job before its exec.
        // SAFETY: ends this process without any of the other's tidying up.
        unsafe { libc::_exit(i32::from(crate::OWN_FAILURE)) }
    }
    if serving != 0 && serving != sys::thread_id() {
        // The thread that serves the job needs nothing of this one.
        loop {
            // SAFETY: waits for signals, which this thread blocks.
            unsafe { libc::pause() };
        }
    }
    match plain::under_way() {
        Some(job) => {
            complain(["jobmeter: ", why, "; the job goes on unmeasured\n"]);
            let end = plain::wait(job);
            leave::plan(Ending::of_job(end.status, end.timed_out));
        }
        None if leave::is_planned() => {}
        None => {
            complain(["jobmeter: ", why, "\n"]);
            leave::plan(Ending::Code(crate::OWN_FAILURE));
        }
    }
    leave::now()
}

/// Straight to standard error, as one piece, if it takes it at once.
fn complain(text: [&str; 3]) {
    if leave::takes_a_line() {
        let pieces = text
            .map(|piece| libc::iovec { iov_base: piece.as_ptr().cast_mut().cast(), iov_len: piece.len() });
        // SAFETY: writes from live buffers.
        unsafe { libc::writev(2, pieces.as_ptr(), pieces.len() as libc::c_int) };
    }
}
