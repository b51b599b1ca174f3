//! A measurement in the background: the engine's session, and the run in memory that its samples go to.

use crate::hub::{self, Ticket};
use crate::own_io::{OwnIo, OwnRow};
use crate::table::Table;
use crate::tail::Tail;
use jobmeter_engine::linux::cgroup::Membership;
use jobmeter_engine::linux::control::Pid;
use jobmeter_engine::linux::pidfd;
use jobmeter_engine::linux::sys;
use jobmeter_engine::meter::{Extra, Target};
use jobmeter_engine::run::attach::{self, TargetError};
use jobmeter_engine::run::limits;
use jobmeter_engine::run::session::{Ended, Session, SessionConfig};
use jobmeter_gpu::{GpuConfig, GpuError, GpuExtra, JobEnv, PowercapExtra};
use jobmeter_model::summary::Limits;
use jobmeter_model::{Column, Event, MarkKind, Mode, RunInfo, Sink, Summary};
use jobmeter_record::{RecordError, SharedBuffer, Writer};
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) struct Options {
    /// Another process; `None` is the one we are part of.
    pub(crate) pid: Option<i32>,
    /// Fixed distance of ticks, or adaptive.
    pub(crate) interval_ns: Option<u64>,
    pub(crate) name: Option<String>,
    pub(crate) expected_cores: Option<f64>,
    pub(crate) gpu_uuids: Option<Vec<String>>,
    pub(crate) record: Option<PathBuf>,
    /// Rows are taken while the run goes on.
    pub(crate) is_followed: bool,
    /// Keep what the meter's own thread moves, to tell it from the program's.
    pub(crate) has_own_io: bool,
}

#[derive(Debug)]
pub(crate) enum StartError {
    Target(TargetError),
    Gpu(GpuError),
    Record(RecordError),
    System(io::Error),
}

/// A measurement, under way or ended.
pub(crate) struct Background {
    state: State,
    buffer: SharedBuffer,
    tail: Option<Arc<Mutex<Tail>>>,
    own_io: Option<Arc<Mutex<OwnIo>>>,
    late_error: Option<RecordError>,
}

enum State {
    Live(Live),
    /// Ended, and nobody has asked for the figures yet.
    Ended(Box<Ended>),
    Summed(Box<Summary>),
    /// Of another process, which was forked from the one that measured.
    Inert,
}

struct Live {
    session: Arc<Session>,
    /// Our place among the receivers of marks from child processes.
    ticket: Option<Ticket>,
    writers: Vec<Arc<Mutex<Writer>>>,
    /// Readable once the other process has ended.
    exit: Option<OwnedFd>,
}

/// A listener that the meter feeds and that we keep.
struct Feed<S>(Arc<Mutex<S>>);

impl<S: Sink> Sink for Feed<S> {
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
        let own_pid = std::process::id() as i32;
        let pid = options.pid.unwrap_or(own_pid);
        if options.pid.is_some() {
            attach::check_target(pid).map_err(StartError::Target)?;
        }
        let gpu = GpuConfig {
            uuids: options.gpu_uuids.clone(),
            job_env: JobEnv::from_lookup(|key| std::env::var(key).ok()),
            ..GpuConfig::default()
        };
        let gpu = GpuExtra::start(gpu).map_err(StartError::Gpu)?;
        if let (None, Some(unknown)) = (&gpu, options.gpu_uuids.clone()) {
            return Err(StartError::Gpu(GpuError::UnknownUuids { unknown, valid: Vec::new() }));
        }
        let mut extras: Vec<Box<dyn Extra>> = vec![Box::new(PowercapExtra::open(Path::new("/")))];
        extras.extend(gpu.map(|gpu| Box::new(gpu) as Box<dyn Extra>));
        let tail = options.is_followed.then(Arc::<Mutex<Tail>>::default);
        let own_io = options.has_own_io.then(Arc::<Mutex<OwnIo>>::default);
        // Another process may change between two trackers; this one is what it was.
        let facts = if options.pid.is_none() { facts_of(pid) } else { read_facts(pid) };
        let limits = facts.limits.clone();
        let info = run_info(&options, facts);
        let buffer = SharedBuffer::default();
        let mut targets = vec![jobmeter_record::Target::Memory(buffer.clone())];
        targets.extend(options.record.map(jobmeter_record::Target::New));
        let writers = targets
            .into_iter()
            .map(|target| {
                let is_file = !matches!(target, jobmeter_record::Target::Memory(_));
                let mut writer = Writer::create(target, &info)?;
                if is_file {
                    writer.limit_to(jobmeter_record::USUAL_LIMIT_BYTES);
                }
                Ok(Arc::new(Mutex::new(writer)))
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(StartError::Record)?;
        let exit = options.pid.and_then(Pid::new).and_then(|pid| pidfd::open(pid).ok());
        let mut ticket = options.pid.is_none().then(Ticket::take);
        let mut sinks: Vec<Box<dyn Sink + Send>> =
            writers.iter().map(|w| Box::new(Feed(Arc::clone(w))) as Box<dyn Sink + Send>).collect();
        sinks.extend(tail.iter().map(|tail| Box::new(Feed(Arc::clone(tail))) as Box<dyn Sink + Send>));
        sinks.extend(own_io.iter().map(|own| Box::new(Feed(Arc::clone(own))) as Box<dyn Sink + Send>));
        let config = SessionConfig {
            target: options.pid.map_or(Target::Own, Target::Attached),
            interval_ns: options.interval_ns,
            sinks,
            extras,
            inbox: ticket.as_ref().and_then(Ticket::inbox),
        };
        let session = Session::start(config, info, limits).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StartError::Target(TargetError::NotThere(pid)),
            _ => StartError::System(error),
        })?;
        let session = Arc::new(session);
        if let Some(ticket) = &mut ticket {
            ticket.give(&session);
        }
        let state = State::Live(Live { session, ticket, writers, exit });
        Ok(Background { state, buffer, tail, own_io, late_error: None })
    }

    pub(crate) fn is_running(&self) -> bool {
        let State::Live(live) = &self.state else { return false };
        let exit = live.exit.as_ref();
        exit.is_none_or(|exit| {
            sys::wait_readable([exit.as_raw_fd()], Some(0)).is_ok_and(|[has_ended]| !has_ended)
        })
    }

    pub(crate) fn mark(&self, name: &str, kind: MarkKind) {
        if let State::Live(live) = &self.state {
            live.session.mark(name, kind);
        }
    }

    /// Ends the run; once more does nothing. The error is of the run file: the figures are there all the same.
    pub(crate) fn stop(&mut self) -> Result<(), RecordError> {
        let live = match std::mem::replace(&mut self.state, State::Inert) {
            State::Live(live) => live,
            other => {
                self.state = other;
                return self.late_error.take().map_or(Ok(()), Err);
            }
        };
        let Some(ended) = hub::sole(live.session).stop() else { return Ok(()) };
        // The pipe may close only now: the session's thread waited on it until it ended.
        drop(live.ticket);
        let [memory, files @ ..] = live.writers.as_slice() else { return Ok(()) };
        lock(memory).flush();
        if files.is_empty() {
            // Most figures are never looked at: they are made when somebody does.
            self.state = State::Ended(Box::new(ended));
            return Ok(());
        }
        let mut summary = summed(ended);
        files.iter().for_each(|writer| summary.warnings.extend(lock(writer).end_rows()));
        let result = files.iter().try_for_each(|writer| lock(writer).finish(&summary));
        self.state = State::Summed(Box::new(summary));
        result
    }

    pub(crate) fn summary(&mut self) -> Option<Summary> {
        if matches!(self.state, State::Live(_)) && !self.is_running() {
            // The other process has ended; so has the run. An error of its file waits for `stop`.
            self.late_error = self.stop().err();
        }
        self.state = match std::mem::replace(&mut self.state, State::Inert) {
            State::Ended(ended) => State::Summed(Box::new(summed(*ended))),
            other => other,
        };
        match &self.state {
            State::Live(live) => live.session.snapshot(),
            State::Summed(summary) => Some(summary.as_ref().clone()),
            State::Ended(_) | State::Inert => None,
        }
    }

    /// The rows since the last call; `None` unless they were to be followed.
    pub(crate) fn take_rows(&self) -> Option<Table> {
        if let State::Live(live) = &self.state {
            live.session.catch_up();
        }
        self.tail.as_ref().map(|tail| lock(tail).take())
    }

    /// What the meter's own thread moved until each tick; empty unless it was asked for.
    pub(crate) fn own_io(&self) -> Vec<OwnRow> {
        self.own_io.as_ref().map(|own| lock(own).rows.clone()).unwrap_or_default()
    }

    /// The run so far, as the bytes of a run file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        // Events wait for the next tick; whoever looks wants them now.
        if let State::Live(live) = &self.state {
            live.session.catch_up();
            live.writers.iter().for_each(|writer| lock(writer).flush());
        }
        self.buffer.snapshot()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Nobody is left to hear of a run file that could not be finished.
        drop(self.stop());
    }
}

fn summed(ended: Ended) -> Summary {
    let mut summary = ended.summary();
    jobmeter_gpu::complete(&mut summary, None);
    summary
}

/// What does not change about a process and its machine: read once, not with every short block.
#[derive(Clone)]
struct Facts {
    pid: i32,
    limits: Limits,
    command: Vec<String>,
    cwd: String,
    host: String,
    kernel: String,
    system_cores: u32,
}

thread_local! {
    /// Per thread, so that a fork cannot leave it locked; by pid, so that a forked child reads its own.
    static KNOWN: RefCell<Option<Facts>> = const { RefCell::new(None) };
}

fn facts_of(pid: i32) -> Facts {
    KNOWN.with_borrow_mut(|known| match known {
        Some(facts) if facts.pid == pid => facts.clone(),
        _ => known.insert(read_facts(pid)).clone(),
    })
}

fn read_facts(pid: i32) -> Facts {
    let line = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let words: Vec<String> =
        attach::command_of(pid).iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    Facts {
        pid,
        limits: limits::job_limits(&Membership::read(Path::new("/"), &pid.to_string())),
        command: jobmeter_record::redact::argv(&words),
        cwd: jobmeter_record::redact::text(&cwd.to_string_lossy()),
        host: line("/proc/sys/kernel/hostname"),
        kernel: line("/proc/sys/kernel/osrelease"),
        system_cores: jobmeter_engine::linux::cpus::online().len() as u32,
    }
}

fn run_info(options: &Options, facts: Facts) -> RunInfo {
    let started_unix_ns = sys::realtime_ns();
    RunInfo {
        id: jobmeter_record::id::new_run_id(started_unix_ns),
        jobmeter_version: env!("CARGO_PKG_VERSION").to_owned(),
        mode: if options.pid.is_none() { Mode::Own } else { Mode::Attach },
        name: options.name.as_deref().map(jobmeter_record::redact::text),
        command: facts.command,
        cwd: facts.cwd,
        host: facts.host,
        kernel: facts.kernel,
        pid: facts.pid,
        job: jobmeter_host::job_of_this_process(),
        started_unix_ns,
        interval_ns: options.interval_ns,
        expected_cores: options.expected_cores.unwrap_or_else(|| limits::usable_cores(&facts.limits)),
        system_cores: facts.system_cores,
        ..RunInfo::default()
    }
}
