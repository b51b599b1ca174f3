//! The carrier as a process that shares our memory. A thread that hangs in a frozen file system cannot be killed, and a
//! process with such a thread cannot end: whoever waits for us would wait for the disk. A child of ours that hangs
//! there is left to itself. It has no descriptor of ours, so it keeps no pipe open.

use super::raw;
use super::serve::serve;
use super::slot::Slot;
use jobmeter_engine::linux::control::Pid;
use jobmeter_engine::linux::signal_mask::SignalsBlocked;
use std::ffi::{c_int, c_void};
use std::io;

const STACK_BYTES: usize = 32 << 10;

struct Start {
    slot: &'static Slot,
    parent: usize,
}

/// What the child uses is never freed: nobody can tell when a child that hangs has ended.
pub(super) fn start(slot: &'static Slot) -> io::Result<Pid> {
    let start = Box::leak(Box::new(Start { slot, parent: std::process::id() as usize }));
    let stack = Box::leak(vec![0u128; STACK_BYTES / 16].into_boxed_slice());
    let _blocked = SignalsBlocked::new();
    // SAFETY: `live` runs on a stack of its own, 16-byte aligned and used from its end downwards; with CLONE_VM it
    // shares our memory, of which it touches only what was leaked for it, by raw system calls.
    let pid = unsafe {
        let top = stack.as_mut_ptr_range().end;
        libc::clone(live, top.cast(), libc::CLONE_VM, (&raw mut *start).cast())
    };
    Pid::new(pid).ok_or_else(io::Error::last_os_error)
}

extern "C" fn live(start: *mut c_void) -> c_int {
    // SAFETY: the leaked `Start` above.
    let start = unsafe { &*start.cast::<Start>() };
    raw::close_all_but(start.slot.place.opened);
    raw::set_name(c"jobmeter-record");
    raw::die_with_parent();
    // PDEATHSIG is not sent if the parent died before prctl.
    if raw::parent() == Some(start.parent) {
        serve(start.slot);
    }
    0
}
