//! Marks from child processes: one pipe per process, shared by all trackers of it. Every tracker that runs
//! gets every mark. After a fork the child starts with an empty hub; the pipe stays the parent's.

use crate::background::Shared;
use jobmeter_core::marks::MarkReceiver;
use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};

#[derive(Default)]
struct Hub {
    receiver: Option<MarkReceiver>,
    members: Vec<Weak<Shared>>,
}

/// Behind a pointer, so that a forked child can let go of it without touching its lock or dropping the
/// parent's pipe.
static HUB: AtomicPtr<Mutex<Hub>> = AtomicPtr::new(null_mut());

fn hub() -> &'static Mutex<Hub> {
    static WATCH_FORKS: Once = Once::new();
    // SAFETY: the handler does nothing but store to atomics.
    WATCH_FORKS.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(after_fork_in_child));
    });
    let present = HUB.load(Ordering::Acquire);
    if !present.is_null() {
        // SAFETY: hubs are leaked, so the pointer stays valid.
        return unsafe { &*present };
    }
    let fresh = Box::into_raw(Box::<Mutex<Hub>>::default());
    match HUB.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: leaked, as above.
        Ok(_) => unsafe { &*fresh },
        // SAFETY: `fresh` was never shared; the winner's pointer is leaked.
        Err(winner) => unsafe {
            drop(Box::from_raw(fresh));
            &*winner
        },
    }
}

unsafe extern "C" fn after_fork_in_child() {
    HUB.store(null_mut(), Ordering::Release);
    jobmeter_core::meter::forget_meters_of_parent();
}

/// Adds a tracker; returns the descriptor to wait on for marks.
pub(crate) fn join(shared: &Arc<Shared>) -> Option<i32> {
    let mut hub = hub().lock().unwrap_or_else(PoisonError::into_inner);
    if hub.receiver.is_none() {
        hub.receiver = MarkReceiver::create().ok();
    }
    hub.members.push(Arc::downgrade(shared));
    hub.receiver.as_ref().map(AsRawFd::as_raw_fd)
}

/// Takes a tracker out; the pipe goes with the last one.
pub(crate) fn leave(shared: &Arc<Shared>) {
    let mut hub = hub().lock().unwrap_or_else(PoisonError::into_inner);
    hub.members.retain(|member| !std::ptr::eq(member.as_ptr(), Arc::as_ptr(shared)));
    if hub.members.is_empty() {
        hub.receiver = None;
    }
}

/// Hands what has come to all trackers. Called by any of their threads.
pub(crate) fn deliver() {
    let mut hub = hub().lock().unwrap_or_else(PoisonError::into_inner);
    let marks = hub.receiver.as_mut().map(MarkReceiver::take).unwrap_or_default();
    let members: Vec<Arc<Shared>> = hub.members.iter().filter_map(Weak::upgrade).collect();
    drop(hub);
    for mark in &marks {
        for member in &members {
            member.mark(&mark.name, mark.kind, mark.pid, mark.tid);
        }
    }
}
