//! The parts of a meter's state that belong together, each named after what it is for.

use crate::account::amounts::Account;
use crate::account::ledger::Ledger;
use crate::linux::cgroup::JobGroup;
use crate::linux::perf_clock::InheritedClocks;
use crate::linux::perf_ring::Follower;
use crate::linux::proc::io::Io;
use crate::linux::sys;
use crate::meter::exits::Exits;
use crate::meter::node::NodeRole;
use crate::meter::system_columns::SystemColumns;
use std::collections::HashSet;

/// When the run began and how ticks follow each other. All times are monotonic.
pub(crate) struct RunClock {
    pub started_ns: u64,
    /// Distance of ticks at the moment.
    pub interval_ns: u64,
    pub late_ticks: u64,
    pub skipped_ticks: u64,
    /// The first reading of the job, which everything is counted from, was taken.
    pub is_begun: bool,
    /// When the first tick began, while only its reading of the job has been done.
    pub half_tick_ns: Option<u64>,
    /// When `stat`, `io` and `status` of all processes were last read in one tick.
    pub full_at_ns: u64,
}

impl RunClock {
    pub(crate) fn start() -> RunClock {
        RunClock {
            started_ns: sys::monotonic_ns(),
            interval_ns: 1_000_000_000,
            late_ticks: 0,
            skipped_ticks: 0,
            is_begun: false,
            half_tick_ns: None,
            full_at_ns: 0,
        }
    }
}

/// Processes that came and went since the last tick.
#[derive(Default)]
pub(crate) struct Changes {
    /// Members that somebody else has reaped.
    pub departed: Vec<i32>,
    /// The same, to look them up.
    departed_pids: HashSet<i32>,
    pub born: Vec<i32>,
    /// Processes that came or went since the last tick, seen or not.
    pub count: u64,
}

impl Changes {
    pub(crate) fn take_any(&mut self) -> bool {
        std::mem::take(&mut self.count) > 0
    }

    pub(crate) fn has_departed(&mut self, pid: i32) -> bool {
        if self.departed_pids.len() != self.departed.len() {
            self.departed_pids = self.departed.iter().copied().collect();
        }
        self.departed_pids.contains(&pid)
    }

    pub(crate) fn forget_departed(&mut self) {
        self.departed.clear();
        self.departed_pids.clear();
    }
}

/// What the kernel counts of the job besides the processes that a tick reads, where it is allowed.
#[derive(Default)]
pub(crate) struct Witnesses {
    pub group: Option<JobGroup>,
    pub clocks: InheritedClocks,
    /// Starts and ends of processes as the kernel records them.
    pub follower: Option<Box<Follower>>,
    /// Why there is no follower.
    pub events_refusal: Option<String>,
    pub exits: Exits,
}

/// How memory and processes have moved, for the distance of ticks.
#[derive(Default)]
pub(crate) struct Levels {
    /// Plain sum of resident memory at the last tick and at the one before.
    sum_bytes: u64,
    sum_before_bytes: u64,
    /// Best known memory of the whole tree: now, the most that was published, and whether it has risen since.
    most_bytes: u64,
    published_bytes: u64,
    processes_changed: bool,
}

impl Levels {
    /// At each tick.
    pub(crate) fn take(&mut self, sum_bytes: u64, total_bytes: u64, processes_changed: bool) {
        self.sum_before_bytes = std::mem::replace(&mut self.sum_bytes, sum_bytes);
        self.most_bytes = self.most_bytes.max(total_bytes);
        self.processes_changed |= processes_changed;
    }

    /// At a tick at which nothing moved.
    pub(crate) fn stay(&mut self) {
        self.sum_before_bytes = self.sum_bytes;
    }

    /// Whether memory moved by more than a hundredth since the tick before, or processes came or went.
    pub(crate) fn take_change(&mut self) -> bool {
        let moved_bytes = self.sum_bytes.abs_diff(self.sum_before_bytes);
        std::mem::take(&mut self.processes_changed) | (moved_bytes > self.sum_bytes / 100 + 65_536)
    }

    /// Whether memory is higher than any row shows, by more than a hundredth.
    pub(crate) fn is_new_maximum(&self) -> bool {
        self.most_bytes > self.published_bytes + self.published_bytes / 100
    }

    pub(crate) fn note_published(&mut self) {
        self.published_bytes = self.most_bytes;
    }
}

/// The accounting of counters.
#[derive(Default)]
pub(crate) struct Counters {
    pub ledger: Ledger,
    /// What the whole tree, and main alone, had used before the run began; 0 for a child of ours.
    pub base: Account,
    pub base_main: Account,
    pub main_io: MainIo,
    /// Set at the end: some processes' accounts are missing from the sums, so that a process may have gone unnoticed.
    pub accounts_are_short: bool,
    /// The record says that a part of the CPU time is known in clock ticks only.
    pub is_rounded: bool,
}

/// The bytes of main without its waited-for children, which `/proc/PID/io` includes.
#[derive(Default)]
pub(crate) struct MainIo {
    pub own: Option<Io>,
    pub read_at_ns: u64,
    /// Faults of the children that main had waited for, and its whole account, when `own` was taken.
    pub basis: (u64, Option<Io>),
}

/// The machine's columns, and when they were last read.
pub(crate) struct Machine {
    pub role: NodeRole,
    pub columns: SystemColumns,
    pub read_at_ns: Option<u64>,
    /// It is read at most this often.
    pub period_ns: u64,
    /// As last read; without any swap no process needs to be asked for its own.
    pub swap_total_bytes: Option<u64>,
    /// Processes and threads that were started on the machine since the run began, as last read.
    pub forks: Option<u64>,
    /// Time that the hypervisor took from its cores since then, as last read.
    pub stolen_ns: Option<u64>,
}

/// The part of a meter inside the program that it measures: neither its time nor its thread is the program's.
#[derive(Default)]
pub(crate) struct OwnShare {
    /// The meter runs inside the program.
    pub is_counted: bool,
    /// The thread of this meter is one of `METERS_THREADS`; it is started after the first tick.
    pub is_thread_born: bool,
    /// CPU time of this meter's ticks.
    pub spent_ns: u64,
    /// Clock of the thread that ticks, up to which its time is in `spent_ns`.
    pub accounted_to_ns: u64,
}

/// Reasons to trust the processes that were read less than usual.
#[derive(Default)]
pub(crate) struct Doubts {
    /// Descriptors ran out: processes may have been missed.
    pub is_partial: bool,
    /// A process ignores SIGCHLD and may have forked: the kernel reaps its children into nobody's account.
    pub may_discard: bool,
    /// A process of the job had more than one thread.
    pub has_threads: bool,
    /// Our child could not be read when it started; it is tried again until it can.
    pub is_main_missing: bool,
}
