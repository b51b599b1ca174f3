//! A measurement in the background: a native thread ticks on absolute times and never asks for the
//! interpreter lock. Marks, the first and the last tick are taken by the calling thread, at the very moment.

use crate::hub;
use jobmeter_core::cadence::Cadence;
use jobmeter_core::cgroup::Membership;
use jobmeter_core::finish::Ending;
use jobmeter_core::meter::{Meter, Target};
use jobmeter_core::summary::Limits;
use jobmeter_core::sys::{self, EventFd};
use jobmeter_core::{Column, Event, MarkKind, RunInfo, Sink, Summary, supervise, verdict};
use jobmeter_record::{RecordError, SharedBuffer, Writer};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

pub(crate) struct Options {
    /// Another process; `None` is the one we are part of.
    pub(crate) pid: Option<i32>,
    /// Fixed distance of ticks, or adaptive.
    pub(crate) interval_ns: Option<u64>,
    pub(crate) name: Option<String>,
    pub(crate) expected_cores: Option<f64>,
    pub(crate) record: Option<PathBuf>,
}

#[derive(Debug)]
pub(crate) enum StartError {
    NoSuchProcess(i32),
    Record(RecordError),
    System(io::Error),
}

/// A measurement, under way or ended.
pub(crate) enum Background {
    Live {
        shared: Arc<Shared>,
        thread: JoinHandle<()>,
    },
    Ended {
        summary: Box<Summary>,
        buffer: SharedBuffer,
    },
    /// Between the two, for the length of a call.
    Moving,
}

pub(crate) struct Shared {
    state: Mutex<State>,
    wake: EventFd,
    stopping: AtomicBool,
    /// The run in memory, whole frames.
    buffer: SharedBuffer,
}

struct State {
    /// Gone once the run has ended.
    meter: Option<Meter>,
    info: RunInfo,
    limits: Limits,
    writers: Vec<Arc<Mutex<Writer>>>,
    summary: Option<Summary>,
    record_error: Option<RecordError>,
}

/// A writer that the meter feeds and that we finish.
struct Feed(Arc<Mutex<Writer>>);

impl Sink for Feed {
    fn define(&mut self, column: &Column) {
        lock(&self.0).define(column);
    }

    fn event(&mut self, event: &Event) {
        lock(&self.0).event(event);
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        lock(&self.0).tick(t_ns, values);
    }
}

/// A panic elsewhere does not make the figures of a run unreadable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Background {
    pub(crate) fn start(options: Options) -> Result<Background, StartError> {
        let target = options.pid.map_or(Target::Own, Target::Attached);
        let pid = options.pid.unwrap_or(std::process::id() as i32);
        let mut meter = Meter::start(target).ok_or(StartError::NoSuchProcess(pid))?;
        let ended = options.pid.and_then(|pid| sys::pidfd_open(pid).ok());
        let membership = Membership::read(Path::new("/"), &pid.to_string());
        let limits = supervise::job_limits(&membership);
        let info = run_info(&options, pid, &limits);
        let started_ns = sys::monotonic_ns();
        meter.set_started_ns(started_ns);
        if let Some(interval_ns) = options.interval_ns {
            meter.set_interval_ns(interval_ns);
        }
        let buffer = SharedBuffer::default();
        let mut targets = vec![jobmeter_record::Target::Memory(buffer.clone())];
        targets.extend(options.record.map(jobmeter_record::Target::New));
        let mut writers = Vec::new();
        for target in targets {
            let writer = Arc::new(Mutex::new(Writer::create(target, &info).map_err(StartError::Record)?));
            meter.add_sink(Box::new(Feed(Arc::clone(&writer))));
            writers.push(writer);
        }
        meter.tick();
        let cadence = Cadence::start(options.interval_ns, started_ns).map_err(StartError::System)?;
        let state = State { meter: Some(meter), info, limits, writers, summary: None, record_error: None };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            wake: EventFd::new().map_err(StartError::System)?,
            stopping: AtomicBool::new(false),
            buffer,
        });
        let marks = if target == Target::Own { hub::join(&shared) } else { None };
        let thread = spawn_quiet(Arc::clone(&shared), cadence, ended, marks).map_err(StartError::System)?;
        Ok(Background::Live { shared, thread })
    }

    pub(crate) fn is_running(&self) -> bool {
        self.live().is_some_and(|shared| lock(&shared.state).meter.is_some())
    }

    fn live(&self) -> Option<&Arc<Shared>> {
        match self {
            Background::Live { shared, .. } => Some(shared),
            _ => None,
        }
    }

    pub(crate) fn mark(&self, name: &str, kind: MarkKind) {
        // SAFETY: gettid cannot fail.
        let tid = unsafe { libc::gettid() };
        if let Some(shared) = self.live() {
            shared.mark(name, kind, std::process::id() as i32, tid);
        }
    }

    pub(crate) fn tick(&self) {
        if let Some(shared) = self.live()
            && let Some(meter) = &mut lock(&shared.state).meter
        {
            meter.tick();
        }
    }

    /// Ends the run; once more does nothing. The error is of the run file: the figures are there all the same.
    pub(crate) fn stop(&mut self) -> Result<(), RecordError> {
        let (shared, thread) = match std::mem::replace(self, Background::Moving) {
            Background::Live { shared, thread } => (shared, thread),
            ended => {
                *self = ended;
                return Ok(());
            }
        };
        shared.stopping.store(true, Ordering::Release);
        shared.finish("detached", "measured until the tracker was stopped");
        shared.wake.notify();
        // A panic of the thread was printed by the runtime; the figures up to it stand.
        drop(thread.join());
        hub::leave(&shared);
        let mut state = lock(&shared.state);
        if let Some(summary) = state.summary.take() {
            *self = Background::Ended { summary: Box::new(summary), buffer: shared.buffer.clone() };
        }
        state.record_error.take().map_or(Ok(()), Err)
    }

    pub(crate) fn summary(&self) -> Option<Summary> {
        match self {
            Background::Live { shared, .. } => {
                let state = lock(&shared.state);
                let ended = state.summary.clone();
                ended.or_else(|| state.meter.as_ref().map(|meter| meter.snapshot(&state.info)))
            }
            Background::Ended { summary, .. } => Some(summary.as_ref().clone()),
            Background::Moving => None,
        }
    }

    /// The run so far, as the bytes of a run file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Background::Live { shared, .. } => {
                // Events wait for the next tick; whoever looks wants them now.
                for writer in &lock(&shared.state).writers {
                    lock(writer).flush();
                }
                shared.buffer.snapshot()
            }
            Background::Ended { buffer, .. } => buffer.snapshot(),
            Background::Moving => Vec::new(),
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Nobody is left to hear of a run file that could not be finished.
        drop(self.stop());
    }
}

impl Shared {
    pub(crate) fn mark(&self, name: &str, kind: MarkKind, pid: i32, tid: i32) {
        if let Some(meter) = &mut lock(&self.state).meter {
            meter.mark(name, kind, pid, tid);
        }
    }

    fn finish(&self, kind: &str, text: &str) {
        let mut state = lock(&self.state);
        let Some(mut meter) = state.meter.take() else { return };
        meter.last_tick();
        let ending = Ending {
            verdict: verdict::of_watch(kind, text),
            limits: state.limits.clone(),
            ended_ns: sys::monotonic_ns(),
            fork_floor_bytes: 0,
        };
        let summary = meter.finish(&state.info, ending);
        let mut first_error = None;
        for writer in &state.writers {
            if let Err(error) = lock(writer).finish(&summary) {
                first_error.get_or_insert(error);
            }
        }
        state.writers.clear();
        state.record_error = first_error;
        state.summary = Some(summary);
    }

    fn run(&self, mut cadence: Cadence, ended: Option<&OwnedFd>, marks: Option<i32>) {
        let fds = [
            cadence.timer().as_raw_fd(),
            self.wake.as_raw_fd(),
            ended.map_or(-1, AsRawFd::as_raw_fd),
            marks.unwrap_or(-1),
        ];
        loop {
            let Ok(ready) = sys::wait_readable(&fds, -1) else { return };
            if self.stopping.load(Ordering::Acquire) {
                return;
            }
            if ready & 0b0100 != 0 {
                return self.finish("ended", "measured until the process ended");
            }
            if ready & 0b1000 != 0 {
                hub::deliver();
            }
            let mut state = lock(&self.state);
            let Some(meter) = &mut state.meter else { return };
            meter.set_interval_ns(cadence.interval_ns());
            if cadence.run_if_due(|| meter.tick()).is_err() {
                meter.warn("timer", "the timer failed: no more ticks until the end".to_owned());
                return;
            }
            meter.late_ticks = cadence.late_ticks;
            meter.skipped_ticks = cadence.skipped_ticks;
        }
    }
}

/// A thread that no signal is delivered to: signals belong to the program, and interrupt its own waiting.
fn spawn_quiet(
    shared: Arc<Shared>,
    cadence: Cadence,
    ended: Option<OwnedFd>,
    marks: Option<i32>,
) -> io::Result<JoinHandle<()>> {
    let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are written before they are read; the mask is put back below.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let thread = std::thread::Builder::new()
        .name("jobmeter".to_owned())
        .stack_size(256 * 1024)
        .spawn(move || shared.run(cadence, ended.as_ref(), marks));
    // SAFETY: `before` was filled above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    thread
}

fn run_info(options: &Options, pid: i32, limits: &Limits) -> RunInfo {
    let started_unix_ns = jobmeter_record::id::now_unix_ns();
    let line = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let arguments: Vec<String> = arguments
        .split(|byte| *byte == 0)
        .filter(|argument| !argument.is_empty())
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect();
    let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    RunInfo {
        id: jobmeter_record::id::new_run_id(started_unix_ns),
        jobmeter_version: env!("CARGO_PKG_VERSION").to_owned(),
        mode: if options.pid.is_none() { "self" } else { "attach" }.to_owned(),
        name: options.name.clone(),
        command: jobmeter_record::redact::argv(&arguments),
        cwd: cwd.to_string_lossy().into_owned(),
        host: line("/proc/sys/kernel/hostname"),
        kernel: line("/proc/sys/kernel/osrelease"),
        pid,
        started_unix_ns,
        interval_ns: options.interval_ns,
        expected_cores: options.expected_cores.unwrap_or_else(|| supervise::usable_cores(limits)),
        system_cores: sys::sysconf(libc::_SC_NPROCESSORS_ONLN) as u32,
        ..RunInfo::default()
    }
}
