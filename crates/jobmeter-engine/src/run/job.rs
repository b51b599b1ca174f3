//! Starting a job, in two halves. Everything that can fail is acquired before the job exists: a failure there means
//! that it never ran. From the fork on nothing of ours may end the run: each source of figures may fall away with a
//! warning, and [`Job::wait_plainly`] remains when all of them have.

use crate::linux::cgroup::JobGroup;
use crate::linux::control::Pid;
use crate::linux::cpus;
use crate::linux::perf_ring::PerfRing;
use crate::linux::pidfd;
use crate::meter::Exits;
use crate::run::marks::{self, MarkReceiver};
use crate::run::plain::{self, PlainEnd, PlainJob};
use crate::run::sentinel::{Sentinel, SignalSet};
use crate::run::spawn::{self, SignalPlan, SpawnError, Spawned};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// With more CPUs than this the job does not wait for an event on each: what it forks before is found by a look back,
/// unless it is gone by then.
const MOST_EARLY_CPUS: usize = 16;

/// What to run, and how.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Fixed distance of ticks, or adaptive.
    pub interval_ns: Option<u64>,
    /// The job is ended after this time.
    pub timeout_ns: Option<u64>,
    /// Between TERM and KILL at the time limit.
    pub grace_ns: u64,
    /// The run goes on until the last descendant has ended.
    pub wait_descendants: bool,
    /// A group is made for the job where that is allowed.
    pub use_cgroup: bool,
    /// Events and clocks of perf, where they may be had.
    pub use_perf: bool,
    /// Watch the job's tree where whole CPUs may not be watched. The first such event on a machine makes the
    /// kernel patch itself, 6 to 32 ms for which the job waits: only by request.
    pub follow: bool,
}

/// Why there is no job: it never ran.
#[derive(Debug)]
pub enum LaunchError {
    /// The command could not be started.
    Spawn(SpawnError),
    /// We could not do what comes before a start.
    Own(io::Error),
}

/// What was opened before the job, for the supervisor to take over.
#[derive(Default)]
pub(crate) struct Sources {
    pub(crate) group: Option<JobGroup>,
    /// `None` where they are to be opened after the start.
    pub(crate) events: Option<Result<PerfRing, String>>,
    /// What tells of processes where perf does not.
    pub(crate) exits: Exits,
    pub(crate) marks: Option<MarkReceiver>,
    /// Why marks may not arrive.
    pub(crate) marks_doubt: Option<String>,
    pub(crate) sentinel: Option<Sentinel>,
    /// Signals that came before the job existed: it does not have them, whoever else got them.
    pub(crate) early_signals: SignalSet,
}

/// A job under way.
pub struct Job {
    pub(crate) options: RunOptions,
    pub(crate) signals: SignalPlan,
    pub(crate) spawned: Spawned,
    /// Readable when the main process has ended, whoever reaps it.
    pub(crate) exit: Option<OwnedFd>,
    pub(crate) deadline_ns: Option<u64>,
    pub(crate) sources: Option<Sources>,
}

impl Job {
    /// Starts the job. An error means that it never ran.
    pub fn start(options: RunOptions) -> Result<Job, LaunchError> {
        let signals = SignalPlan::install().map_err(LaunchError::Own)?;
        spawn::become_subreaper();
        let mut group = if options.use_cgroup { JobGroup::create().ok() } else { None };
        let opens_early = cpus::online().len() <= MOST_EARLY_CPUS;
        let mut events = match options.use_perf {
            true if opens_early || options.follow => Some(PerfRing::open_machine()),
            true => None,
            false => Some(Err("not wanted".to_owned())),
        };
        let wants_tree_events = options.follow && !matches!(events, Some(Ok(_)));
        let exits = match events {
            Some(Err(_)) if options.use_perf && !wants_tree_events => Exits::before_start(),
            _ => Exits::default(),
        };
        let mut attach = |pid| events = Some(PerfRing::open_tree(pid));
        // Before the job: its very first command may be a mark.
        let (marks, marks_doubt) = marks::receive();
        // Before the fork: a signal to the whole group never finds a job without a sentinel beside it.
        let sentinel = Sentinel::start();
        let early_signals = SignalSet::pending();
        let spawned = {
            let attach: Option<&mut dyn FnMut(i32)> =
                if wants_tree_events { Some(&mut attach) } else { None };
            spawn::spawn(&options.command, &signals, group.as_mut(), attach).map_err(LaunchError::Spawn)?
        };
        let deadline_ns = options.timeout_ns.map(|timeout_ns| spawned.started_ns.saturating_add(timeout_ns));
        let job = Job {
            options,
            signals,
            exit: pidfd::open(spawned.pid).ok(),
            spawned,
            deadline_ns,
            sources: Some(Sources { group, events, exits, marks, marks_doubt, sentinel, early_signals }),
        };
        plain::set_under_way(Some(job.plain()));
        Ok(job)
    }

    /// Of the job's main process.
    pub fn pid(&self) -> Pid {
        self.spawned.pid
    }

    fn plain(&self) -> PlainJob {
        PlainJob {
            pid: self.spawned.pid,
            signals: self.signals.as_raw_fd(),
            deadline_ns: self.deadline_ns,
            grace_ns: self.options.grace_ns,
        }
    }

    /// The rest of the job without a meter, from whatever moment on: signals are passed on, the time limit is kept
    /// for the main process, and the status is the job's. An error says that the command could not be executed.
    pub fn wait_plainly(&mut self) -> Result<PlainEnd, SpawnError> {
        self.spawned.wait_exec()?;
        let end = plain::wait(self.plain());
        let status = end.status.or_else(|| self.exit.as_ref().and_then(pidfd::wait_status));
        Ok(PlainEnd { status, ..end })
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        plain::set_under_way(None);
    }
}
