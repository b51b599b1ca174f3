//! Measuring a process that runs already, from outside: until it ends, for a time, or until told to stop.

use crate::linux::cgroup::WatchedGroup;
use crate::linux::control::Pid;
use crate::linux::pidfd;
use crate::linux::proc::root::ProcRoot;
use crate::linux::proc::status;
use crate::linux::sys;
use crate::meter::finish::Ending;
use crate::meter::{EarlyEvents, Meter, Target};
use crate::run::cadence::Cadence;
use crate::run::spawn::SignalPlan;
use jobmeter_model::VerdictKind;
use jobmeter_model::summary::{Limits, RunInfo, Summary};
use jobmeter_model::verdict::{self, Circumstances};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

/// Why a pid cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetError {
    /// No process has this number.
    NotThere(i32),
    /// It is a thread of this process.
    Thread {
        /// The thread that was named.
        tid: i32,
        /// Its process.
        pid: i32,
    },
    /// A kernel thread: it has no memory of its own and no children.
    Kernel(i32),
}

impl std::fmt::Display for TargetError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TargetError::NotThere(pid) => write!(f, "there is no process {pid}; it may have ended already"),
            TargetError::Thread { tid, pid } => {
                write!(f, "{tid} is a thread of process {pid}; attach to {pid} instead")
            }
            TargetError::Kernel(pid) => write!(f, "{pid} is a kernel thread, which has nothing to measure"),
        }
    }
}

impl std::error::Error for TargetError {}

/// Whether `pid` is a process that can be measured.
pub fn check_target(pid: i32) -> Result<(), TargetError> {
    let mut buffer = [0u8; 4096];
    if pid <= 0 {
        return Err(TargetError::NotThere(pid));
    }
    let proc = ProcRoot::KERNEL;
    let length = proc.read(pid, "status", &mut buffer).map_err(|_| TargetError::NotThere(pid))?;
    let status = status::parse(&buffer[..length]);
    match status.group_pid {
        Some(group) if group != pid as u64 => Err(TargetError::Thread { tid: pid, pid: group as i32 }),
        _ => {
            const PF_KTHREAD: u64 = 0x0020_0000;
            match proc.stat(pid, &mut buffer) {
                None => Err(TargetError::NotThere(pid)),
                Some(stat) if stat.flags & PF_KTHREAD != 0 => Err(TargetError::Kernel(pid)),
                Some(_) => Ok(()),
            }
        }
    }
}

/// The arguments of a running process; empty where they cannot be read.
pub fn command_of(pid: i32) -> Vec<std::ffi::OsString> {
    use std::os::unix::ffi::OsStringExt;
    ProcRoot::KERNEL.command_line(pid).into_iter().map(std::ffi::OsString::from_vec).collect()
}

/// Whether the process has ended and its parent has not reaped it yet, which may take for ever.
fn is_zombie(pid: i32) -> bool {
    ProcRoot::KERNEL.stat(pid, &mut [0; 4096]).is_some_and(|stat| stat.state == b'Z')
}

/// A parent that has not reaped its child by then may never do it.
const PARENT_REAPS_WITHIN: Duration = Duration::from_millis(50);

/// What ended the watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchEnd {
    /// It ended by itself.
    ProcessEnded,
    /// The time that was asked for is over.
    TimeUp,
    /// By a signal to us.
    Told(i32),
}

/// A meter on a process that runs already.
pub struct Watch {
    /// The meter.
    pub meter: Meter,
    cadence: Cadence,
    signals: SignalPlan,
    pid: i32,
    /// Readable when the process has ended; `None` where there was no descriptor to be had.
    exit: Option<OwnedFd>,
    /// The same, once the first process of a group has ended and others go on.
    ended: Option<OwnedFd>,
    deadline_ns: Option<u64>,
    /// All members of a group are measured: the watch goes on until the last of them has ended.
    is_of_group: bool,
}

/// The group that is to be measured, and the process in it that was there first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupTarget {
    /// Its folder.
    pub dir: PathBuf,
    /// The oldest process in it.
    pub first_pid: i32,
}

impl GroupTarget {
    /// Of a group with a process in it that can be measured.
    pub fn of(dir: PathBuf) -> Result<GroupTarget, String> {
        let mut pids = Vec::new();
        WatchedGroup::from_now(dir.clone()).read(&mut pids);
        let own_pid = std::process::id() as i32;
        let start_ticks = |pid: i32| {
            let stat = ProcRoot::KERNEL.stat(pid, &mut [0; 1024]);
            stat.filter(|stat| stat.state != b'Z').map(|stat| stat.start_ticks)
        };
        let living = pids.into_iter().filter(|pid| *pid != own_pid && check_target(*pid).is_ok());
        let living = living.filter_map(|pid| start_ticks(pid).map(|ticks| (ticks, pid)));
        match living.min() {
            Some((_, first_pid)) => Ok(GroupTarget { dir, first_pid }),
            None => Err(format!(
                "no process is in the control group {}; it may have ended already",
                dir.display()
            )),
        }
    }
}

impl Watch {
    /// As [`Watch::start`], for all members of a group and of the groups below it.
    pub fn start_group(
        target: &GroupTarget,
        interval_ns: Option<u64>,
        duration_ns: Option<u64>,
    ) -> io::Result<Watch> {
        let mut watch = Watch::start(target.first_pid, interval_ns, duration_ns)?;
        watch.meter.measure_group(WatchedGroup::from_now(target.dir.clone()));
        watch.is_of_group = true;
        Ok(watch)
    }

    /// Starts to measure `pid`, until it ends or for `duration_ns`.
    pub fn start(pid: i32, interval_ns: Option<u64>, duration_ns: Option<u64>) -> io::Result<Watch> {
        let signals = SignalPlan::install()?;
        let exit = Pid::new(pid).and_then(|pid| pidfd::open(pid).ok());
        let meter = Meter::start(Target::Attached(pid))
            .ok_or_else(|| io::Error::other(TargetError::NotThere(pid).to_string()))?;
        let now_ns = sys::monotonic_ns();
        let cadence = Cadence::start(interval_ns, now_ns).of_own_process();
        let deadline_ns = duration_ns.map(|duration_ns| now_ns + duration_ns);
        Ok(Watch { meter, cadence, signals, pid, exit, ended: None, deadline_ns, is_of_group: false })
    }

    /// Until the process has ended, the time is up, or a signal tells us to stop.
    pub fn run(&mut self) -> WatchEnd {
        // What the process had used before is read at once: everything counts from here.
        self.meter.begin_attached(EarlyEvents::open());
        // The machine's counters too, not an interval later.
        self.meter.complete_first_tick();
        loop {
            let interval_ns = self.cadence.interval_ns();
            let meter = &mut self.meter;
            self.cadence.run_if_due(|turn| {
                meter.set_interval_ns(interval_ns);
                meter.take_turn(turn)
            });
            if self.has_ended() {
                return WatchEnd::ProcessEnded;
            }
            if self.deadline_ns.is_some_and(|deadline_ns| sys::monotonic_ns() >= deadline_ns) {
                return WatchEnd::TimeUp;
            }
            let due_ns = self.cadence.due_ns().min(self.meter.exits_due_ns());
            let until_ns = self.deadline_ns.unwrap_or(u64::MAX).min(due_ns);
            let exit = self.exit.as_ref().map_or(-1, AsRawFd::as_raw_fd);
            let fds = [self.signals.as_raw_fd(), exit, self.meter.events_fd()];
            // A wait that failed has slept a little: signals, the clock and the process are looked at again.
            let ready = sys::wait_readable(fds, Some(until_ns));
            if matches!(ready, Ok([_, _, true])) {
                self.meter.wake_by_events();
            }
            if self.meter.collect_exits_if_due() {
                self.cadence.hasten();
            }
            while let Some(arrived) = self.signals.next() {
                if matches!(arrived.signal, libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT) {
                    return WatchEnd::Told(arrived.signal);
                }
            }
            let ended = match ready {
                Ok([_, has_ended, _]) if self.exit.is_some() => has_ended,
                // The first of a group is gone; the ticks see to the others.
                _ if self.is_of_group => false,
                // Nothing tells of its end: look.
                _ => is_zombie(self.pid),
            };
            if ended && self.is_of_group {
                self.ended = self.exit.take();
                self.meter.tick();
                continue;
            }
            if ended {
                // A zombie for as long as its parent leaves it there: read now.
                self.meter.last_tick();
                return WatchEnd::ProcessEnded;
            }
        }
    }

    fn has_ended(&self) -> bool {
        if self.is_of_group { self.meter.is_deserted() } else { !self.meter.has_main() }
    }

    /// How the process ended, where the kernel tells it to others than its parent: by the process connector, or once that
    /// has reaped it, which most do at once.
    fn wait_status(&mut self) -> Option<i32> {
        const LOOKS: u32 = 10;
        let exit = self.exit.as_ref().or(self.ended.as_ref())?;
        for _ in 0..LOOKS {
            let status = pidfd::wait_status(exit).or_else(|| self.meter.told_end_of_main());
            if status.is_some() {
                return status;
            }
            std::thread::sleep(PARENT_REAPS_WITHIN / LOOKS);
        }
        None
    }

    /// Takes the last tick and makes the summary.
    pub fn finish(&mut self, info: &RunInfo, limits: Limits, end: WatchEnd) -> Summary {
        if end != WatchEnd::ProcessEnded {
            self.meter.last_tick();
        }
        self.meter.clock.late_ticks = self.cadence.late_ticks;
        self.meter.clock.skipped_ticks = self.cadence.skipped_ticks;
        let verdict = match end {
            WatchEnd::ProcessEnded => match self.wait_status() {
                Some(status) => verdict::of_status(status, &Circumstances::default()),
                None => verdict::of_watch(
                    VerdictKind::Unknown,
                    "the process ended; its exit status is its parent's to know",
                ),
            },
            _ => verdict::of_watch(VerdictKind::Detached, "measured for a while; the process goes on"),
        };
        let ending = Ending { verdict, limits, ended_ns: sys::monotonic_ns(), fork_floor_bytes: 0 };
        self.meter.finish(info, ending)
    }
}
