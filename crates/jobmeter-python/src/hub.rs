//! Marks from child processes: one pipe per process, shared by all trackers of it. Every tracker that runs
//! gets every mark. After a fork the child starts with an empty hub; the pipe stays the parent's.

use jobmeter_engine::run::fork_fresh::ForkFresh;
use jobmeter_engine::run::marks::{self, MarkReceiver};
use jobmeter_engine::run::session::{Inbox, Session};
use std::os::fd::AsRawFd;
use std::sync::{Arc, MutexGuard, Weak};

#[derive(Default)]
struct Hub {
    receiver: Option<MarkReceiver>,
    members: Vec<Weak<Session>>,
    /// Trackers that wait on the pipe; it goes with the last one.
    tickets: usize,
}

static HUB: ForkFresh<Hub> = ForkFresh::new();

/// Call once, when the module is imported: a `Once` at first use would stay locked for ever in a child that is forked
/// while another thread is inside it.
pub(crate) fn watch_forks() {
    // SAFETY: the handler does nothing but store to atomics.
    unsafe { libc::pthread_atfork(None, None, Some(after_fork_in_child)) };
}

fn lock() -> MutexGuard<'static, Hub> {
    HUB.lock()
}

unsafe extern "C" fn after_fork_in_child() {
    HUB.forget();
    crate::away::forget_threads_of_parent();
    jobmeter_engine::meter::forget_meters_of_parent();
}

/// A tracker's hold on the pipe.
pub(crate) struct Ticket {
    inbox: Option<Inbox>,
    /// What is wrong with the pipe.
    doubt: Option<String>,
}

impl Ticket {
    pub(crate) fn take() -> Ticket {
        let mut hub = lock();
        let mut doubt = None;
        if hub.receiver.is_none() {
            (hub.receiver, doubt) = marks::receive();
            hub.receiver.iter().for_each(MarkReceiver::sweep);
        }
        hub.tickets += 1;
        let inbox = hub.receiver.as_ref().map(|receiver| Inbox { fd: receiver.as_raw_fd(), deliver });
        Ticket { inbox, doubt }
    }

    pub(crate) fn inbox(&self) -> Option<Inbox> {
        self.inbox
    }

    /// From now on marks go to this session too.
    pub(crate) fn give(&mut self, session: &Arc<Session>) {
        if let Some(text) = self.doubt.take() {
            session.warn(jobmeter_model::WarningKind::Marks, text);
        }
        lock().members.push(Arc::downgrade(session));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut hub = lock();
        hub.members.retain(|member| member.strong_count() > 0);
        hub.tickets -= 1;
        if hub.tickets == 0 {
            hub.receiver = None;
        }
    }
}

/// The session itself, out of what may be shared with a mark that is being delivered at this moment.
pub(crate) fn sole(mut session: Arc<Session>) -> Session {
    loop {
        match Arc::try_unwrap(session) {
            Ok(sole) => return sole,
            Err(shared) => {
                session = shared;
                std::thread::yield_now();
            }
        }
    }
}

/// Hands what has come to all trackers. Called by any of their threads.
fn deliver() {
    let mut hub = lock();
    let marks = hub.receiver.as_mut().map(MarkReceiver::take).unwrap_or_default();
    if marks.is_empty() {
        return;
    }
    let members: Vec<Arc<Session>> = hub.members.iter().filter_map(Weak::upgrade).collect();
    drop(hub);
    for mark in &marks {
        for member in &members {
            member.mark_of(mark);
        }
    }
}
