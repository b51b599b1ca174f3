//! The meter: one tick reads the tree and the machine, fills the row, and hands it to whoever listens.

use crate::accumulate::Accumulator;
use crate::cgroup::JobGroup;
use crate::event::{Event, MarkKind, ProcessId, Sink};
use crate::layout::Row;
use crate::ledger::{Account, Heir, Ledger};
use crate::memory::MemoryMeter;
use crate::metric::{Column, Metric, Scope};
use crate::peaks::Peaks;
use crate::perf::InheritedClocks;
use crate::perf_ring::Follower;
use crate::probe::stat::name_text;
use crate::process::Process;
use crate::summary::{EntityFigures, Source, Warning};
use crate::sys::{self, Reaped};
use crate::system_columns::SystemColumns;
use crate::tree::Tree;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// The machine is read at most this often: its counters move in 10 ms ticks. A shade below a tenth of a second, so
/// that ticks of that distance all read it.
const SYSTEM_PERIOD_NS: u64 = 90_000_000;

/// At the end a reading that is younger than this is as good as a new one: its files are read one after the
/// other, which itself takes a part of that time.
const FRESH_NS: u64 = 1_000_000;

/// CPU time that meters have spent inside the program they measure, and how many of their threads live.
/// Neither is the program's.
static METERS_CPU_NS: AtomicU64 = AtomicU64::new(0);
static METERS_THREADS: AtomicU64 = AtomicU64::new(0);

/// In a child after fork: the meters of the parent are not in this process. Only stores to atomics, so it may
/// be called between fork and exec.
pub fn forget_meters_of_parent() {
    METERS_CPU_NS.store(0, Ordering::Relaxed);
    METERS_THREADS.store(0, Ordering::Relaxed);
}

/// A further thread of ours inside the program, such as one that waits for a driver.
#[derive(Debug)]
pub struct OwnThread {
    accounted_ns: u64,
}

impl OwnThread {
    /// Called before the thread is made; it takes this along.
    pub fn enter() -> OwnThread {
        METERS_THREADS.fetch_add(1, Ordering::Relaxed);
        OwnThread { accounted_ns: 0 }
    }

    /// On the thread: what it has spent so far is not the program's.
    pub fn account(&mut self) {
        let spent_ns = sys::thread_cpu_ns();
        METERS_CPU_NS.fetch_add(spent_ns.saturating_sub(self.accounted_ns), Ordering::Relaxed);
        self.accounted_ns = spent_ns;
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        METERS_THREADS.fetch_sub(1, Ordering::Relaxed);
    }
}

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

/// A source outside the engine, such as the GPU monitor: it brings its own columns.
pub trait Extra: Send {
    /// Called every tick with the members of the job; never blocks.
    fn tick(&mut self, t_ns: u64, members: &[Member]);
    /// All columns so far; only ever grows.
    fn columns(&self) -> &[Column];
    /// The value of each column at this tick.
    fn values(&self) -> &[Option<u64>];
    /// Warnings that came up since the last call.
    fn take_warnings(&mut self) -> Vec<Warning>;
    /// At the end: what was used, and facts about the entities.
    fn finish(&mut self) -> (Vec<Source>, Vec<EntityFigures>);
}

/// A process of the job, as an [`Extra`] sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    pub id: ProcessId,
    pub is_main: bool,
}

/// How much a tick reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    Usual,
    /// Every counter of the job, so that two phases that meet here share it out exactly.
    Boundary,
    /// The machine besides.
    Last,
}

/// Processes of a scope at a tick.
#[derive(Debug, Clone, Copy)]
struct Heads {
    processes: u64,
    living: u64,
    threads: u64,
    /// `None` when some process was not asked yet.
    swap_bytes: Option<u64>,
}

impl Default for Heads {
    fn default() -> Heads {
        Heads { processes: 0, living: 0, threads: 0, swap_bytes: Some(0) }
    }
}

impl Heads {
    fn take(&mut self, process: &Process, has_swap: bool) {
        self.processes += 1;
        if !process.is_zombie() {
            self.living += 1;
            self.threads += process.stat.threads;
            let own = if has_swap { process.swap_bytes } else { Some(0) };
            self.swap_bytes = self.swap_bytes.zip(own).map(|(sum, own)| sum + own);
        }
    }

    /// Who has ended and only waits to be reaped shows nothing of what it held a moment before: unknown, not
    /// nought. Where nobody is, nothing is held.
    fn of_living(&self, value: u64) -> Option<u64> {
        (self.living > 0 || self.processes == 0).then_some(value)
    }
}

struct ExtraSlot {
    extra: Box<dyn Extra>,
    /// Row index of each of its columns.
    indices: Vec<usize>,
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
    pub(crate) main_own_io: Option<crate::probe::io::Io>,
    base: Account,
    base_main: Account,
    sinks: Vec<Box<dyn Sink + Send>>,
    extras: Vec<ExtraSlot>,
    defined: usize,
    system_at_ns: Option<u64>,
    own_io_at_ns: u64,
    departed: Vec<i32>,
    born: Vec<i32>,
    /// Members that left since the last tick, whose marks that tick cannot show.
    left_unfresh: u64,
    members: Vec<Member>,
    is_own_thread_counted: bool,
    /// The thread of this meter is one of `METERS_THREADS`; it is started after the first tick.
    is_own_thread_born: bool,
    /// Bytes of some process could not be read: none are reported rather than too few.
    pub(crate) io_denied: bool,
    /// CPU time of this meter's ticks, where they run inside the program they measure.
    pub(crate) own_spent_ns: u64,
}

impl Meter {
    /// Begins now. `None` when the process is not there.
    pub fn start(target: Target) -> Option<Meter> {
        let (pid, adopter) = match target {
            Target::Child(pid) => (pid, Some(std::process::id() as i32)),
            Target::Attached(pid) => (pid, None),
            Target::Own => (std::process::id() as i32, None),
        };
        let tree = Tree::new(pid, adopter)?;
        let mut row = Row::new();
        let system = SystemColumns::open(Path::new("/"), &mut row);
        let is_own_thread_counted = target == Target::Own;
        Some(Meter {
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
            system_at_ns: None,
            own_io_at_ns: 0,
            departed: Vec::new(),
            born: Vec::new(),
            left_unfresh: 0,
            members: Vec::new(),
            is_own_thread_counted,
            is_own_thread_born: false,
            io_denied: false,
            own_spent_ns: 0,
        })
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

    pub fn add_extra(&mut self, extra: Box<dyn Extra>) {
        self.extras.push(ExtraSlot { extra, indices: Vec::new() });
    }

    pub fn exclude(&mut self, pid: i32) {
        self.tree.exclude(pid);
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
        self.tick_at(sys::monotonic_ns(), Depth::Last);
    }

    fn tick_at(&mut self, now_ns: u64, depth: Depth) {
        let is_last = depth == Depth::Last;
        let began_cpu_ns = if self.is_own_thread_counted { sys::thread_cpu_ns() } else { 0 };
        // Before the threads are counted: one that ends meanwhile is still in that count.
        let meters_threads = METERS_THREADS.load(Ordering::Relaxed);
        let t_ns = now_ns.saturating_sub(self.started_ns);
        let is_first = self.system_at_ns.is_none();
        let slow_period_ns = if depth == Depth::Usual { self.slow_period_ns() } else { 0 };
        let follower = &mut self.follower;
        let mut breathe = || follower.iter_mut().for_each(|follower| follower.collect());
        self.tree.refresh(now_ns, slow_period_ns, &mut self.departed, &mut breathe);
        self.follow_events(false);
        self.left_unfresh += self.departed.len() as u64;
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
        self.read_main_io(now_ns, is_last);
        self.notice_unseen_children();
        let unmet = self.follower.as_mut().map_or(0, |follower| follower.take_unmet());
        self.peaks.take(&self.tree, now_ns, std::mem::take(&mut self.left_unfresh) + unmet);
        if is_first {
            self.take_base();
        }
        self.fill_accounts();
        self.fill_memory(t_ns, meters_threads);
        let system_period_ns = if is_last { FRESH_NS } else { SYSTEM_PERIOD_NS.max(self.interval_ns / 2) };
        if self.system_at_ns.is_none_or(|at_ns| now_ns >= at_ns + system_period_ns) {
            self.system_at_ns = Some(now_ns);
            self.system.read(&mut self.row, now_ns, is_last);
            self.fill_group_cpu();
        } else if depth != Depth::Usual {
            self.fill_group_cpu();
        }
        self.fill_extras(t_ns);
        self.publish(t_ns);
        let scale = self.tree.scale;
        for process in &mut self.tree.processes {
            process.waited_before_ns = process.waited_ns(scale);
        }
        if self.is_own_thread_counted {
            let spent_ns = sys::thread_cpu_ns().saturating_sub(began_cpu_ns);
            METERS_CPU_NS.fetch_add(spent_ns, Ordering::Relaxed);
            self.own_spent_ns += spent_ns;
            if is_first {
                METERS_THREADS.fetch_add(1, Ordering::Relaxed);
                self.is_own_thread_born = true;
            }
        }
    }

    /// How often stat, io and status of each process are read: often for few, seldom for thousands.
    fn slow_period_ns(&self) -> u64 {
        let count = self.tree.processes.len() as u64;
        let by_count_ns = if count <= 8 { 20_000_000 } else { (count * 1_000_000).max(250_000_000) };
        // A shade below the interval, so that a tick that comes a little early still counts as due.
        by_count_ns.max(self.interval_ns - self.interval_ns / 8).min(10_000_000_000)
    }

    fn note_departed(&mut self) {
        let now_ns = sys::monotonic_ns();
        for at in 0..self.departed.len() {
            self.depart(self.departed[at], now_ns);
        }
        self.departed.clear();
    }

    /// A member is gone and somebody else has reaped it; `now_ns` stands in for an end that nobody told.
    pub(crate) fn depart(&mut self, pid: i32, now_ns: u64) {
        let Some(gone) = self.tree.remove(pid) else { return };
        let orphans_come_to_us = matches!(self.target, Target::Child(_));
        let went_together = self.departed.contains(&gone.parent_pid);
        let heir = if orphans_come_to_us || went_together { Heir::Ancestor } else { Heir::Nobody };
        self.ledger.note_departure(&gone, &self.tree, heir);
        if gone.is_main {
            self.ledger.main_has_waited = gone.has_waited();
            self.ledger.main_final = self.ledger.main_of(&gone, &self.tree, self.main_own_io);
        }
        let end_ns = self.part_from(pid, now_ns).unwrap_or(now_ns);
        self.emit_end(self.since_start_ns(end_ns), &gone, None);
    }

    /// Of a time on the monotonic clock: since the run began.
    pub(crate) fn since_start_ns(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.started_ns)
    }

    /// A member that has ended and waits for its parent.
    pub(crate) fn emit_zombie_end(&mut self, pid: i32, end_ns: u64) {
        if let Some(gone) = self.tree.remove(pid) {
            self.emit_end(self.since_start_ns(end_ns), &gone, None);
            self.tree.put_back(gone);
        }
    }

    fn emit_end(&mut self, t_ns: u64, process: &Process, reaped: Option<&Reaped>) {
        if process.is_renamed && self.follower.is_none() {
            let name = name_text(&process.stat.name);
            self.emit(&Event::ProcessRename { t_ns, id: process.id, name });
        }
        let known_peak = process.peak_rss_bytes;
        let peak_rss_bytes = match reaped {
            Some(reaped) if !process.has_waited() => known_peak.max(reaped.usage.ru_maxrss as u64 * 1024),
            _ => known_peak,
        };
        let own_io = process.io.filter(|_| !process.has_waited());
        let event = Event::ProcessEnd {
            t_ns,
            id: process.id,
            cpu_ns: Some(process.cpu_ns),
            peak_rss_bytes: Some(peak_rss_bytes),
            read_storage_bytes: own_io.map(|io| io.read_storage_bytes),
            write_storage_bytes: own_io.map(|io| io.write_storage_bytes),
            wait_status: reaped.map(|reaped| reaped.status),
        };
        self.emit(&event);
    }

    fn note_born(&mut self, now_ns: u64, is_first: bool) {
        if is_first {
            let main = self.main_pid();
            self.born.insert(0, main);
        }
        // A storm of births is not read in depth at once: the slow period will come round.
        let read_at_once = self.born.len() <= 16;
        for at in 0..self.born.len() {
            let Some((process, buffer)) = self.tree.get_mut(self.born[at]) else { continue };
            if read_at_once && process.slow_at_ns != now_ns {
                process.read_slow(now_ns, buffer);
            }
            if is_first && self.target != Target::Child(process.id.pid) {
                process.peak_rss_before_bytes = process.peak_rss_bytes;
            }
            process.is_renamed = false;
            let (id, parent_pid, name) = (process.id, process.parent_pid, process.stat.name);
            let as_read = (now_ns, parent_pid, name);
            let (start_ns, parent_pid, name) = self.meet(id.pid, now_ns).unwrap_or(as_read);
            let t_ns = self.since_start_ns(start_ns);
            self.emit(&Event::ProcessStart { t_ns, id, parent_pid, name: name_text(&name) });
        }
        self.born.clear();
    }

    /// Between fork and exec a process carries its parent's name: what it became is told when it shows, unless
    /// events tell it.
    fn note_renamed(&mut self, t_ns: u64) {
        if self.follower.is_some() {
            return;
        }
        for at in 0..self.tree.processes.len() {
            let process = &mut self.tree.processes[at];
            if std::mem::take(&mut process.is_renamed) {
                let (id, name) = (process.id, name_text(&process.stat.name));
                self.emit(&Event::ProcessRename { t_ns, id, name });
            }
        }
    }

    /// The bytes of main alone: only needed once it has waited for children.
    fn read_main_io(&mut self, now_ns: u64, is_last: bool) {
        let main_pid = self.main_pid();
        let period_ns = self.slow_period_ns();
        if let Some((main, buffer)) = self.tree.get_mut(main_pid)
            && main.has_waited()
            && (is_last || now_ns >= self.own_io_at_ns + period_ns)
        {
            self.own_io_at_ns = now_ns;
            self.main_own_io = main.read_own_io(buffer).or(self.main_own_io);
        }
    }

    /// A parent that has waited for children which never showed in a tick.
    fn notice_unseen_children(&mut self) {
        let unseen =
            self.tree.processes.iter().any(|process| process.has_waited() && !process.has_had_children);
        self.peaks.has_unseen |= unseen;
    }

    /// Those that left after the last tick.
    pub(crate) fn note_unfresh(&mut self) {
        let unmet = self.follower.as_mut().map_or(0, |follower| follower.take_unmet());
        self.peaks.add_uncertain(std::mem::take(&mut self.left_unfresh) + unmet);
    }

    fn take_base(&mut self) {
        if !matches!(self.target, Target::Child(_)) {
            self.base = self.ledger.combined(&self.tree);
            self.base_main = self.ledger.main(&self.tree, self.main_own_io).unwrap_or_default();
            if self.target == Target::Own {
                let spent_ns = METERS_CPU_NS.load(Ordering::Relaxed);
                for base in [&mut self.base, &mut self.base_main] {
                    base.cpu_ns = base.cpu_ns.saturating_sub(spent_ns);
                    base.system_ns = base.system_ns.saturating_sub(spent_ns).min(base.cpu_ns);
                }
            }
        }
    }

    /// What the job has used since the run began: `(main, combined)`.
    pub(crate) fn accounts(&self) -> (Option<Account>, Account) {
        let mut combined = self.ledger.combined(&self.tree);
        let mut main = self.ledger.main(&self.tree, self.main_own_io);
        if self.target == Target::Own {
            let spent_ns = METERS_CPU_NS.load(Ordering::Relaxed);
            for account in [Some(&mut combined), main.as_mut()].into_iter().flatten() {
                // A meter spends its time in the kernel: what is taken off the whole comes off that part.
                account.cpu_ns = account.cpu_ns.saturating_sub(spent_ns);
                account.system_ns = account.system_ns.saturating_sub(spent_ns).min(account.cpu_ns);
            }
        }
        (main.map(|main| main.since(&self.base_main)), combined.since(&self.base))
    }

    fn fill_accounts(&mut self) {
        self.io_denied |= self.tree.main().is_some_and(|main| main.io_denied && main.io.is_none());
        let (main, combined) = self.accounts();
        let rest = main.map(|main| combined.since(&main));
        for (scope, account) in
            [(Scope::Main, main), (Scope::Descendants, rest), (Scope::Combined, Some(combined))]
        {
            for (metric, value) in account_values(account) {
                if !(self.io_denied && is_io(metric)) {
                    self.row.set_counter(scope, metric, value);
                }
            }
        }
    }

    fn fill_memory(&mut self, t_ns: u64, meters_threads: u64) {
        let resident = self.memory.read(&mut self.tree, t_ns);
        // Without any swap nobody needs to be asked.
        let has_swap = self.row.get(Scope::System, Metric::SwapTotalBytes) != Some(0);
        let mut heads = [Heads::default(); 3];
        for process in &self.tree.processes {
            for scope in [if process.is_main { 0 } else { 1 }, 2] {
                heads[scope].take(process, has_swap);
            }
        }
        if self.target == Target::Own {
            let meters = METERS_THREADS.load(Ordering::Relaxed).max(meters_threads);
            heads[0].threads = heads[0].threads.saturating_sub(meters);
            heads[2].threads = heads[2].threads.saturating_sub(meters);
        }
        for (index, scope) in Scope::JOB.into_iter().enumerate() {
            let (heads, memory) = (&heads[index], &resident[index]);
            self.row.set(scope, Metric::RssBytes, heads.of_living(memory.total_bytes));
            self.row.set(scope, Metric::RssPrivateBytes, heads.of_living(memory.private_bytes));
            self.row.set(scope, Metric::RssSharedBytes, heads.of_living(memory.shared_bytes));
            self.row.set(scope, Metric::RssSumBytes, heads.of_living(memory.sum_bytes));
            self.row.set(scope, Metric::SwapBytes, heads.swap_bytes.and_then(|bytes| heads.of_living(bytes)));
            self.row.set(scope, Metric::Processes, Some(heads.processes));
            self.row.set(scope, Metric::Threads, heads.of_living(heads.threads));
        }
    }

    /// The group misses nobody: where it shows more than the ledger, it is right.
    fn fill_group_cpu(&mut self) {
        if let Some(cpu) = self.group.as_ref().and_then(JobGroup::cpu) {
            let main_ns = self.row.get(Scope::Main, Metric::CpuNs).unwrap_or_default();
            self.row.set_counter(Scope::Combined, Metric::CpuNs, Some(cpu.total_ns));
            let rest_ns = cpu.total_ns.saturating_sub(main_ns);
            self.row.set_counter(Scope::Descendants, Metric::CpuNs, Some(rest_ns));
        }
    }

    fn fill_extras(&mut self, t_ns: u64) {
        if self.extras.is_empty() {
            return;
        }
        self.members.clear();
        self.members.extend(
            self.tree.processes.iter().map(|process| Member { id: process.id, is_main: process.is_main }),
        );
        let mut warnings = Vec::new();
        for slot in &mut self.extras {
            slot.extra.tick(t_ns, &self.members);
            for column in &slot.extra.columns()[slot.indices.len()..] {
                slot.indices.push(self.row.add(column.clone()));
            }
            for (index, value) in slot.indices.iter().zip(slot.extra.values()) {
                self.row.values[*index] = *value;
            }
            warnings.extend(slot.extra.take_warnings());
        }
        for warning in warnings {
            self.warn(&warning.kind, warning.text);
        }
    }

    pub(crate) fn finish_extras(&mut self) -> Vec<(Vec<Source>, Vec<EntityFigures>)> {
        self.extras.iter_mut().map(|slot| slot.extra.finish()).collect()
    }

    /// Lets go of descriptors, listeners and buffers; the figures can still be summed up.
    pub(crate) fn retire(&mut self) {
        self.tree.close_files();
        self.system.close_files();
        self.sinks = Vec::new();
        self.extras = Vec::new();
        self.leave_threads();
    }

    fn leave_threads(&mut self) {
        if std::mem::take(&mut self.is_own_thread_born) {
            METERS_THREADS.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn publish(&mut self, t_ns: u64) {
        for index in self.defined..self.row.columns.len() {
            self.sums.define(&self.row.columns[index]);
            for sink in &mut self.sinks {
                sink.define(&self.row.columns[index]);
            }
        }
        self.defined = self.row.columns.len();
        self.sums.tick(t_ns, &self.row.values);
        for sink in &mut self.sinks {
            sink.tick(t_ns, &self.row.values);
        }
    }

    /// A child of ours has ended and waits to be reaped: reads its last figures, reaps it, settles its account.
    pub fn reap(&mut self, pid: i32) -> Option<Reaped> {
        let now_ns = sys::monotonic_ns();
        self.follow_events(false);
        let mut own_io = None;
        if let Some((process, buffer)) = self.tree.get_mut(pid) {
            let scale = crate::process::Scale::of_this_machine();
            process.read_fast(scale, buffer);
            if !process.is_final {
                process.read_slow(now_ns, buffer);
            }
            if process.is_main && process.has_waited() {
                own_io = process.read_own_io(buffer);
            }
        }
        let reaped = sys::reap(pid)?;
        let gone = self.tree.remove(pid);
        let is_main = gone.as_ref().is_some_and(|process| process.is_main);
        if is_main {
            self.main_own_io = own_io.or(self.main_own_io);
        }
        self.ledger.settle_reaped(&reaped, gone.as_ref(), self.main_own_io);
        match &gone {
            Some(process) => {
                self.left_unfresh += u64::from(!process.is_main);
                let end_ns = self.part_from(pid, now_ns).unwrap_or(now_ns);
                self.emit_end(self.since_start_ns(end_ns), process, Some(&reaped));
            }
            // An orphan that lived and died between two ticks: only its account remains.
            None => {
                self.peaks.has_unseen = true;
                self.note_obituary(reaped, now_ns);
            }
        }
        Some(reaped)
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.leave_threads();
    }
}

pub(crate) fn is_io(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::ReadCharsBytes
            | Metric::WriteCharsBytes
            | Metric::ReadStorageBytes
            | Metric::WriteStorageBytes
    )
}

/// The counters of an account under their metrics.
pub(crate) fn account_values(account: Option<Account>) -> [(Metric, Option<u64>); 11] {
    let pick = |value: fn(&Account) -> u64| account.as_ref().map(value);
    [
        (Metric::CpuNs, pick(|account| account.cpu_ns)),
        (Metric::CpuUserNs, pick(Account::user_ns)),
        (Metric::CpuSystemNs, pick(|account| account.system_ns)),
        (Metric::ReadCharsBytes, pick(|account| account.io.read_chars_bytes)),
        (Metric::WriteCharsBytes, pick(|account| account.io.write_chars_bytes)),
        (Metric::ReadStorageBytes, pick(|account| account.io.read_storage_bytes)),
        (Metric::WriteStorageBytes, pick(|account| account.io.write_storage_bytes)),
        (Metric::FaultsMinor, pick(|account| account.faults_minor)),
        (Metric::FaultsMajor, pick(|account| account.faults_major)),
        (Metric::SwitchesVoluntary, pick(|account| account.switches_voluntary)),
        (Metric::SwitchesInvoluntary, pick(|account| account.switches_involuntary)),
    ]
}
