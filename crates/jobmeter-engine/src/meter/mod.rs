//! The meter: one tick reads the tree and the machine, fills the row, and hands it to whoever listens.

mod extra;
mod fill;
pub mod layout;
mod lives;
mod own;
pub mod process;
mod system_columns;
pub mod tree;

use crate::account::ledger::{Account, Ledger};
use crate::account::memory::MemoryMeter;
use crate::account::peaks::Peaks;
use crate::linux::cgroup::JobGroup;
use crate::linux::control::Pid;
use crate::linux::perf_clock::InheritedClocks;
use crate::linux::perf_ring::Follower;
use crate::linux::proc::io::Io;
use crate::linux::sys;
use crate::meter::layout::Row;
use crate::meter::system_columns::SystemColumns;
use crate::meter::tree::Tree;
use extra::ExtraSlot;
use jobmeter_model::accumulate::Accumulator;
use jobmeter_model::event::{Event, MarkKind, Sink};
use own::{METERS_CPU_NS, METERS_THREADS};
use std::path::Path;
use std::sync::atomic::Ordering;

pub use extra::{Extra, Member};
pub(crate) use fill::{account_values, is_io};
pub use own::{OwnThread, forget_meters_of_parent};

/// The machine is read at most this often: its counters move in 10 ms ticks. A shade below a tenth of a second, so
/// that ticks of that distance all read it.
const SYSTEM_PERIOD_NS: u64 = 90_000_000;

/// At the end a reading that is younger than this is as good as a new one: its files are read one after the
/// other, which itself takes a part of that time.
const FRESH_NS: u64 = 1_000_000;

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

/// How much a tick reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// The meter was made this moment.
    First,
    Usual,
    /// Every counter of the job, so that two phases that meet here share it out exactly.
    Boundary,
    /// The machine besides.
    Last,
}

pub struct Meter {
    pub(crate) target: Target,
    pub(crate) tree: Tree,
    pub(crate) ledger: Ledger,
    pub(crate) memory: MemoryMeter,
    pub(crate) peaks: Peaks,
    pub(crate) system: SystemColumns,
    pub(crate) row: Row,
    pub(crate) sums: Accumulator,
    pub(crate) group: Option<JobGroup>,
    pub(crate) clocks: InheritedClocks,
    /// Starts and ends by the kernel's own word, where they may be had.
    pub(crate) follower: Option<Box<Follower>>,
    pub(crate) events_refusal: Option<String>,
    pub(crate) started_ns: u64,
    pub(crate) interval_ns: u64,
    pub late_ticks: u64,
    pub skipped_ticks: u64,
    pub(crate) main_own_io: Option<Io>,
    base: Account,
    base_main: Account,
    sinks: Vec<Box<dyn Sink + Send>>,
    extras: Vec<ExtraSlot>,
    defined: usize,
    /// The first reading of the job, which everything is counted from, is there.
    is_begun: bool,
    /// When the first tick began of which only the job's part is read so far.
    half_tick_ns: Option<u64>,
    system_at_ns: Option<u64>,
    own_io_at_ns: u64,
    /// Faults of the children that main had waited for, and its whole account, when `main_own_io` was taken.
    own_io_basis: (u64, Option<Io>),
    /// When the marks of all processes were last read in one tick.
    full_at_ns: u64,
    departed: Vec<i32>,
    born: Vec<i32>,
    /// Members that left since the last full tick, and no event tells when.
    left_untold: u64,
    members: Vec<Member>,
    is_own_thread_counted: bool,
    /// The thread of this meter is one of `METERS_THREADS`; it is started after the first tick.
    is_own_thread_born: bool,
    /// Bytes of some process could not be read: none are reported rather than too few.
    pub(crate) io_denied: bool,
    /// Descriptors ran out: processes may have been missed.
    pub(crate) is_partial: bool,
    /// CPU time of this meter's ticks, where they run inside the program they measure.
    pub(crate) own_spent_ns: u64,
    /// Our child could not be read when it started; it is tried again until it can.
    pub(crate) is_main_missing: bool,
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
        Some(Meter::with_tree(target, tree))
    }

    /// A meter on a child of ours, which is there until we reap it. Where it cannot be read now, the text says so, and
    /// it is tried again at each tick.
    pub fn start_child(pid: i32) -> (Meter, Option<String>) {
        let mut tree = Tree::new(Some(std::process::id() as i32));
        let is_read = tree.open_main(pid).is_some();
        let mut meter = Meter::with_tree(Target::Child(pid), tree);
        meter.is_main_missing = !is_read;
        let trouble = meter.is_main_missing.then(|| {
            let reason = sys::read_proc(pid, "stat", &mut [0; 1024])
                .err()
                .map_or_else(|| "its stat has an unknown format".to_owned(), |error| error.to_string());
            format!("cannot read /proc/{pid}: {reason}; of the job only what wait tells at its end is known")
        });
        (meter, trouble)
    }

    fn with_tree(target: Target, tree: Tree) -> Meter {
        let row = Row::new();
        let system = SystemColumns::open(Path::new("/"));
        let is_own_thread_counted = target == Target::Own;
        Meter {
            target,
            tree,
            ledger: Ledger::default(),
            memory: MemoryMeter::default(),
            peaks: Peaks::default(),
            system,
            row,
            sums: Accumulator::default(),
            group: None,
            clocks: InheritedClocks::default(),
            follower: None,
            events_refusal: None,
            started_ns: sys::monotonic_ns(),
            interval_ns: 1_000_000_000,
            late_ticks: 0,
            skipped_ticks: 0,
            main_own_io: None,
            base: Account::default(),
            base_main: Account::default(),
            sinks: Vec::new(),
            extras: Vec::new(),
            defined: 0,
            is_begun: false,
            half_tick_ns: None,
            system_at_ns: None,
            own_io_at_ns: 0,
            own_io_basis: (0, None),
            full_at_ns: 0,
            departed: Vec::new(),
            born: Vec::new(),
            left_untold: 0,
            members: Vec::new(),
            is_own_thread_counted,
            is_own_thread_born: false,
            io_denied: false,
            is_partial: false,
            own_spent_ns: 0,
            is_main_missing: false,
        }
    }

    /// The meter is part of a program that is not ours: it takes only a share of its free descriptors, and never
    /// raises their limit.
    pub(crate) fn be_guest(&mut self) {
        self.tree.be_guest();
    }

    /// The run began earlier than the meter: when the child was forked.
    pub fn set_started_ns(&mut self, started_ns: u64) {
        self.started_ns = started_ns;
    }

    pub fn set_group(&mut self, group: Option<JobGroup>) {
        self.group = group;
    }

    /// Where no group could be made: counts from now on what parents that ignore their children throw away.
    pub fn open_inherited_clocks(&mut self) {
        let used_ns = self.ledger.combined(&self.tree).cpu_ns;
        let pids = self.tree.processes.iter().map(|process| process.id.pid);
        self.clocks = InheritedClocks::open(used_ns, pids);
    }

    pub fn set_interval_ns(&mut self, interval_ns: u64) {
        self.interval_ns = interval_ns;
    }

    /// A listener that gets every column, event and tick from now on.
    pub fn add_sink(&mut self, mut sink: Box<dyn Sink + Send>) {
        self.row.define_into(sink.as_mut(), 0);
        for column in self.row.columns.iter().skip(self.defined) {
            self.sums.define(column);
            for other in &mut self.sinks {
                other.define(column);
            }
        }
        self.defined = self.row.columns.len();
        self.sinks.push(sink);
    }

    /// See [`Tree::exclude`].
    pub fn exclude(&mut self, pid: Pid) {
        self.tree.exclude(pid);
    }

    /// See [`Tree::include`].
    pub fn include(&mut self, pid: Pid) {
        self.tree.include(pid);
    }

    pub fn elapsed_ns(&self) -> u64 {
        sys::monotonic_ns().saturating_sub(self.started_ns)
    }

    pub fn process_count(&self) -> usize {
        self.tree.processes.len()
    }

    pub fn has_main(&self) -> bool {
        self.tree.main().is_some()
    }

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

    /// Doubt is data: a warning goes into the record and the summary.
    pub fn warn(&mut self, kind: &str, text: String) {
        let event = Event::Warning { t_ns: self.elapsed_ns(), kind: kind.to_owned(), text };
        self.emit(&event);
    }

    pub fn emit(&mut self, event: &Event) {
        self.sums.event(event);
        for sink in &mut self.sinks {
            sink.event(event);
        }
    }

    /// A mark by the job; a tick is taken with it, so that the counters at the boundary are known.
    pub fn mark(&mut self, name: &str, kind: MarkKind, pid: i32, tid: i32) {
        let now_ns = sys::monotonic_ns();
        let t_ns = now_ns.saturating_sub(self.started_ns);
        self.emit(&Event::Mark { t_ns, name: name.to_owned(), kind, pid, tid });
        self.tick_at(now_ns, Depth::Boundary);
    }

    /// One tick, now.
    pub fn tick(&mut self) {
        self.tick_at(sys::monotonic_ns(), Depth::Usual);
    }

    /// The last tick: everything is read once more, the machine included.
    pub fn last_tick(&mut self) {
        self.last_tick_with(|| {});
    }

    /// The last tick, with something to do between the reading of the job and that of the machine.
    pub(crate) fn last_tick_with(&mut self, meanwhile: impl FnOnce()) {
        if let Some(first_ns) = self.half_tick_ns.take() {
            // The run is over before the machine was looked at, whose counters move in steps of 10 ms.
            self.publish(self.since_start_ns(first_ns));
        }
        if !self.find_missing_main() {
            return;
        }
        let now_ns = sys::monotonic_ns();
        self.accounted(|meter| {
            meter.read_job(now_ns, Depth::Last);
            meanwhile();
            meter.read_machine_and_publish(now_ns, Depth::Last);
        });
    }

    /// The first tick, right after the meter was made, and of it only what cannot wait: the job's counters.
    /// [`Meter::complete_first_tick`] does the rest, on another thread if it likes; any further tick sees to it too.
    pub(crate) fn begin(&mut self) {
        let now_ns = sys::monotonic_ns();
        self.accounted(|meter| meter.read_job(now_ns, Depth::First));
        self.half_tick_ns = Some(now_ns);
        if self.is_own_thread_counted {
            METERS_THREADS.fetch_add(1, Ordering::Relaxed);
            self.is_own_thread_born = true;
        }
    }

    pub(crate) fn complete_first_tick(&mut self) {
        if let Some(now_ns) = self.half_tick_ns.take() {
            self.accounted(|meter| meter.read_machine_and_publish(now_ns, Depth::Usual));
        }
    }

    fn tick_at(&mut self, now_ns: u64, depth: Depth) {
        if !self.find_missing_main() {
            return;
        }
        self.complete_first_tick();
        self.accounted(|meter| {
            meter.read_job(now_ns, depth);
            meter.read_machine_and_publish(now_ns, depth);
        });
    }

    /// Whether the main process is in the tree, or was. Without it a row would show a job of no process.
    fn find_missing_main(&mut self) -> bool {
        if self.is_main_missing {
            self.is_main_missing = self.tree.open_main(self.main_pid()).is_none();
        }
        !self.is_main_missing
    }

    /// Inside the program that is measured, the time of this work is not the program's.
    fn accounted(&mut self, work: impl FnOnce(&mut Meter)) {
        if !self.is_own_thread_counted {
            return work(self);
        }
        let began_cpu_ns = sys::thread_cpu_ns();
        let _turn = own::turn();
        work(self);
        let spent_ns = sys::thread_cpu_ns().saturating_sub(began_cpu_ns);
        METERS_CPU_NS.fetch_add(spent_ns, Ordering::Relaxed);
        self.own_spent_ns += spent_ns;
    }

    fn read_job(&mut self, now_ns: u64, depth: Depth) {
        // Before the threads are counted: one that ends meanwhile is still in that count.
        let meters_threads = METERS_THREADS.load(Ordering::Relaxed);
        if self.target == Target::Own {
            self.tree.meters_threads = meters_threads;
        }
        let t_ns = self.since_start_ns(now_ns);
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        let is_full = depth != Depth::Usual || now_ns >= self.full_at_ns + self.slow_period_ns();
        if is_full {
            self.full_at_ns = now_ns;
        }
        let follower = &mut self.follower;
        let mut breathe = || follower.iter_mut().for_each(|follower| follower.collect());
        match depth {
            Depth::First => self.tree.complete(now_ns),
            _ => self.tree.refresh(now_ns, is_full, &mut self.departed, &mut breathe),
        }
        self.follow_events(false);
        self.note_departed();
        let follower = &mut self.follower;
        let mut breathe = || follower.iter_mut().for_each(|follower| follower.collect());
        self.tree.discover(now_ns, self.interval_ns, &mut self.born, &mut breathe);
        // Once more: whoever was born since must be known before it is told of.
        self.follow_events(false);
        self.note_born(now_ns, is_first);
        self.note_renamed(t_ns);
        self.check_ended();
        self.sweep_lost(now_ns);
        self.ledger.check_expectations(&self.tree);
        self.read_main_io(now_ns, depth == Depth::Last);
        self.notice_unseen_children();
        if is_full {
            let others = self.take_unshown(now_ns);
            self.peaks.take(&self.tree, now_ns, others);
        }
        self.peaks.take_levels(&self.tree);
        if is_first {
            self.take_base();
        }
        self.fill_accounts();
        self.fill_memory(t_ns, meters_threads);
        if self.tree.ran_out_of_descriptors() && !std::mem::replace(&mut self.is_partial, true) {
            self.warn("descriptors", OUT_OF_DESCRIPTORS.to_owned());
        }
        let scale = self.tree.scale;
        for process in &mut self.tree.processes {
            process.waited_before_ns = process.waited_ns(scale);
        }
    }

    fn read_machine_and_publish(&mut self, now_ns: u64, depth: Depth) {
        let is_last = depth == Depth::Last;
        let period_ns = if is_last { FRESH_NS } else { SYSTEM_PERIOD_NS.max(self.interval_ns / 2) };
        if self.system_at_ns.is_none_or(|at_ns| now_ns >= at_ns + period_ns) {
            self.system_at_ns = Some(now_ns);
            self.system.read(&mut self.row, now_ns, is_last);
            // At the end the group is asked when the account is settled.
            if !is_last {
                self.fill_group_cpu();
            }
        } else if depth == Depth::Boundary {
            self.fill_group_cpu();
        }
        let t_ns = self.since_start_ns(now_ns);
        self.fill_extras(t_ns);
        self.publish(t_ns);
    }

    /// How often stat, io and status of all processes are read: often for few, seldom for thousands.
    fn slow_period_ns(&self) -> u64 {
        let count = self.tree.processes.len() as u64;
        let by_count_ns = if count <= 8 { 20_000_000 } else { (count * 1_000_000).max(250_000_000) };
        // A shade below the interval, so that a tick that comes a little early still counts as due.
        by_count_ns.max(self.interval_ns - self.interval_ns / 8).min(10_000_000_000)
    }

    /// Of a time on the monotonic clock: since the run began.
    pub(crate) fn since_start_ns(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.started_ns)
    }

    /// The bytes of main alone: only needed once it has waited for children. As long as it waits for no more of them,
    /// they grow as its whole account does; else its threads are asked, which is dear.
    fn read_main_io(&mut self, now_ns: u64, is_last: bool) {
        let main_pid = self.main_pid();
        let period_ns = self.slow_period_ns();
        if let Some((main, buffer)) = self.tree.get_mut(main_pid)
            && main.has_waited()
            && (is_last || now_ns >= self.own_io_at_ns + period_ns)
        {
            self.own_io_at_ns = now_ns;
            let (waited, whole) = (main.stat.children_faults_minor, main.io);
            let (waited_before, whole_before) = std::mem::replace(&mut self.own_io_basis, (waited, whole));
            let grown = match (self.main_own_io, whole_before, whole) {
                (Some(own), Some(before), Some(whole)) if waited == waited_before => {
                    Some(own.grown(before, whole))
                }
                _ => main.read_own_io(buffer),
            };
            self.main_own_io = grown.or(self.main_own_io);
        }
    }

    /// Lets go of descriptors, listeners and buffers; the figures can still be summed up.
    pub(crate) fn retire(&mut self) {
        self.tree.close_files();
        self.system.close_files();
        self.sinks = Vec::new();
        self.extras = Vec::new();
    }

    /// The thread of this meter is gone.
    pub(crate) fn leave_threads(&mut self) {
        if std::mem::take(&mut self.is_own_thread_born) {
            METERS_THREADS.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Tells the listeners of columns that are new since the last call.
    pub(crate) fn define_columns(&mut self) {
        for index in self.defined..self.row.columns.len() {
            self.sums.define(&self.row.columns[index]);
            for sink in &mut self.sinks {
                sink.define(&self.row.columns[index]);
            }
        }
        self.defined = self.row.columns.len();
    }

    fn publish(&mut self, t_ns: u64) {
        self.define_columns();
        self.sums.tick(t_ns, &self.row.values);
        for sink in &mut self.sinks {
            sink.tick(t_ns, &self.row.values);
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.leave_threads();
    }
}
