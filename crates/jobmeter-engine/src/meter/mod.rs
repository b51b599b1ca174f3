//! The meter: one tick reads the tree and the machine, fills the row, and hands it to whoever listens.

pub(crate) mod bounds;
mod contained;
mod containers;
mod exits;
mod extra;
mod fill;
pub(crate) mod finish;
mod groups;
mod idle;
mod inherited;
pub mod layout;
mod lives;
mod memory;
mod node;
mod output;
mod own;
mod peak_figures;
pub mod process;
mod running;
mod stages;
mod still;
mod system_columns;
mod tick;
pub mod tree;

use crate::account::busy::BusyCores;
use crate::account::memory::MemoryAccount;
use crate::account::unmapped::Unmapped;
use crate::linux::cgroup::JobGroup;
use crate::linux::control::Pid;
use crate::linux::perf_clock::InheritedClocks;
use crate::linux::sys;
use crate::meter::layout::Row;
use crate::meter::system_columns::SystemColumns;
use crate::meter::tree::Tree;
use bounds::Bounds;
use contained::Contained;
use containers::Containers;
use extra::Extras;
use idle::Idleness;
use jobmeter_model::WarningKind;
use jobmeter_model::event::{Event, Sink};
use node::NodeRole;
use output::Output;
use own::METERS_THREADS;
use stages::{Changes, Counters, Doubts, Levels, Machine, OwnShare, RunClock, Witnesses};
use std::path::Path;
use std::sync::atomic::Ordering;
use still::Stillness;

pub(crate) use exits::{EarlyEvents, Exits};
pub use extra::{Extra, Member};
pub(crate) use fill::account_values;
pub use own::{OwnThread, forget_meters_of_parent};

pub(crate) const OUT_OF_DESCRIPTORS: &str =
    "processes may be missing: no file descriptor was free to read them with (ulimit -n)";

/// What the meter looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A child of ours; orphans of the job are re-parented to us.
    Child(i32),
    /// A process that was there before.
    Attached(i32),
    /// The program that we are part of.
    Own,
}

/// The meter of one run. The fields stand in the order in which a tick passes through them: the tree is read, changes in
/// it are told, counters and memory are accounted, the machine and extra sources are read, the row goes out.
pub struct Meter {
    pub(crate) target: Target,
    pub(crate) clock: RunClock,
    pub(crate) tree: Tree,
    pub(crate) changes: Changes,
    pub(crate) containers: Containers,
    pub(crate) contained: Contained,
    pub(crate) witnesses: Witnesses,
    still: Stillness,
    idle: Idleness,
    pub(crate) counters: Counters,
    pub(crate) memory: MemoryAccount,
    pub(crate) bounds: Bounds,
    pub(crate) levels: Levels,
    pub(crate) unmapped: Unmapped,
    pub(crate) busy_cores: BusyCores,
    pub(crate) machine: Machine,
    extras: Extras,
    pub(crate) out: Output,
    pub(crate) own: OwnShare,
    pub(crate) doubts: Doubts,
}

impl Meter {
    /// Begins now. `None` when the process is not there, or not to be read.
    pub fn start(target: Target) -> Option<Meter> {
        let pid = match target {
            Target::Child(pid) | Target::Attached(pid) => pid,
            Target::Own => std::process::id() as i32,
        };
        let mut tree = Tree::new(None);
        tree.open_main(pid)?;
        if let Some((main, _)) = tree.get_mut(pid) {
            main.hosts_meter = target == Target::Own;
        }
        Some(Meter::with_tree(target, tree))
    }

    /// A meter on a child of ours, which is there until we reap it. Where it cannot be read now, the text says so, and
    /// it is tried again at each tick.
    pub fn start_child(pid: i32) -> (Meter, Option<String>) {
        let mut tree = Tree::new(Some(std::process::id() as i32));
        let is_read = tree.open_main(pid).is_some();
        let mut meter = Meter::with_tree(Target::Child(pid), tree);
        meter.doubts.is_main_missing = !is_read;
        let trouble = meter.doubts.is_main_missing.then(|| {
            let read = meter.tree.proc.read(pid, "stat", &mut [0; 1024]);
            let reason = read
                .err()
                .map_or_else(|| "its stat has an unknown format".to_owned(), |error| error.to_string());
            format!("cannot read /proc/{pid}: {reason}; of the job only what wait tells at its end is known")
        });
        (meter, trouble)
    }

    fn with_tree(target: Target, tree: Tree) -> Meter {
        let row = Row::new();
        let columns = SystemColumns::open(Path::new("/"), tree.proc);
        Meter {
            target,
            clock: RunClock::start(),
            tree,
            changes: Changes::default(),
            containers: Containers::default(),
            contained: Contained::default(),
            witnesses: Witnesses::default(),
            still: Stillness::default(),
            idle: Idleness::default(),
            counters: Counters::default(),
            memory: MemoryAccount::default(),
            bounds: Bounds::default(),
            levels: Levels::default(),
            unmapped: Unmapped::default(),
            busy_cores: BusyCores::default(),
            machine: Machine {
                role: NodeRole::default(),
                columns,
                read_at_ns: None,
                period_ns: tick::machine_period_ns(target == Target::Own),
                swap_total_bytes: None,
                forks: None,
                stolen_ns: None,
            },
            extras: Extras::default(),
            out: Output::new(row),
            own: OwnShare { is_counted: target == Target::Own, ..OwnShare::default() },
            doubts: Doubts::default(),
        }
    }

    /// The meter is part of a program that is not ours: it takes only a share of its free descriptors, and never
    /// raises their limit.
    pub(crate) fn be_guest(&mut self) {
        self.tree.be_guest();
    }

    /// The run began earlier than the meter: when the child was forked.
    pub fn set_started_ns(&mut self, started_ns: u64) {
        self.clock.started_ns = started_ns;
    }

    /// The group that was made for the job.
    pub fn set_group(&mut self, group: Option<JobGroup>) {
        self.witnesses.group = group;
    }

    /// High-water marks of processes as they end, where the kernel gives them to us.
    pub fn open_exit_records(&mut self) {
        self.bounds.open_exit_records();
    }

    /// Where no group could be made: counts from now on what parents that ignore their children throw away.
    pub fn open_inherited_clocks(&mut self) {
        let used_ns = self.counters.ledger.combined(self.tree.readings()).cpu_ns;
        let pids = self.tree.processes.iter().map(|process| process.id.pid);
        self.witnesses.clocks = InheritedClocks::open(used_ns, pids);
    }

    /// How far ticks are apart, for what goes by it.
    pub fn set_interval_ns(&mut self, interval_ns: u64) {
        self.clock.interval_ns = interval_ns;
    }

    /// Rows of a tenth of a second are all to hold the machine, which costs more than the job's own files.
    pub fn read_machine_often(&mut self) {
        self.machine.period_ns = tick::machine_period_ns(true);
    }

    /// A listener that gets every column, event and tick from now on.
    pub fn add_sink(&mut self, sink: Box<dyn Sink + Send>) {
        self.out.add_sink(sink);
    }

    /// See [`Tree::exclude`].
    pub fn exclude(&mut self, pid: Pid) {
        self.tree.exclude(pid);
    }

    /// See [`Tree::exclude_session`].
    pub fn exclude_session(&mut self, leader: Pid) {
        self.tree.exclude_session(leader);
    }

    /// See [`Tree::include`].
    pub fn include(&mut self, pid: Pid) {
        self.tree.include(pid);
    }

    /// Since the run began.
    pub fn elapsed_ns(&self) -> u64 {
        sys::monotonic_ns().saturating_sub(self.clock.started_ns)
    }

    /// When the measurement began, by the clock on the wall: what the job itself stamps with that clock is never
    /// before it.
    pub fn started_unix_ns(&self) -> u64 {
        sys::realtime_ns().saturating_sub(self.elapsed_ns())
    }

    /// Members of the tree now.
    pub fn process_count(&self) -> usize {
        self.tree.processes.len()
    }

    /// Whether the main process is in the tree.
    pub fn has_main(&self) -> bool {
        self.tree.main().is_some()
    }

    /// Of the main process.
    pub fn main_pid(&self) -> i32 {
        match self.target {
            Target::Child(pid) | Target::Attached(pid) => pid,
            Target::Own => std::process::id() as i32,
        }
    }

    /// Descendants that still live.
    pub fn living_descendants(&self) -> impl Iterator<Item = (i32, String)> {
        let living = self.tree.processes.iter().filter(|process| !process.is_main && !process.is_zombie());
        living.map(|process| (process.id.pid, process.stat.name_text()))
    }

    /// Who gets signals that are for the job: guests get theirs from their own client.
    pub(crate) fn own_processes(&self) -> impl Iterator<Item = &process::Process> {
        self.tree.processes.iter().filter(|process| !self.tree.groups.has_guest(process))
    }

    /// Doubt is data: a warning goes into the record and the summary.
    pub fn warn(&mut self, kind: impl Into<WarningKind>, text: String) {
        let event = Event::Warning { t_ns: self.elapsed_ns(), kind: kind.into(), text };
        self.emit(&event);
    }

    /// Hands an event to all sinks.
    pub fn emit(&mut self, event: &Event) {
        self.out.emit(event);
    }

    /// Of a time on the monotonic clock: since the run began.
    pub(crate) fn since_start_ns(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.clock.started_ns)
    }

    /// Lets go of descriptors, listeners and buffers; the figures can still be summed up.
    pub(crate) fn retire(&mut self) {
        self.tree.close_files();
        self.machine.columns.close_files();
        self.bounds.close_files();
        self.out.close();
        self.extras = Extras::default();
    }

    /// The thread of this meter is gone.
    pub(crate) fn leave_threads(&mut self) {
        if std::mem::take(&mut self.own.is_thread_born) {
            METERS_THREADS.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.leave_threads();
    }
}
