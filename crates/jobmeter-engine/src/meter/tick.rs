//! One tick: the job is read and accounted, then the machine, then the row goes to the listeners.

use super::own::{self, METERS_CPU_NS, METERS_THREADS};
use super::{Meter, OUT_OF_DESCRIPTORS, Target};
use crate::linux::sys;
use crate::run::cadence::{Found, Turn};
use jobmeter_model::WarningKind;
use jobmeter_model::event::{Event, MarkKind, ProcessId};
use jobmeter_model::metric::{Metric, Scope};
use std::sync::atomic::Ordering;

/// The machine is read at most this often: its files cost more than the job's, and its counters move in ticks of 10 ms.
const SYSTEM_PERIOD_NS: u64 = 240_000_000;
/// For a program that asks for readings: its rows of a tenth of a second are all to hold the machine.
const SYSTEM_PERIOD_OFTEN_NS: u64 = 90_000_000;

pub(super) fn machine_period_ns(often: bool) -> u64 {
    if often { SYSTEM_PERIOD_OFTEN_NS } else { SYSTEM_PERIOD_NS }
}

/// At the end a reading that is younger than this is as good as a new one: its files are read one after the
/// other, which itself takes a part of that time.
const FRESH_NS: u64 = 1_000_000;

/// Time that a parent shows of its children may be short of what they had by this many clock ticks.
const TICKS_OF_ROUNDING: u64 = 3;

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

impl Meter {
    /// A mark by the job; a tick is taken with it, so that the counters at the boundary are known.
    pub fn mark(&mut self, name: &str, kind: MarkKind, pid: i32, tid: i32) {
        let now_ns = sys::monotonic_ns();
        let t_ns = now_ns.saturating_sub(self.clock.started_ns);
        self.emit(&Event::Mark { t_ns, name: name.to_owned(), kind, pid, tid });
        self.tick_at(now_ns, Depth::Boundary);
    }

    /// A row, or a look between rows.
    pub(crate) fn take_turn(&mut self, turn: Turn) -> Found {
        let rollups_before_ns = self.memory.took_ns();
        match turn {
            Turn::Row => self.tick_at(sys::monotonic_ns(), Depth::Usual),
            Turn::Look => self.look(true),
            Turn::Glance => self.look(false),
        }
        let rollups_ns = self.memory.took_ns() - rollups_before_ns;
        let is_all_there_is = self.doubts.may_discard && !self.bounds.has_exit_records();
        Found { is_changing: self.levels.take_change(), is_all_there_is, rollups_ns }
    }

    /// Reads the job; its row is published only if its memory is a new maximum and rows may lie anywhere.
    fn look(&mut self, may_publish: bool) {
        if self.clock.half_tick_ns.is_some() || !self.find_missing_main() {
            return self.tick_at(sys::monotonic_ns(), Depth::Usual);
        }
        let now_ns = sys::monotonic_ns();
        if self.is_idle(now_ns) {
            return self.levels.stay();
        }
        self.accounted(|meter| {
            meter.read_job(now_ns, Depth::Usual);
            if may_publish && meter.levels.is_new_maximum() {
                meter.out.row.clear_machine();
                meter.fill_extras(meter.since_start_ns(now_ns));
                meter.publish_row(now_ns);
            }
        });
    }

    /// One tick, now.
    pub fn tick(&mut self) {
        self.tick_at(sys::monotonic_ns(), Depth::Usual);
    }

    /// One tick that reads every counter of the job.
    pub(crate) fn tick_whole(&mut self, now_ns: u64) {
        self.tick_at(now_ns, Depth::Boundary);
    }

    /// Reads every counter of the job, without a row.
    pub(crate) fn read_whole_job(&mut self) {
        let now_ns = sys::monotonic_ns();
        self.accounted(|meter| meter.read_job(now_ns, Depth::Boundary));
    }

    /// The last tick: everything is read once more, the machine included.
    pub fn last_tick(&mut self) {
        self.last_tick_with(|| {});
    }

    /// The last tick, with something to do between the reading of the job and that of the machine.
    pub(crate) fn last_tick_with(&mut self, meanwhile: impl FnOnce()) {
        if let Some(first_ns) = self.clock.half_tick_ns.take() {
            // The run is over before the machine was looked at, whose counters move in steps of 10 ms.
            self.out.publish(self.since_start_ns(first_ns));
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
        self.bounds.begin_pages();
        let now_ns = sys::monotonic_ns();
        self.accounted(|meter| meter.read_job(now_ns, Depth::First));
        self.clock.half_tick_ns = Some(now_ns);
        if self.own.is_counted {
            METERS_THREADS.fetch_add(1, Ordering::Relaxed);
            self.own.is_thread_born = true;
        }
    }

    pub(crate) fn complete_first_tick(&mut self) {
        if let Some(now_ns) = self.clock.half_tick_ns.take() {
            self.accounted(|meter| meter.read_machine_and_publish(now_ns, Depth::Usual));
        }
    }

    fn tick_at(&mut self, now_ns: u64, depth: Depth) {
        if !self.find_missing_main() {
            return;
        }
        self.complete_first_tick();
        self.accounted(|meter| {
            match depth == Depth::Usual && meter.is_idle(now_ns) {
                true => meter.levels.stay(),
                false => meter.read_job(now_ns, depth),
            }
            if depth == Depth::Boundary {
                meter.note_running(meter.since_start_ns(now_ns));
            }
            meter.read_machine_and_publish(now_ns, depth);
        });
    }

    /// Whether the main process is in the tree, or was. Without it a row would show a job of no process.
    fn find_missing_main(&mut self) -> bool {
        if self.doubts.is_main_missing {
            self.doubts.is_main_missing = self.tree.open_main(self.main_pid()).is_none();
        }
        !self.doubts.is_main_missing
    }

    /// Inside the program that is measured, the time of this work is not the program's.
    fn accounted(&mut self, work: impl FnOnce(&mut Meter)) {
        if !self.own.is_counted {
            return work(self);
        }
        self.own.accounted_to_ns = sys::thread_cpu_ns();
        let _turn = own::turn();
        work(self);
        self.account_own_time();
    }

    /// What this thread has spent up to now is the meter's.
    fn account_own_time(&mut self) {
        let now_ns = sys::thread_cpu_ns();
        let spent_ns = now_ns.saturating_sub(std::mem::replace(&mut self.own.accounted_to_ns, now_ns));
        METERS_CPU_NS.fetch_add(spent_ns, Ordering::Relaxed);
        self.own.spent_ns += spent_ns;
    }

    /// Reads the program's clock and our own at the same moment: what a tick has spent before it read the clock of the
    /// program is in that clock, and differs between the first tick and the others.
    fn part_from_program(&mut self) {
        if self.own.is_counted
            && let Some(cpu_ns) = sys::this_process_cpu_ns()
            && let Some(main) = self.tree.main_mut()
        {
            main.cpu_ns = main.cpu_ns.max(cpu_ns);
            self.account_own_time();
        }
    }

    fn read_job(&mut self, now_ns: u64, depth: Depth) {
        // Before the threads are counted: one that ends meanwhile is still in that count.
        let meters_threads = METERS_THREADS.load(Ordering::Relaxed);
        if self.target == Target::Own {
            self.tree.meters_threads = meters_threads;
        }
        let t_ns = self.since_start_ns(now_ns);
        let is_first = !std::mem::replace(&mut self.clock.is_begun, true);
        let is_full = depth != Depth::Usual || now_ns >= self.clock.full_at_ns + self.slow_period_ns();
        if is_full {
            self.clock.full_at_ns = now_ns;
            self.begin_full_tick();
        }
        let is_still = depth == Depth::Usual && self.is_group_still(now_ns);
        let follower = &mut self.witnesses.follower;
        let mut breathe = || follower.iter_mut().for_each(|follower| follower.collect());
        match depth {
            Depth::First => self.tree.complete(now_ns),
            _ => self.tree.refresh(now_ns, is_full, is_still, &mut self.changes.departed, &mut breathe),
        }
        self.check_stillness(now_ns);
        self.witnesses.exits.collect(now_ns);
        self.follow_events(false);
        self.note_departed();
        self.notice_clients();
        if !matches!(self.target, Target::Child(_)) {
            self.look_for_containers_if_due();
        }
        let follower = &mut self.witnesses.follower;
        let mut breathe = || follower.iter_mut().for_each(|follower| follower.collect());
        self.tree.discover(now_ns, self.clock.interval_ns, &mut self.changes.born, &mut breathe);
        // Scan again: a process that started meanwhile must be in the tree before an event names it.
        self.follow_events(false);
        if !is_first {
            self.bound_inherited();
        }
        self.note_born(now_ns, is_first);
        self.note_renamed(t_ns);
        self.check_ended();
        self.sweep_lost(now_ns);
        let (tree, scale) = (&self.tree, self.tree.scale);
        let waited_of = |id: ProcessId| {
            let parent = tree.get(id.pid).filter(|parent| parent.id == id);
            parent.map(|parent| parent.waited(scale))
        };
        self.counters.ledger.check_expectations(waited_of, TICKS_OF_ROUNDING * scale.tick_ns);
        self.read_main_io(now_ns, depth == Depth::Last);
        self.notice_unseen_children();
        if is_full {
            if depth != Depth::First {
                self.read_again_if_held_up(now_ns);
            }
            self.bound_memory(now_ns, is_first);
        } else {
            self.bounds.has_run |= self.tree.has_changed();
        }
        self.bounds.take_levels(&self.tree.processes);
        self.part_from_program();
        if is_first {
            self.take_base();
        }
        self.read_contained(now_ns);
        self.fill_accounts(t_ns);
        self.fill_memory(t_ns, meters_threads);
        if self.tree.ran_out_of_descriptors() && !std::mem::replace(&mut self.doubts.is_partial, true) {
            self.warn(WarningKind::Descriptors, OUT_OF_DESCRIPTORS.to_owned());
        }
        let scale = self.tree.scale;
        for process in &mut self.tree.processes {
            process.remember_waited(scale);
        }
        self.note_idleness(now_ns);
    }

    fn read_machine_and_publish(&mut self, now_ns: u64, depth: Depth) {
        let is_last = depth == Depth::Last;
        let period_ns =
            if is_last { FRESH_NS } else { self.machine.period_ns.max(self.clock.interval_ns / 2) };
        if self.machine.read_at_ns.is_none_or(|at_ns| now_ns >= at_ns + period_ns) {
            let is_first = self.machine.read_at_ns.replace(now_ns).is_none();
            if self.is_node_recorder(now_ns) || is_first || is_last {
                self.machine.columns.read(&mut self.out.row, now_ns, is_last);
                self.machine.swap_total_bytes = self.out.row.get(Scope::System, Metric::SwapTotalBytes);
                self.machine.forks = self.out.row.get(Scope::System, Metric::Forks);
                self.machine.stolen_ns = self.out.row.get(Scope::System, Metric::CpuStealNs);
                self.mask_machine(now_ns);
            } else {
                self.out.row.clear_machine();
                self.machine.columns.read_memory();
            }
            self.note_shared_memory();
            // At the end the group is asked when the account is settled.
            if !is_last {
                self.fill_group_cpu();
            }
        } else {
            self.out.row.clear_machine();
            if depth == Depth::Boundary {
                self.fill_group_cpu();
            }
        }
        self.fill_extras(self.since_start_ns(now_ns));
        self.publish_row(now_ns);
    }

    fn publish_row(&mut self, now_ns: u64) {
        self.levels.note_published();
        if let Some(cpu_ns) = self.out.row.get(Scope::Combined, Metric::CpuNs) {
            self.busy_cores.take(self.since_start_ns(now_ns), cpu_ns);
        }
        self.out.publish(self.since_start_ns(now_ns));
    }

    /// How often stat, io and status of all processes are read: often for few, seldom for thousands.
    fn slow_period_ns(&self) -> u64 {
        let count = self.tree.processes.len() as u64;
        // A shade below the distance of looks, so that a tick that comes a little early still counts as due.
        if count <= 8 { 18_000_000 } else { (count * 2_500_000).min(10_000_000_000) }
    }

    /// The bytes of main alone: only needed once it has waited for children. As long as it waits for no more of them,
    /// they grow as its whole account does; otherwise each of its threads is read, which is expensive.
    fn read_main_io(&mut self, now_ns: u64, is_last: bool) {
        let main_pid = self.main_pid();
        let period_ns = self.slow_period_ns();
        if let Some((main, buffer)) = self.tree.get_mut(main_pid)
            && main.has_waited()
            && (is_last || now_ns >= self.counters.main_io.read_at_ns + period_ns)
        {
            self.counters.main_io.read_at_ns = now_ns;
            // An older reading of the whole would let own bytes, which are read now, grow twice.
            let whole = main.io.filter(|_| main.slow_at_ns == now_ns);
            let waited = main.stat.children_faults_minor;
            let (waited_before, whole_before) =
                std::mem::replace(&mut self.counters.main_io.basis, (waited, whole));
            let grown = match (self.counters.main_io.own, whole_before, whole) {
                (Some(own), Some(before), Some(whole)) if waited == waited_before => {
                    Some(own.grown(before, whole))
                }
                _ => main.read_own_io(buffer),
            };
            self.counters.main_io.own = grown.or(self.counters.main_io.own);
        }
    }
}
