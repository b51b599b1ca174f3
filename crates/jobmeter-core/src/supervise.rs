//! Running a job under the meter: one loop over signals, the clock and marks; no thread.

use crate::cadence::Cadence;
use crate::cgroup::{JobGroup, Membership};
use crate::control::{self, Pid, Reaped, Waiting};
use crate::cpus;
use crate::finish::Ending;
use crate::marks::{self, MarkReceiver};
use crate::meter::{Meter, Target};
use crate::perf_ring::PerfRing;
use crate::sentinel::Sentinel;
use crate::spawn::{self, Arrived, SignalPlan, SpawnError, Spawned};
use crate::summary::{Limits, RunInfo, Summary};
use crate::sys;
use crate::trim;
use crate::units::{format_count, format_duration_ns};
use crate::verdict::{self, Circumstances};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Opening the first inherited perf clock of a machine can take 30 ms: jobs shorter than this do without.
const CLOCK_AFTER_NS: u64 = 250_000_000;

/// With more CPUs than this the job does not wait for an event on each: what it forks before is found by a look back,
/// unless it is gone by then.
const MOST_EARLY_CPUS: usize = 16;

/// Shorter jobs are over before the memory could matter.
const TRIM_AFTER_NS: u64 = 20_000_000;

#[derive(Debug, Clone)]
pub struct RunOptions {
    pub command: Vec<OsString>,
    /// Fixed distance of ticks, or adaptive.
    pub interval_ns: Option<u64>,
    pub timeout_ns: Option<u64>,
    /// Between TERM and KILL at the time limit.
    pub grace_ns: u64,
    pub wait_descendants: bool,
    pub use_cgroup: bool,
    /// Events and clocks of perf, where they may be had.
    pub use_perf: bool,
    /// Watch the job's tree where whole CPUs may not be watched. The first such event on a machine makes the
    /// kernel patch itself, 6 to 32 ms for which the job waits: only by request.
    pub follow: bool,
}

#[derive(Debug)]
pub enum LaunchError {
    Spawn(SpawnError),
    Own(io::Error),
}

/// A job under way.
pub struct Supervisor {
    pub meter: Meter,
    options: RunOptions,
    signals: SignalPlan,
    sentinel: Option<Sentinel>,
    spawned: Spawned,
    /// Our resident memory at the fork: the child's ru_maxrss never shows less.
    fork_floor_bytes: u64,
    cadence: Cadence,
    marks: Option<MarkReceiver>,
    /// What is wrong with the pipe of marks; told once the sinks are there.
    marks_doubt: Option<String>,
    membership: Membership,
    limits: Limits,
    oom_kills_before: Option<u64>,
    wants_clock: bool,
    has_trimmed: bool,
    deadline_ns: Option<u64>,
    timeout: TimeoutState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeoutState {
    Waiting,
    Asked,
    Killed,
}

/// What there is to do besides a tick.
struct Ready {
    signals: bool,
    marks: bool,
}

/// How it went.
pub struct Outcome {
    pub reaped: Reaped,
    pub timed_out: bool,
    pub ended_ns: u64,
    /// Descendants that live on: pid and name.
    pub remaining: Vec<(i32, String)>,
}

impl Outcome {
    /// The exit code that mirrors the job's.
    pub fn exit_code(&self) -> u8 {
        let status = self.reaped.status;
        if self.timed_out {
            124
        } else if libc::WIFSIGNALED(status) {
            (128 + libc::WTERMSIG(status)) as u8
        } else {
            libc::WEXITSTATUS(status) as u8
        }
    }
}

impl Supervisor {
    /// Starts the job. The first tick is taken when [`Supervisor::run`] begins.
    pub fn launch(options: RunOptions) -> Result<Supervisor, LaunchError> {
        let signals = SignalPlan::install().map_err(LaunchError::Own)?;
        spawn::become_subreaper();
        let mut group = if options.use_cgroup { JobGroup::create().ok() } else { None };
        let wants_clock = options.use_perf && group.is_none();
        let opens_early = cpus::online().len() <= MOST_EARLY_CPUS;
        let mut events = match options.use_perf {
            true if opens_early || options.follow => Some(PerfRing::open_machine()),
            true => None,
            false => Some(Err("not wanted".to_owned())),
        };
        let wants_tree_events = options.follow && !matches!(events, Some(Ok(_)));
        let mut attach = |pid| events = Some(PerfRing::open_tree(pid));
        // Before the job: its very first command may be a mark.
        let (marks, marks_doubt) = marks::receive();
        let spawned = {
            let attach: Option<&mut dyn FnMut(i32)> =
                if wants_tree_events { Some(&mut attach) } else { None };
            spawn::spawn(&options.command, &signals, group.as_mut(), attach).map_err(LaunchError::Spawn)?
        };
        // First of all: a job of a millisecond is seen alive now or never.
        let Some(mut meter) = Meter::start(Target::Child(spawned.pid.get())) else {
            return Err(LaunchError::Own(io::Error::other("the child vanished before it could be read")));
        };
        // Right after the fork, for the job does not wait for it.
        let fork_floor_bytes = sys::own_usage().1;
        meter.set_started_ns(spawned.started_ns);
        match events {
            Some(events) => meter.set_process_events(events),
            None => meter.set_late_process_events(PerfRing::open_machine()),
        }
        let membership = Membership::read(Path::new("/"), "self");
        // A group of the job's own starts at nought.
        let oom_kills_before = if group.is_some() { Some(0) } else { membership.oom_kills() };
        let limits = job_limits(&membership);
        meter.set_group(group);
        let cadence = Cadence::start(options.interval_ns, spawned.started_ns)
            .and_then(Cadence::with_early_tick)
            .map_err(LaunchError::Own)?;
        spawned.wait_exec().map_err(LaunchError::Spawn)?;
        let deadline_ns = options.timeout_ns.map(|timeout_ns| spawned.started_ns + timeout_ns);
        Ok(Supervisor {
            meter,
            options,
            signals,
            sentinel: None,
            spawned,
            fork_floor_bytes,
            cadence,
            marks,
            marks_doubt,
            membership,
            limits,
            oom_kills_before,
            wants_clock,
            has_trimmed: false,
            deadline_ns,
            timeout: TimeoutState::Waiting,
        })
    }

    pub fn pid(&self) -> Pid {
        self.spawned.pid
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Until the job has ended (and its descendants, when they are waited for).
    pub fn run(&mut self) -> io::Result<Outcome> {
        let mut main: Option<(Reaped, u64)> = None;
        if let Some(text) = self.marks_doubt.take() {
            self.meter.warn("marks", text);
        }
        // A job that is over already gets no more signals.
        if self.options.wait_descendants || control::peek_child(Some(self.spawned.pid)) == Waiting::NoneEnded
        {
            self.start_sentinel();
        }
        loop {
            let ready = self.wait_for_something()?;
            while let Some(arrived) = if ready.signals { self.signals.next() } else { None } {
                // A main process that has ended takes no signal any more.
                if arrived.signal != libc::SIGCHLD
                    && let Some(reaped) = self.reap_children()
                {
                    main = Some((reaped, sys::monotonic_ns()));
                }
                self.handle_signal(arrived, main.is_some());
            }
            // Signals merge and may be lost behind each other; children are asked for directly.
            if let Some(reaped) = self.reap_children() {
                main = Some((reaped, sys::monotonic_ns()));
            }
            if let Some((reaped, ended_ns)) = main
                && (!self.options.wait_descendants || self.meter.process_count() == 0)
            {
                if let Some(sentinel) = &self.sentinel {
                    sentinel.dismiss();
                }
                let remaining = self.meter.living_descendants().collect();
                let timed_out = self.timeout != TimeoutState::Waiting;
                let ended_ns = if self.options.wait_descendants { sys::monotonic_ns() } else { ended_ns };
                return Ok(Outcome { reaped, timed_out, ended_ns, remaining });
            }
            if ready.marks {
                self.take_marks();
            }
            self.tick_if_due()?;
            self.enforce_time_limit();
        }
    }

    fn wait_for_something(&mut self) -> io::Result<Ready> {
        let marks = self.marks.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let timeout_ms = match self.deadline_ns {
            Some(deadline_ns) => {
                let left_ns = deadline_ns.saturating_sub(sys::monotonic_ns());
                i32::try_from(left_ns / 1_000_000 + 1).unwrap_or(i32::MAX)
            }
            None => -1,
        };
        let events = self.meter.events_fd();
        let fds = [self.signals.as_raw_fd(), self.cadence.timer().as_raw_fd(), marks, events];
        let ready = sys::wait_readable(&fds, timeout_ms)?;
        if ready & 8 != 0 {
            self.meter.wake_by_events();
        }
        Ok(Ready { signals: ready & 1 != 0, marks: ready & 4 != 0 })
    }

    /// Passes on what was meant for the job and did not reach it by itself.
    fn handle_signal(&mut self, arrived: Arrived, main_is_gone: bool) {
        let signal = arrived.signal;
        if signal == libc::SIGCHLD {
            return self.follow_stop();
        }
        if self.group_got(arrived) {
            return;
        }
        if main_is_gone && !self.options.wait_descendants {
            return;
        }
        if main_is_gone {
            for (pid, _) in self.meter.living_descendants() {
                send_to(pid, signal);
            }
        } else {
            send_to(self.spawned.pid.get(), signal);
        }
    }

    fn start_sentinel(&mut self) {
        let started = Sentinel::start();
        if let Some(sentinel) = &started {
            self.meter.exclude(sentinel.pid());
        }
        self.replace_sentinel(started);
    }

    /// Ends and reaps the one before; its pid may now become a process of the job.
    fn replace_sentinel(&mut self, next: Option<Sentinel>) {
        if let Some(former) = std::mem::replace(&mut self.sentinel, next) {
            let pid = former.pid();
            drop(former);
            self.meter.include(pid);
        }
    }

    /// The terminal, a shell or a scheduler sent it to the whole group: the job has it already.
    fn group_got(&mut self, arrived: Arrived) -> bool {
        let Some(sentinel) = &self.sentinel else { return !arrived.by_user };
        if arrived.by_user && !sentinel.has(arrived.signal) {
            return false;
        }
        // The old one keeps the signal pending for ever: a new one starts with a clean slate.
        self.start_sentinel();
        true
    }

    /// When the terminal stopped the job, we stop too, so that the shell gets its prompt back.
    fn follow_stop(&self) {
        while let Some((code, signal)) = control::take_stop_report(self.spawned.pid) {
            let by_terminal = matches!(signal, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU);
            if code == libc::CLD_STOPPED && by_terminal && has_terminal() {
                self.signals.stop_by(signal);
            }
        }
    }

    /// Reaps everything that has ended; returns main when it was among them.
    fn reap_children(&mut self) -> Option<Reaped> {
        let mut main = None;
        while let Waiting::Ended(pid) = control::peek_child(None) {
            if self.sentinel.as_ref().is_some_and(|sentinel| sentinel.pid() == pid) {
                // Somebody killed it: without one, signals are judged by their sender alone.
                self.replace_sentinel(None);
                continue;
            }
            if pid == self.spawned.pid {
                // While it is still a zombie its last figures can be read.
                self.meter.last_tick();
            }
            let reaped = self.meter.reap(pid.get())?;
            if pid == self.spawned.pid {
                main = Some(reaped);
            }
        }
        main
    }

    fn take_marks(&mut self) {
        let meter = &mut self.meter;
        if let Some(marks) = &mut self.marks {
            marks.each(|mark| meter.mark(&mark.name, mark.kind, mark.pid, mark.tid));
        }
    }

    fn tick_if_due(&mut self) -> io::Result<()> {
        let meter = &mut self.meter;
        if !self.has_trimmed && meter.elapsed_ns() > TRIM_AFTER_NS {
            self.has_trimmed = true;
            trim::give_back_code();
        }
        meter.set_interval_ns(self.cadence.interval_ns());
        let ticked = self.cadence.run_if_due(|| meter.tick())?;
        if ticked && self.wants_clock && meter.elapsed_ns() > CLOCK_AFTER_NS {
            self.wants_clock = false;
            meter.open_inherited_clocks();
        }
        if let Some((interval_ns, cost_ns)) = self.cadence.take_thinned() {
            let already = self.meter.sums.warnings.iter().any(|warning| warning.kind == "thinned");
            if !already {
                let text = format!(
                    "a tick over {} processes costs {}: ticks are taken every {} to stay light",
                    format_count(self.meter.process_count() as u64),
                    format_duration_ns(cost_ns),
                    format_duration_ns(interval_ns)
                );
                self.meter.warn("thinned", text);
            }
        }
        Ok(())
    }

    fn enforce_time_limit(&mut self) {
        let Some(deadline_ns) = self.deadline_ns.filter(|deadline_ns| sys::monotonic_ns() >= *deadline_ns)
        else {
            return;
        };
        self.meter.tick();
        match self.timeout {
            TimeoutState::Waiting => {
                self.timeout = TimeoutState::Asked;
                self.signal_tree(libc::SIGTERM);
                self.signal_tree(libc::SIGCONT);
                self.deadline_ns = Some(deadline_ns + self.options.grace_ns);
            }
            TimeoutState::Asked | TimeoutState::Killed => {
                self.timeout = TimeoutState::Killed;
                if !self.meter.group.as_ref().is_some_and(JobGroup::kill) {
                    self.signal_tree(libc::SIGKILL);
                }
                // Forked while we killed: looked for again until the tree is empty.
                self.deadline_ns = Some(sys::monotonic_ns() + 20_000_000);
            }
        }
    }

    fn signal_tree(&self, signal: i32) {
        for process in &self.meter.tree.processes {
            send_to(process.id.pid, signal);
        }
    }

    /// Ends the measurement and says what it found.
    pub fn finish(&mut self, info: &RunInfo, outcome: &Outcome) -> Summary {
        self.meter.late_ticks = self.cadence.late_ticks;
        self.meter.skipped_ticks = self.cadence.skipped_ticks;
        if !outcome.remaining.is_empty() {
            let text = describe_remaining(&outcome.remaining);
            self.meter.warn("descendants_remain", text);
        }
        let oom_kills_now = match &self.meter.group {
            Some(group) => group.oom_kills(),
            None => self.membership.oom_kills(),
        };
        let oom_kills =
            oom_kills_now.zip(self.oom_kills_before).map_or(0, |(now, before)| now.saturating_sub(before));
        let circumstances = Circumstances {
            timed_out_after_ns: self.options.timeout_ns.filter(|_| outcome.timed_out),
            oom_kills,
        };
        let ending = Ending {
            verdict: verdict::of_status(outcome.reaped.status, &circumstances),
            limits: self.limits.clone(),
            ended_ns: outcome.ended_ns,
            fork_floor_bytes: self.fork_floor_bytes,
        };
        self.meter.finish(info, ending)
    }
}

fn describe_remaining(remaining: &[(i32, String)]) -> String {
    let mut names: Vec<String> =
        remaining.iter().take(5).map(|(pid, name)| format!("{name} ({pid})")).collect();
    if remaining.len() > 5 {
        names.push(format!("{} more", remaining.len() - 5));
    }
    format!(
        "{} descendant(s) live on and were left alone: {}; --wait-descendants measures them to their end",
        remaining.len(),
        names.join(", ")
    )
}

/// The limits that bind a job started by this process.
pub fn job_limits(membership: &Membership) -> Limits {
    let mut limits = membership.limits();
    limits.affinity_cores = affinity_cores();
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid out-pointer.
    let got = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    limits.address_space_bytes =
        (got == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur);
    limits
}

/// Cores the scheduler lets this process run on.
pub fn affinity_cores() -> Option<u32> {
    // Large enough for 8,192 cores; cpu_set_t alone ends at 1,024.
    let mut mask = [0u64; 128];
    // SAFETY: the kernel writes at most the given size.
    let filled =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, size_of_val(&mask), mask.as_mut_ptr()) };
    (filled > 0).then(|| mask.iter().map(|word| word.count_ones()).sum())
}

/// Cores that a job may use: affinity and cgroup quota.
pub fn usable_cores(limits: &Limits) -> f64 {
    let affinity = f64::from(limits.affinity_cores.unwrap_or(1).max(1));
    limits.cgroup_cores.map_or(affinity, |quota| quota.min(affinity))
}

fn has_terminal() -> bool {
    sys::open_read(c"/dev/tty").is_ok()
}

/// A process that is gone needs no signal.
fn send_to(pid: i32, signal: i32) {
    if let Some(pid) = Pid::new(pid) {
        drop(control::send(pid, signal));
    }
}
