//! Running a job under the meter: one loop over signals, the clock and marks; no thread.

mod ticks;

use crate::linux::cgroup::{JobGroup, Membership};
use crate::linux::control::{self, Pid, Waiting};
use crate::linux::perf_ring::PerfRing;
use crate::linux::perf_warm_up::WarmUp;
use crate::linux::pidfd;
use crate::linux::sys;
use crate::meter::Meter;
use crate::meter::finish::Ending;
use crate::run::cadence::Cadence;
use crate::run::job::{Job, Sources};
use crate::run::limits::job_limits;
use crate::run::marks::MarkReceiver;
use crate::run::oom::{OomFindings, OomWatch};
use crate::run::plain;
use crate::run::sentinel::{Sentinel, SignalSet};
use crate::run::spawn::{Arrived, SpawnError};
use jobmeter_model::summary::{Limits, RunInfo, Summary};
use jobmeter_model::verdict::{self, Circumstances};
use jobmeter_model::{VerdictKind, WarningKind};
use std::os::fd::AsRawFd;
use std::path::Path;

/// Loading a command takes about this long; one that has ended by then had no children to report.
const EXIT_RECORDS_AFTER_NS: u64 = 1_000_000;

/// A job under the meter.
pub struct Supervisor<'job> {
    /// The meter.
    pub meter: Meter,
    job: &'job mut Job,
    sentinel: Option<Sentinel>,
    /// Signals of the whole group that a former sentinel saw and that are still to arrive here.
    group_signals: SignalSet,
    early_signals: SignalSet,
    /// Our resident memory at the fork: the child's ru_maxrss never shows less.
    fork_floor_bytes: u64,
    cadence: Cadence,
    marks: Option<MarkReceiver>,
    /// Kind and text; emitted once the sinks are there.
    early_warnings: Vec<(WarningKind, String)>,
    membership: Membership,
    limits: Limits,
    oom: OomWatch,
    /// An inherited clock is to be opened.
    wants_clock: bool,
    /// Before events of the job's own tasks are opened.
    warm_up: Option<WarmUp>,
    wants_warm_up: bool,
    /// `None` once they have been opened.
    exit_records_due_ns: Option<u64>,
    /// When events are next asked for a family of processes, until what they map is followed.
    family_due_ns: Option<u64>,
    has_settled: bool,
    is_late: bool,
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
    /// The main process has ended.
    exit: bool,
}

/// How the main process ended.
#[derive(Debug, Clone, Copy)]
struct MainEnd {
    status: Option<i32>,
    ended_ns: u64,
}

/// How it went.
pub struct Outcome {
    /// As `wait` gives it; `None` when somebody else took it and the kernel does not keep it.
    pub status: Option<i32>,
    /// The time limit ended it.
    pub timed_out: bool,
    /// When the main process ended, by the monotonic clock.
    pub ended_ns: u64,
    /// Descendants that live on: pid and name.
    pub remaining: Vec<(i32, String)>,
}

impl<'job> Supervisor<'job> {
    /// Puts a meter on a job that was just started. The first tick is taken when [`Supervisor::run`] begins. An error
    /// says that the command could not be executed.
    pub fn new(job: &'job mut Job) -> Result<Supervisor<'job>, SpawnError> {
        let (pid, started_ns) = (job.spawned.pid, job.spawned.started_ns);
        // First of all: a job of a millisecond must be read at once to be seen alive.
        let (mut meter, trouble) = Meter::start_child(pid.get());
        let mut early_warnings: Vec<_> =
            trouble.map(|text| (WarningKind::Unreadable, text)).into_iter().collect();
        // After the fork, so that the job does not wait for it.
        let fork_floor_bytes = sys::own_usage().1;
        meter.set_started_ns(started_ns);
        let Sources { group, events, exits, marks, marks_doubt, sentinel, early_signals } =
            job.sources.take().unwrap_or_default();
        early_warnings.extend(marks_doubt.map(|text| (WarningKind::Marks, text)));
        if let Some(sentinel) = &sentinel {
            meter.exclude(sentinel.pid());
        }
        match events {
            Some(events) => meter.set_process_events(events),
            None => meter.set_late_process_events(PerfRing::open_machine()),
        }
        if job.options.use_perf {
            // Where they are not open yet, the child is loading its program meanwhile: it has no children.
            meter.open_process_events(exits);
            if job.options.follow {
                meter.open_exit_events();
            }
        }
        let wants_clock = job.options.use_perf && group.is_none();
        let membership = Membership::read(Path::new("/"), "self");
        let oom = OomWatch::new(group.as_ref());
        let limits = job_limits(&membership);
        meter.set_group(group);
        let cadence = Cadence::start(job.options.interval_ns, started_ns).with_early_tick().of_own_process();
        job.spawned.wait_exec()?;
        // While its program is being loaded: it has no huge pages yet.
        meter.bounds.begin_pages();
        Ok(Supervisor {
            meter,
            job,
            sentinel,
            early_signals,
            group_signals: SignalSet::default(),
            fork_floor_bytes,
            cadence,
            marks,
            early_warnings,
            membership,
            limits,
            oom,
            wants_clock,
            warm_up: None,
            wants_warm_up: true,
            exit_records_due_ns: Some(started_ns + EXIT_RECORDS_AFTER_NS),
            family_due_ns: Some(started_ns + ticks::FOLLOWED_AFTER_NS),
            has_settled: false,
            is_late: false,
            timeout: TimeoutState::Waiting,
        })
    }

    /// Of the job's main process.
    pub fn pid(&self) -> Pid {
        self.job.spawned.pid
    }

    /// What binds the job.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Until the job has ended (and its descendants, when they are waited for).
    pub fn run(&mut self) -> Outcome {
        let mut main: Option<MainEnd> = None;
        for (kind, text) in std::mem::take(&mut self.early_warnings) {
            self.meter.warn(kind, text);
        }
        loop {
            let ready = self.wait_for_something();
            while let Some(arrived) = if ready.signals { self.job.signals.next() } else { None } {
                // A main process that has ended takes no signal any more.
                if arrived.signal != libc::SIGCHLD {
                    main = self.reap_children().or(main);
                }
                self.handle_signal(arrived, main.is_some());
            }
            // Pending SIGCHLDs merge into one, so every child is asked for.
            main = self.reap_children().or(main);
            if ready.exit && main.is_none() {
                main = self.missed_end();
            }
            if let Some(end) = main
                && (!self.job.options.wait_descendants || self.meter.process_count() == 0)
            {
                if let Some(sentinel) = self.sentinel.take() {
                    sentinel.abandon();
                }
                let remaining = self.meter.living_descendants().collect();
                let timed_out = self.timeout != TimeoutState::Waiting;
                let ended_ns =
                    if self.job.options.wait_descendants { sys::monotonic_ns() } else { end.ended_ns };
                plain::set_under_way(None);
                return Outcome { status: end.status, timed_out, ended_ns, remaining };
            }
            if self.exit_records_due_ns.take_if(|due_ns| sys::monotonic_ns() >= *due_ns).is_some() {
                self.meter.open_exit_records();
            }
            if ready.marks {
                self.take_marks();
            }
            if self.meter.collect_exits_if_due() {
                self.cadence.hasten();
            }
            self.meter.look_for_containers_if_due();
            self.tick_if_due();
            self.enforce_time_limit();
        }
    }

    fn wait_for_something(&mut self) -> Ready {
        let marks = self.marks.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let exit = self.job.exit.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let until_ns = self
            .job
            .deadline_ns
            .unwrap_or(u64::MAX)
            .min(self.cadence.due_ns())
            .min(self.meter.exits_due_ns())
            .min(self.meter.containers_due_ns())
            .min(self.warm_up.as_ref().map_or(u64::MAX, WarmUp::ask_at_ns))
            .min(self.exit_records_due_ns.unwrap_or(u64::MAX))
            .min(self.family_due_ns.unwrap_or(u64::MAX));
        let fds =
            [self.job.signals.as_raw_fd(), marks, exit, self.meter.events_fd(), self.meter.container_fd()];
        match sys::wait_readable(fds, Some(until_ns)) {
            Ok([has_signals, has_marks, has_ended, has_events, has_container_ended]) => {
                if has_container_ended {
                    self.meter.note_container_end();
                }
                if has_events {
                    self.meter.wake_by_events();
                }
                // Without a descriptor of the process, every wake-up asks whether it is there.
                let exit = has_ended || exit == -1;
                Ready { signals: has_signals, marks: has_marks, exit }
            }
            // The wait failed and slept a little instead: treat every source as ready.
            Err(_) => Ready { signals: true, marks: true, exit: true },
        }
    }

    /// The end of the main process when it was not ours to reap: a library in our process may ignore SIGCHLD, and
    /// then the kernel reaps our children itself. `None` while it is there.
    fn missed_end(&mut self) -> Option<MainEnd> {
        match self.meter.reap(self.pid()) {
            Ok(Some(reaped)) => Some(self.note_end(Some(reaped.status))),
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => {
                self.meter.lose_main("somebody else in our process has reaped the job");
                let status = self.job.exit.as_ref().and_then(pidfd::wait_status);
                Some(self.note_end(status))
            }
            _ => None,
        }
    }

    fn note_end(&mut self, status: Option<i32>) -> MainEnd {
        self.job.exit = None;
        MainEnd { status, ended_ns: sys::monotonic_ns() }
    }

    /// Forwards signals that were meant for the job and did not reach it directly.
    fn handle_signal(&mut self, arrived: Arrived, main_is_gone: bool) {
        let signal = arrived.signal;
        if signal == libc::SIGCHLD {
            return self.follow_stop();
        }
        if self.group_got(arrived) {
            return;
        }
        if main_is_gone && !self.job.options.wait_descendants {
            return;
        }
        if main_is_gone {
            for process in self.meter.own_processes().filter(|process| !process.is_zombie()) {
                send_to(process.id.pid, signal);
            }
        } else {
            send_to(self.pid().get(), signal);
        }
    }

    /// Ends and reaps the sentinel; its pid may be given to a process of the job from now on.
    fn retire_sentinel(&mut self, former: Sentinel) {
        let pid = former.pid();
        drop(former);
        self.meter.include(pid);
    }

    /// The terminal, a shell or a scheduler sent it to the whole group: the job has it already.
    fn group_got(&mut self, arrived: Arrived) -> bool {
        if self.early_signals.take(arrived.signal) {
            if self.sentinel.as_ref().is_some_and(|sentinel| sentinel.pending().has(arrived.signal)) {
                self.renew_sentinel(arrived.signal);
            }
            return false;
        }
        let was_noted = self.group_signals.take(arrived.signal);
        let Some(sentinel) = &self.sentinel else { return was_noted || !arrived.by_user };
        let is_pending = match was_noted || !arrived.by_user {
            true => sentinel.pending().has(arrived.signal),
            false => sentinel.has(arrived.signal),
        };
        if is_pending {
            self.renew_sentinel(arrived.signal);
        }
        was_noted || is_pending || !arrived.by_user
    }

    /// A sentinel keeps its signals pending for ever: a new one takes its place. What else the group got meanwhile will
    /// arrive here too, and is noted.
    fn renew_sentinel(&mut self, handled: i32) {
        let Some(former) = self.sentinel.take() else { return };
        self.sentinel = Sentinel::start();
        if let Some(sentinel) = &self.sentinel {
            self.meter.exclude(sentinel.pid());
        }
        // After the new one was started: what comes now is pending there.
        let mut others = former.pending();
        others.take(handled);
        self.group_signals.add(others);
        self.retire_sentinel(former);
    }

    /// When the terminal stopped the job, we stop too, so that the shell gets its prompt back.
    fn follow_stop(&self) {
        while let Some((code, signal)) = control::take_stop_report(self.pid()) {
            let by_terminal = matches!(signal, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU);
            if code == libc::CLD_STOPPED && by_terminal && has_terminal() {
                self.job.signals.stop_by(signal);
            }
        }
    }

    /// Reaps everything that has ended; returns main when it was among them.
    fn reap_children(&mut self) -> Option<MainEnd> {
        let mut main = None;
        while let Waiting::Ended(pid, status) = control::peek_child(None) {
            if let Some(sentinel) = self.sentinel.take_if(|sentinel| sentinel.pid() == pid) {
                // Somebody killed the sentinel: without it, signals are judged by their sender alone.
                self.retire_sentinel(sentinel);
                continue;
            }
            if pid == self.pid() {
                // While it is still a zombie its last figures can be read.
                self.meter.last_tick();
            }
            let is_reaped = self.meter.reap(pid).is_ok_and(|reaped| reaped.is_some());
            if pid == self.pid() {
                if !is_reaped {
                    self.meter.lose_main("the kernel does not let us reap the job");
                }
                main = Some(self.note_end(Some(status)));
            }
            if !is_reaped {
                break;
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

    fn enforce_time_limit(&mut self) {
        let Some(deadline_ns) =
            self.job.deadline_ns.filter(|deadline_ns| sys::monotonic_ns() >= *deadline_ns)
        else {
            return;
        };
        self.meter.tick();
        match self.timeout {
            TimeoutState::Waiting => {
                self.timeout = TimeoutState::Asked;
                self.signal_tree(libc::SIGTERM);
                self.signal_tree(libc::SIGCONT);
                self.job.deadline_ns = Some(deadline_ns.saturating_add(self.job.options.grace_ns));
            }
            TimeoutState::Asked | TimeoutState::Killed => {
                self.timeout = TimeoutState::Killed;
                if !self.meter.witnesses.group.as_ref().is_some_and(JobGroup::kill) {
                    self.signal_tree(libc::SIGKILL);
                }
                // Processes forked while we killed: search again until the tree is empty.
                self.job.deadline_ns = Some(sys::monotonic_ns() + 20_000_000);
            }
        }
    }

    fn signal_tree(&self, signal: i32) {
        let processes = self.meter.own_processes().map(|process| process.id.pid);
        processes.for_each(|pid| send_to(pid, signal));
        // A main process that could not be read is in no tree. Its pid is not reused until we reap it.
        if self.meter.doubts.is_main_missing && control::look_at(self.pid()) != Waiting::NoChild {
            send_to(self.pid().get(), signal);
        }
    }

    /// For a program that is about to end: removes what would outlive it, the job's group and the pipe of marks, and
    /// leaves memory, maps and descriptors to the kernel, which is quicker.
    pub fn abandon(mut self) {
        drop(self.meter.witnesses.group.take());
        drop(self.marks.take());
        std::mem::forget(self);
    }

    /// Ends the measurement and says what it found.
    pub fn finish(&mut self, info: &RunInfo, outcome: &Outcome) -> Summary {
        self.meter.clock.late_ticks = self.cadence.late_ticks;
        self.meter.clock.skipped_ticks = self.cadence.skipped_ticks;
        if !outcome.remaining.is_empty() {
            let text = describe_remaining(&outcome.remaining);
            self.meter.warn(WarningKind::DescendantsRemain, text);
        }
        // Asked where it could have been the killer.
        let was_killed = outcome.status.is_some_and(|status| status & 0x7f == libc::SIGKILL);
        let machine_kills = was_killed.then(|| self.meter.bounds.oom_kills_since_start()).flatten();
        let group = self.meter.witnesses.group.as_ref();
        let OomFindings { kills, machine_kills, reached_limit } =
            self.oom.findings(group, &self.membership, machine_kills);
        let circumstances = Circumstances {
            timed_out_after_ns: self.job.options.timeout_ns.filter(|_| outcome.timed_out),
            oom_kills: kills,
            machine_oom_kills: machine_kills,
            reached_limit,
        };
        let ending = Ending {
            verdict: match outcome.status {
                Some(status) => verdict::of_status(status, &circumstances),
                None => verdict::of_watch(
                    VerdictKind::Unknown,
                    "the job ended; somebody else took its exit status",
                ),
            },
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

fn has_terminal() -> bool {
    sys::open_read(c"/dev/tty").is_ok()
}

/// Errors are ignored: a process that is gone needs no signal.
fn send_to(pid: i32, signal: i32) {
    if let Some(pid) = Pid::new(pid) {
        drop(control::send(pid, signal));
    }
}
