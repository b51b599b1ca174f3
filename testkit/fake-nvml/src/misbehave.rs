//! What a bad driver does to the process that loaded it.

use crate::state::Misdeed;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

const CHILD_LIFE_MS: libc::c_int = 300;

pub(crate) fn misbehave(misdeed: Misdeed) {
    match misdeed {
        Misdeed::Abort => std::process::abort(),
        Misdeed::Segv => touch_forbidden_page(),
        // SAFETY: ends the process at once.
        Misdeed::Exit => unsafe { libc::_exit(3) },
        Misdeed::IgnoreSigchld => {
            // SAFETY: a disposition without a handler.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        }
        Misdeed::Fork => fork_once(),
        Misdeed::Print => {
            let _ = writeln!(std::io::stdout(), "the driver says hello");
        }
    }
}

fn touch_forbidden_page() {
    // SAFETY: a new mapping of one page; the write into it raises SIGSEGV, which is what is asked for.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_NONE, flags, -1, 0);
        page.cast::<u8>().write_volatile(1);
    }
}

fn fork_once() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.swap(true, Ordering::SeqCst) {
        return;
    }
    // SAFETY: the child makes system calls only and leaves without running anything of its parent's.
    unsafe {
        if libc::fork() == 0 {
            libc::poll(std::ptr::null_mut(), 0, CHILD_LIFE_MS);
            libc::_exit(0);
        }
    }
}
