//! A meter on a thread of its own, for programs that measure themselves or others while they go on. The
//! thread blocks all signals, never touches an interpreter's lock and never keeps the program alive.

use crate::linux::control::{self, Pid};
use crate::linux::pidfd;
use crate::linux::signal_mask::SignalsBlocked;
use crate::linux::sys::{self, EventFd};
use crate::meter::finish::{Ending, Settled};
use crate::meter::{Extra, Meter, Target};
use crate::run::cadence::{Cadence, Found};
use jobmeter_model::event::{MarkKind, Sink};
use jobmeter_model::summary::{Limits, RunInfo, Summary};
use jobmeter_model::verdict;
use jobmeter_model::{VerdictKind, WarningKind};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

struct Shared {
    /// `None` once the session has ended.
    meter: Mutex<Option<Box<Meter>>>,
    wake: EventFd,
    /// The number of the thread; 0 before it runs.
    tid: AtomicI32,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<Box<Meter>>> {
        // After a panic in another thread the numbers are still the best that there are.
        self.meter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, work: impl FnOnce(&mut Meter) -> T) -> Option<T> {
        self.lock().as_deref_mut().map(work)
    }
}

/// What to measure, and how.
pub struct SessionConfig {
    /// What is measured.
    pub target: Target,
    /// Fixed distance of ticks, or adaptive.
    pub interval_ns: Option<u64>,
    /// Who gets columns, events and ticks.
    pub sinks: Vec<Box<dyn Sink + Send>>,
    /// Sources besides the kernel's.
    pub extras: Vec<Box<dyn Extra>>,
    /// A descriptor that the thread waits on too.
    pub inbox: Option<Inbox>,
}

/// A descriptor that the thread also waits on, such as the pipe of marks; `deliver` is called, without any
/// lock held, when it is readable. It stays open until the session has ended.
#[derive(Debug, Clone, Copy)]
pub struct Inbox {
    /// The descriptor.
    pub fd: RawFd,
    /// Called when it is readable.
    pub deliver: fn(),
}

/// A measurement in a thread of this program.
///
/// ```
/// use jobmeter_engine::meter::Target;
/// use jobmeter_engine::run::session::{Session, SessionConfig};
/// use jobmeter_model::summary::{Limits, RunInfo};
/// use jobmeter_model::{Metric, Scope, Stat};
///
/// let config =
///     SessionConfig { target: Target::Own, interval_ns: None, sinks: vec![], extras: vec![], inbox: None };
/// let session = Session::start(config, RunInfo::default(), Limits::default())?;
/// let work: u64 = (0..1_000_000).map(std::hint::black_box).sum();
/// let summary = session.stop().expect("this is no forked copy").summary();
/// let peak = summary.get(Scope::Main, Metric::RssBytes, Stat::Max);
/// assert!(peak.and_then(|peak| peak.as_u64()) > Some(0), "{work}");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Session {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<(u64, u64)>>,
    info: RunInfo,
    limits: Limits,
    /// A forked copy of the program has the memory but not the thread: there the session is inert.
    creator_pid: u32,
}

impl Session {
    /// Reads the job's counters before it returns, so that what follows is measured from here. The rest of the first
    /// tick, which is the machine's, is the thread's to take.
    pub fn start(config: SessionConfig, info: RunInfo, limits: Limits) -> io::Result<Session> {
        let mut meter = Meter::start(config.target)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no such process"))?;
        meter.be_guest();
        for sink in config.sinks {
            meter.add_sink(sink);
        }
        for extra in config.extras {
            meter.add_extra(extra);
        }
        let cadence = Cadence::start(config.interval_ns, sys::monotonic_ns());
        meter.set_interval_ns(cadence.interval_ns());
        meter.begin();
        let watched = match config.target {
            Target::Attached(pid) => Pid::new(pid).and_then(|pid| pidfd::open(pid).ok()),
            _ => None,
        };
        let shared = Arc::new(Shared {
            meter: Mutex::new(Some(Box::new(meter))),
            wake: EventFd::new()?,
            tid: AtomicI32::new(0),
        });
        let for_thread = Arc::clone(&shared);
        let _masked = SignalsBlocked::new();
        let thread = std::thread::Builder::new()
            .name("jobmeter".to_owned())
            .stack_size(256 * 1024)
            .spawn(move || tick_until_woken(&for_thread, cadence, watched.as_ref(), config.inbox))?;
        Ok(Session { shared, thread: Some(thread), info, limits, creator_pid: std::process::id() })
    }

    /// Whether this is a forked copy, in which the thread does not exist.
    pub fn is_inert(&self) -> bool {
        self.creator_pid != std::process::id()
    }

    /// What is known of the run from its beginning.
    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    /// Takes a tick at once and stores the mark with it.
    pub fn mark(&self, name: &str, kind: MarkKind) {
        if !self.is_inert() {
            let tid = sys::thread_id();
            self.shared.with(|meter| meter.mark(name, kind, std::process::id() as i32, tid));
        }
    }

    /// A mark that came from another process.
    pub fn mark_of(&self, mark: &crate::run::marks::Mark) {
        if !self.is_inert() {
            self.shared.with(|meter| meter.mark(&mark.name, mark.kind, mark.pid, mark.tid));
        }
    }

    /// See [`Meter::warn`].
    pub fn warn(&self, kind: impl Into<WarningKind>, text: String) {
        if !self.is_inert() {
            self.shared.with(|meter| meter.warn(kind, text));
        }
    }

    /// Whether the measured process is still there.
    pub fn target_lives(&self) -> bool {
        !self.is_inert() && self.shared.with(|meter| meter.has_main()) == Some(true)
    }

    /// Waits until the first tick is complete.
    pub fn catch_up(&self) {
        if !self.is_inert() {
            self.shared.with(Meter::complete_first_tick);
        }
    }

    /// The summary up to this moment.
    pub fn snapshot(&self) -> Option<Summary> {
        if self.is_inert() {
            return None;
        }
        self.shared.with(|meter| {
            meter.tick();
            meter.snapshot(&self.info)
        })
    }

    /// Ends the measurement. `None` in a forked copy, which has nothing to end. What it takes to make figures of
    /// the counters can wait until somebody asks: see [`Ended::summary`].
    pub fn stop(mut self) -> Option<Ended> {
        if self.is_inert() {
            // The thread does not exist here: joining it would wait for ever.
            std::mem::forget(self.thread.take());
            return None;
        }
        // From here on the thread has no meter to read with.
        let mut meter = self.shared.lock().take()?;
        // The thread ends while the rest is read, before the threads of the program are counted.
        meter.last_tick_with(|| self.shared.wake.notify());
        let verdict = if meter.has_main() {
            verdict::of_watch(VerdictKind::Detached, "measured to the end of the block; the process goes on")
        } else {
            verdict::of_watch(
                VerdictKind::Unknown,
                "the process ended; its exit status is its parent's to know",
            )
        };
        let ending = Ending {
            verdict,
            limits: std::mem::take(&mut self.limits),
            ended_ns: sys::monotonic_ns(),
            fork_floor_bytes: 0,
        };
        let settled = meter.settle(ending);
        meter.retire();
        if let Some(Ok((late_ticks, skipped_ticks))) = self.thread.take().map(JoinHandle::join) {
            meter.clock.late_ticks = late_ticks;
            meter.clock.skipped_ticks = skipped_ticks;
        }
        wait_until_gone(self.shared.tid.load(Ordering::Relaxed));
        meter.leave_threads();
        Some(Ended { meter, info: std::mem::take(&mut self.info), settled })
    }
}

/// A measurement that has ended: it holds no descriptor and no thread, only numbers.
pub struct Ended {
    meter: Box<Meter>,
    info: RunInfo,
    settled: Settled,
}

impl Ended {
    /// Makes the summary.
    pub fn summary(mut self) -> Summary {
        self.meter.sum_up(&self.info, self.settled)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        match self.thread.take() {
            Some(thread) if self.creator_pid == std::process::id() => {
                self.shared.wake.notify();
                drop(thread.join());
            }
            other => std::mem::forget(other),
        }
    }
}

/// The counters of the machine are first read this long after the start. They move in steps of 10 ms and say nothing
/// about a block that has ended by then.
const FIRST_LOOK_NS: u64 = 1_000_000;

fn tick_until_woken(
    shared: &Shared,
    mut cadence: Cadence,
    watched: Option<&OwnedFd>,
    inbox: Option<Inbox>,
) -> (u64, u64) {
    shared.tid.store(sys::thread_id(), Ordering::Relaxed);
    let inbox_fd = inbox.map_or(-1, |inbox| inbox.fd);
    let mut exit = watched.map_or(-1, AsRawFd::as_raw_fd);
    let mut first_look_ns = Some(sys::monotonic_ns() + FIRST_LOOK_NS);
    loop {
        let fds = [shared.wake.as_raw_fd(), exit, inbox_fd];
        let until_ns = first_look_ns.unwrap_or(u64::MAX).min(cadence.due_ns());
        // A failed wait returns after a short sleep; the loop then checks the clock and the meter as usual.
        let ready = sys::wait_readable(fds, Some(until_ns)).unwrap_or_default();
        let [is_woken, has_ended, has_mail] = ready;
        if is_woken || shared.lock().is_none() {
            break;
        }
        if first_look_ns.take().is_some() {
            shared.with(Meter::complete_first_tick);
        }
        if has_ended {
            // It is a zombie until its parent reaps it: its last figures can still be read.
            shared.with(Meter::tick);
            exit = -1;
        }
        if has_mail && let Some(inbox) = inbox {
            (inbox.deliver)();
        }
        let interval_ns = cadence.interval_ns();
        cadence.run_if_due(|turn| {
            let mut found = Found::default();
            shared.with(|meter| {
                meter.set_interval_ns(interval_ns);
                found = meter.take_turn(turn);
            });
            found
        });
    }
    (cadence.late_ticks, cadence.skipped_ticks)
}

/// After a join the kernel still counts the thread for a few microseconds, longer on a busy machine. Until it is gone it
/// would be counted as a thread of the program.
fn wait_until_gone(tid: i32) {
    const MOST_TURNS: u32 = 1000;
    // Spins for some 20 µs first: on a busy machine a thread that yields waits for milliseconds.
    const EAGER_TURNS: u32 = 50;
    for turn in 0..MOST_TURNS {
        if !Pid::new(tid).is_some_and(control::is_own_thread) {
            return;
        }
        if turn >= EAGER_TURNS {
            std::thread::yield_now();
        }
    }
}
