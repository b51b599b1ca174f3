//! The plainest way to see a job to its end: pass signals on, keep its time limit, wait, and say its status. It
//! reads nothing, allocates nothing and cannot fail, so it is what remains when measuring has failed in any way,
//! for want of memory too.

use crate::linux::control::{self, Pid, Waiting};
use crate::linux::sys;
use crate::run::spawn::next_signal;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// What is needed to wait for a job. Numbers only, so that it can also be kept where an allocator finds it.
#[derive(Debug, Clone, Copy)]
pub struct PlainJob {
    /// Of the command.
    pub pid: Pid,
    /// Where signals arrive.
    pub signals: RawFd,
    /// When its time is up, on the monotonic clock.
    pub deadline_ns: Option<u64>,
    /// Between TERM and KILL.
    pub grace_ns: u64,
}

/// The wait status of the job; `None` where somebody else took it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainEnd {
    /// As `wait` gives it; `None` where somebody else took it.
    pub status: Option<i32>,
    /// The time limit ended it.
    pub timed_out: bool,
}

/// A job that has ended is noticed at the latest after this time, should the signal that tells it be missing.
const LOOK_AGAIN_NS: u64 = 100_000_000;

/// Children are waited for on any thread, and orphans that came to us are reaped on the way.
pub fn wait(mut job: PlainJob) -> PlainEnd {
    let mut timed_out = false;
    loop {
        if let Some(end) = look(job.pid) {
            return PlainEnd { status: end, timed_out };
        }
        while let Some(arrived) = next_signal(job.signals) {
            // What the kernel sent came from the terminal, and reached the job as well.
            if arrived.by_user && arrived.signal != libc::SIGCHLD {
                drop(control::send(job.pid, arrived.signal));
            }
        }
        let now_ns = sys::monotonic_ns();
        if job.deadline_ns.is_some_and(|deadline_ns| now_ns >= deadline_ns) {
            // One that is gone needs no signal.
            drop(control::send(job.pid, if timed_out { libc::SIGKILL } else { libc::SIGTERM }));
            drop(control::send(job.pid, libc::SIGCONT));
            timed_out = true;
            job.deadline_ns = Some(now_ns + job.grace_ns.max(LOOK_AGAIN_NS));
        }
        let until_ns = job.deadline_ns.unwrap_or(u64::MAX).min(now_ns + LOOK_AGAIN_NS);
        // A wait that failed has slept a little.
        drop(sys::wait_readable([job.signals], Some(until_ns)));
    }
}

/// The status of the job if it has ended: `Some(None)` when somebody else has reaped it.
fn look(pid: Pid) -> Option<Option<i32>> {
    while let Some(reaped) = control::reap_any() {
        if reaped.pid == pid.get() {
            return Some(Some(reaped.status));
        }
    }
    // Where reaping is not possible, the status can still be looked at.
    match control::look_at(pid) {
        Waiting::Ended(_, status) => Some(Some(status)),
        Waiting::NoChild => Some(None),
        Waiting::NoneEnded => None,
    }
}

/// The job under way, for whoever cannot be handed it: an allocator that has no memory left.
static PID: AtomicI32 = AtomicI32::new(0);
static SIGNALS: AtomicI32 = AtomicI32::new(-1);
static DEADLINE_NS: AtomicU64 = AtomicU64::new(u64::MAX);
static GRACE_NS: AtomicU64 = AtomicU64::new(0);

/// Makes the job known as the one under way; `None` when it has ended.
pub fn set_under_way(job: Option<PlainJob>) {
    if let Some(job) = job {
        SIGNALS.store(job.signals, Ordering::Relaxed);
        DEADLINE_NS.store(job.deadline_ns.unwrap_or(u64::MAX), Ordering::Relaxed);
        GRACE_NS.store(job.grace_ns, Ordering::Relaxed);
    }
    PID.store(job.map_or(0, |job| job.pid.get()), Ordering::Release);
}

/// The job under way in this process, if there is one.
pub fn under_way() -> Option<PlainJob> {
    let pid = Pid::new(PID.load(Ordering::Acquire))?;
    Some(PlainJob {
        pid,
        signals: SIGNALS.load(Ordering::Relaxed),
        deadline_ns: Some(DEADLINE_NS.load(Ordering::Relaxed)).filter(|deadline_ns| *deadline_ns != u64::MAX),
        grace_ns: GRACE_NS.load(Ordering::Relaxed),
    })
}
