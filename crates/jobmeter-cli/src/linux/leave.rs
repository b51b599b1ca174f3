//! How jobmeter leaves: with the job's exit code, or by the signal that the job died of, as the shell or supervisor
//! above us would have seen it without us. After the job has ended nothing may hold us up: a signal that asks us to
//! end gives the summary half a second more, and a standard error that takes nothing is given up.
//!
//! Everything here is async-signal-safe and allocates nothing.

use jobmeter_engine::linux::control::{self, Pid};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Who asks us to end gets that, with or without the rest of the summary.
const HURRY_MS: i64 = 500;
/// A standard error that takes nothing for so long has no reader.
const NO_READER_MS: i64 = 5_000;

/// An exit code, or 256 + n to die of signal n; below zero nothing is decided yet.
static PLAN: AtomicI32 = AtomicI32::new(-1);
const BY_SIGNAL: i32 = 256;

/// As `timeout` says it.
const TIMED_OUT: u8 = 124;
/// The job ran, and how it ended is not known: no success, and not 125, for that would invite a second run.
const STATUS_UNKNOWN: u8 = 1;

/// [`hurry_on_signals`] was called: the alarm ends us.
static IS_BOUND: AtomicBool = AtomicBool::new(false);
static IS_HURRIED: AtomicBool = AtomicBool::new(false);

/// How a job ended, as jobmeter mirrors it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Code(u8),
    Signal(i32),
}

impl Ending {
    /// From a wait status; none was to be had when somebody else took it.
    pub(crate) fn of_job(status: Option<i32>, timed_out: bool) -> Ending {
        match status {
            _ if timed_out => Ending::Code(TIMED_OUT),
            Some(status) if libc::WIFSIGNALED(status) => Ending::Signal(libc::WTERMSIG(status)),
            Some(status) => Ending::Code(libc::WEXITSTATUS(status) as u8),
            None => Ending::Code(STATUS_UNKNOWN),
        }
    }

    /// As a shell shows it in `$?`.
    pub(crate) fn shell_code(self) -> u8 {
        match self {
            Ending::Code(code) => code,
            Ending::Signal(signal) => (128 + signal) as u8,
        }
    }
}

/// Decides how we leave, from now on at any moment.
pub(crate) fn plan(ending: Ending) {
    let plan = match ending {
        Ending::Code(code) => i32::from(code),
        Ending::Signal(signal) => BY_SIGNAL + signal,
    };
    PLAN.store(plan, Ordering::Relaxed);
}

/// Whether a signal has asked us to end since the job has.
#[cfg(feature = "object-storage")]
pub(crate) fn is_hurried() -> bool {
    IS_HURRIED.load(Ordering::Relaxed)
}

/// Whether the job has ended and how we leave is decided.
pub(crate) fn is_planned() -> bool {
    PLAN.load(Ordering::Relaxed) >= 0
}

/// The exit code that a shell will see.
pub(crate) fn planned_code() -> u8 {
    let plan = PLAN.load(Ordering::Relaxed);
    if plan >= BY_SIGNAL { Ending::Signal(plan - BY_SIGNAL).shell_code() } else { plan as u8 }
}

/// Leaves with `code`, and by the signal that it stands for where that was planned.
pub(crate) fn with(code: u8) -> ! {
    let planned = PLAN.load(Ordering::Relaxed);
    if planned < BY_SIGNAL || 128 + planned - BY_SIGNAL != i32::from(code) {
        plan(Ending::Code(code));
    }
    now()
}

/// Leaves as planned. Not by `exit`: the exit handlers of a hung driver's library could hold us up for ever.
pub(crate) fn now() -> ! {
    let plan = PLAN.load(Ordering::Relaxed);
    if plan >= BY_SIGNAL {
        die_of(plan - BY_SIGNAL);
    }
    let code = if plan >= BY_SIGNAL { 128 + plan - BY_SIGNAL } else { plan };
    // SAFETY: ends the process; what was printed is flushed where it was printed.
    unsafe { libc::_exit(code) }
}

/// Returns where that is not possible: PID 1 of a namespace does not die of its own signals.
fn die_of(signal: i32) {
    // SAFETY: plain calls on local, initialised memory.
    unsafe {
        // The job has left its core file; ours would be a second one.
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
        libc::signal(signal, libc::SIG_DFL);
        let mut only = MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigemptyset(only.as_mut_ptr());
        libc::sigaddset(only.as_mut_ptr(), signal);
        drop(control::send(Pid::own(), signal));
        libc::pthread_sigmask(libc::SIG_UNBLOCK, only.as_ptr(), std::ptr::null_mut());
    }
}

/// Call once the job has ended and no signal is passed on any more. Signals that arrived before are spent.
pub(crate) fn hurry_on_signals() {
    const ENDING: [libc::c_int; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];
    // SAFETY: plain calls on local memory that they fill; the handler is async-signal-safe.
    unsafe {
        let mut open = MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigemptyset(open.as_mut_ptr());
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = hurry as extern "C" fn(libc::c_int) as usize;
        for signal in ENDING.into_iter().chain([libc::SIGALRM]) {
            let mut before = MaybeUninit::<libc::sigaction>::zeroed();
            libc::sigaction(signal, &raw const action, before.as_mut_ptr());
            // Who started us with a signal ignored (nohup, a shell's background job) wants it to stay so.
            if signal != libc::SIGALRM && before.assume_init().sa_sigaction == libc::SIG_IGN {
                libc::sigaction(signal, before.as_ptr(), std::ptr::null_mut());
                continue;
            }
            libc::sigaddset(open.as_mut_ptr(), signal);
        }
        IS_BOUND.store(true, Ordering::Relaxed);
        discard_pending(&open.assume_init());
        libc::pthread_sigmask(libc::SIG_UNBLOCK, open.as_ptr(), std::ptr::null_mut());
    }
}

/// What came together with the end of the job was meant for the job: `timeout` and terminals signal both.
fn discard_pending(signals: &libc::sigset_t) {
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: takes blocked pending signals; both pointers are valid.
    while unsafe { libc::sigtimedwait(signals, std::ptr::null_mut(), &raw const at_once) } > 0 {}
}

extern "C" fn hurry(signal: libc::c_int) {
    if signal == libc::SIGALRM {
        now();
    }
    if !IS_HURRIED.swap(true, Ordering::Relaxed) {
        set_alarm(HURRY_MS);
    }
}

fn set_alarm(after_ms: i64) {
    let after = libc::timeval { tv_sec: after_ms / 1000, tv_usec: after_ms % 1000 * 1000 };
    let timer = libc::itimerval { it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 }, it_value: after };
    // SAFETY: `timer` outlives the call. Raw, for libc declares the kind of timer differently by platform.
    unsafe {
        libc::syscall(libc::SYS_setitimer, 0, &raw const timer, std::ptr::null_mut::<libc::itimerval>())
    };
}

/// Does `work`, which writes to standard error. When that takes nothing for a few seconds, we leave as planned. Before
/// the job has ended `work` is left out if standard error cannot take a line at once.
pub(crate) fn bounded(work: impl FnOnce()) {
    if !IS_BOUND.load(Ordering::Relaxed) {
        if jobmeter_engine::run::plain::under_way().is_none() || takes_a_line() {
            work();
        }
        return;
    }
    if !IS_HURRIED.load(Ordering::Relaxed) {
        set_alarm(NO_READER_MS);
    }
    work();
    if !IS_HURRIED.load(Ordering::Relaxed) {
        set_alarm(0);
    }
}

/// Whether standard error takes at least a line without blocking.
pub(crate) fn takes_a_line() -> bool {
    let mut stderr = libc::pollfd { fd: 2, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one initialised entry.
    unsafe { libc::poll(&raw mut stderr, 1, 0) == 1 && stderr.revents & libc::POLLOUT != 0 }
}
