//! Collects what bounds the memory peak from above: marks and faults of the living at full ticks, and of those that
//! ended in between.

mod departed;
mod growth;
mod history;
mod huge;
mod interval;
pub(crate) mod parents;
mod unread;
mod while_read;

use super::Meter;
use crate::account::parts::Huge;
use crate::account::peaks::Peaks;
use crate::account::windows::CountedAt;
use crate::linux::control::Reaped;
use crate::linux::proc::vmstat::{Pages, VmStat};
use crate::linux::sys;
use crate::linux::taskstats::{ExitRecord, ExitRecords};
use crate::meter::Target;
use crate::meter::process::Process;
use departed::{Departed, DepartedList};
use history::History;
use huge::{HugeLeft, Proof};
use parents::CopyLife;
use std::collections::HashMap;

const HUGE_PAGE_BYTES: u64 = 2 << 20;

/// The kernel counts mapped pages per CPU: its sum may be too low by as much.
const MAPPED_LAG_BYTES: u64 = 1 << 20;

/// An exit record that no process of the job claims is dropped after so many full ticks.
const MAX_RECORD_AGE: u32 = 2;

/// An exit record is made early in the exit: so many page faults may come after it.
pub(crate) const FAULTS_AFTER_RECORD: u64 = 2;

/// What the kernel recorded of a process when it ended: all its threads together.
#[derive(Debug, Clone, Copy)]
struct ExitMark {
    record: ExitRecord,
    /// By `wait`: with those in it that it has waited for itself.
    is_reaped: bool,
    age: u32,
}

/// What the machine did with its pages since the last full tick.
#[derive(Debug, Clone, Copy)]
struct MachinePages {
    huge: Huge,
    /// Mapped of files with huge pages since the run began.
    huge_file_bytes: Option<u64>,
    /// The most that it had mapped of files at either end of this time.
    mapped_bytes: Option<u64>,
    /// Page faults since boot, and huge pages of anonymous memory and of files.
    faults: Option<u64>,
    huge_anon: Option<u64>,
    huge_file: Option<u64>,
}

impl MachinePages {
    /// Not read, or the kernel does not tell.
    const UNKNOWN: MachinePages = MachinePages {
        huge: Huge::UNKNOWN,
        huge_file_bytes: None,
        mapped_bytes: None,
        faults: None,
        huge_anon: None,
        huge_file: None,
    };
}

/// What bounds memory. Its many fields are one state: what a full tick takes up from the time since the last one, and forgets, beside what
/// the whole run keeps.
#[derive(Default)]
pub(crate) struct Bounds {
    pub combined: Peaks,
    pub descendants: Peaks,
    /// Largest single marks of this run, of main and of any descendant.
    pub main_bytes: u64,
    pub descendant_bytes: u64,
    /// The most that main held, where its end is known.
    pub main_at_most_bytes: Option<u64>,
    /// Largest sum of file-backed memory, which a memory group may charge to others.
    pub file_bytes: u64,
    /// Children came and went unseen between two ticks.
    pub has_unseen: bool,
    /// Some member has run since the last full tick.
    pub has_run: bool,
    departed: DepartedList,
    /// Processes that the present full tick found without memory, and of which it was known before it was over that they had ended.
    ended_hidden: Vec<i32>,
    /// Parents of copies that no tick has seen and that ended since the last full tick, and until when they count.
    unseen_parents: HashMap<i32, u64>,
    exit_records: Option<ExitRecords>,
    exit_marks: HashMap<i32, ExitMark>,
    /// The last full tick at which anybody had done anything.
    bounded_at_ns: u64,
    /// Before the present full tick read the first process; `None` after the last one.
    reading_since_ns: Option<u64>,
    /// Page faults of all that had ended by the last full tick.
    ended_faults: u64,
    vmstat: VmStat,
    pages_at_start: Option<Pages>,
    pages_at_tick: Option<Pages>,
    /// Huge pages that the machine gave out between the last two readings at full ticks.
    huge_before_bytes: u64,
    history: History,
    /// In the order in which they were found.
    huge_proofs: Vec<Proof>,
    /// At the present full tick.
    huge_left: Option<HugeLeft>,
}

impl Bounds {
    /// High-water marks of processes as they end, for root.
    pub(crate) fn open_exit_records(&mut self) {
        self.exit_records = ExitRecords::open().ok();
    }

    pub(crate) fn has_exit_records(&self) -> bool {
        self.exit_records.is_some()
    }

    pub(crate) fn close_files(&mut self) {
        self.exit_records = None;
        self.vmstat = VmStat::default();
    }

    /// The last tick is over: what processes that live on grow by is no longer the run's.
    pub(super) fn end_reading(&mut self) {
        self.reading_since_ns = None;
    }

    fn collect_exit_records(&mut self) {
        let marks = &mut self.exit_marks;
        let Some(records) = &mut self.exit_records else { return };
        records.drain(|record| {
            let none = ExitRecord {
                peak_rss_bytes: 0,
                faults: 0,
                cpu_ns: 0,
                wait_status: None,
                name: None,
                ..record
            };
            let mark = marks.entry(record.pid).or_insert(ExitMark { record: none, is_reaped: false, age: 0 });
            // Each thread of a process has a record of its own.
            mark.age = 0;
            mark.record.faults += record.faults;
            mark.record.cpu_ns += record.cpu_ns;
            mark.record.wait_status = record.wait_status.or(mark.record.wait_status);
            mark.record.name = record.name.or(mark.record.name);
            mark.record.peak_rss_bytes = mark.record.peak_rss_bytes.max(record.peak_rss_bytes);
        });
    }

    /// What the kernel recorded of the end of a process since the last full ticks.
    pub(super) fn exit_record(&mut self, pid: i32) -> Option<ExitRecord> {
        if !self.exit_marks.contains_key(&pid) {
            self.collect_exit_records();
        }
        self.exit_marks.get(&pid).map(|mark| mark.record)
    }

    /// `is_member` says whether a process of the tree has a pid: it may stay a zombie for long.
    fn forget_old_records(&mut self, is_member: impl Fn(i32) -> bool) {
        self.exit_marks.retain(|pid, mark| {
            mark.age += 1;
            mark.age <= MAX_RECORD_AGE || is_member(*pid)
        });
    }

    /// At a full tick.
    fn take_pages(&mut self, page_bytes: u64) -> MachinePages {
        let now = self.vmstat.pages();
        let machine = self.pages_since_tick(now, page_bytes);
        self.pages_at_tick = now.or(self.pages_at_tick);
        machine
    }

    fn pages_since_tick(&self, now: Option<Pages>, page_bytes: u64) -> MachinePages {
        let Some((start, now)) = self.pages_at_start.zip(now) else { return MachinePages::UNKNOWN };
        let before = self.pages_at_tick.unwrap_or(start);
        let since = |now: u64, before: u64| now.saturating_sub(before) * HUGE_PAGE_BYTES;
        let huge = Huge {
            since_tick_bytes: since(now.huge_anon + now.huge_file, before.huge_anon + before.huge_file),
            anon_since_start_bytes: since(now.huge_anon, start.huge_anon),
        };
        let mapped = now.mapped.zip(before.mapped);
        MachinePages {
            huge,
            huge_file_bytes: Some(since(now.huge_file, start.huge_file)),
            mapped_bytes: mapped.map(|(now, before)| now.max(before) * page_bytes + MAPPED_LAG_BYTES),
            faults: now.faults,
            huge_anon: Some(now.huge_anon),
            huge_file: Some(now.huge_file),
        }
    }

    /// What the machine has counted by now.
    fn count_now(&mut self) -> Option<CountedAt> {
        let began_ns = sys::monotonic_ns();
        counted_at(began_ns, self.vmstat.pages()?)
    }

    /// Where later looks at the machine's huge pages begin: right after the job has started, since what it got before would
    /// not be seen.
    pub(crate) fn begin_pages(&mut self) {
        let began_ns = sys::monotonic_ns();
        self.pages_at_start = self.vmstat.pages();
        let counted = self.pages_at_start.and_then(|pages| counted_at(began_ns, pages));
        counted.into_iter().for_each(|counted| self.history.note(counted));
    }

    /// Huge pages of anonymous memory that the whole machine was given since the job began.
    pub(super) fn huge_anon_since_start_bytes(&mut self) -> Option<u64> {
        let (start, now) = (self.pages_at_start?, self.vmstat.pages()?);
        Some(now.huge_anon.saturating_sub(start.huge_anon) * HUGE_PAGE_BYTES)
    }

    /// How many processes of the whole machine the OOM killer has ended since the job began.
    pub(crate) fn oom_kills_since_start(&mut self) -> Option<u64> {
        let before = self.pages_at_start?.oom_kills?;
        Some(self.vmstat.pages()?.oom_kills?.saturating_sub(before))
    }

    /// Until when a process counts that has ended, for the sake of its copies; 0 where it has none.
    fn copies_until_ns(&self, pid: i32) -> u64 {
        let gone_ns = self.departed.get(pid).map_or(0, |gone| gone.copies_until_ns);
        self.unseen_parents.get(&pid).map_or(gone_ns, |until_ns| gone_ns.max(*until_ns))
    }

    /// A process that has ended counts until `until_ns` for the sake of a copy of it.
    fn note_unseen_parent(&mut self, pid: i32, until_ns: u64) {
        let known_ns = self.unseen_parents.entry(pid).or_insert(0);
        *known_ns = until_ns.max(*known_ns);
    }

    /// At every tick: the largest single marks, and what is mapped of files.
    pub(crate) fn take_levels(&mut self, processes: &[Process]) {
        let mut file_bytes = 0;
        for process in processes {
            file_bytes += process.rss_file_bytes;
            // What was reached before the run began is not this run's.
            if process.peak_rss_bytes > process.peak_rss_before_bytes {
                let best = if process.is_main { &mut self.main_bytes } else { &mut self.descendant_bytes };
                *best = (*best).max(process.peak_rss_bytes);
            }
        }
        self.file_bytes = self.file_bytes.max(file_bytes);
    }
}

/// What programs before the present one can have held, huge pages included; 0 where there was none.
pub(super) fn with_huge_bytes(before_exec_bytes: u64, huge_bytes: u64) -> u64 {
    if before_exec_bytes == 0 { 0 } else { before_exec_bytes.saturating_add(huge_bytes) }
}

/// `pages` were read just now, not before `began_ns`.
fn counted_at(began_ns: u64, pages: Pages) -> Option<CountedAt> {
    let Pages { faults, huge_anon, huge_file, .. } = pages;
    Some(CountedAt { began_ns, t_ns: sys::monotonic_ns(), faults: faults?, huge_anon, huge_file })
}

impl Meter {
    /// A member has left the tree.
    pub(super) fn note_departed_memory(&mut self, gone: &Process, reaped: Option<&Reaped>, life: CopyLife) {
        self.bounds.collect_exit_records();
        let mark = self.bounds.exit_marks.get(&gone.id.pid).map(|mark| mark.record);
        let reaped_bytes = reaped.map(|reaped| reaped.usage.peak_rss_bytes);
        let final_mark_bytes = mark.map(|mark| mark.peak_rss_bytes).or(reaped_bytes);
        // Read as a zombie, or in its exit record, the count of its faults is final.
        let final_faults = gone.is_final.then(|| gone.stat.faults()).or(mark.map(|mark| mark.faults));
        // What `wait` tells has those in it that it has waited for.
        let reaped_alone = reaped.filter(|_| life.is_leaf && !gone.has_waited());
        let final_faults =
            final_faults.or(reaped_alone.map(|reaped| reaped.usage.faults_minor + reaped.usage.faults_major));
        let parent = self.counts_with_copy(gone.forked_by(), life, &[]);
        let last_name = mark.and_then(|mark| mark.name);
        let mut readings = gone.last_readings(final_mark_bytes, final_faults, last_name, parent);
        if let Some(before) = &mut readings.before_exec {
            before.copy_ns = before.copy_ns.and(life.copy_ns);
        }
        self.bounds.departed.push(Departed {
            pid: gone.id.pid,
            is_main: gone.is_main,
            copies_until_ns: if gone.has_copies { u64::MAX } else { 0 },
            readings,
            faults: gone.stat.faults(),
            faults_since: gone.faults_since_full(),
            final_faults,
            end_ns: life.end_ns,
            is_bounded_before: gone.is_end_bounded(),
        });
        if gone.is_main {
            // A mark of its own alone needs no help: the machine need not be asked.
            let before_exec_bytes = gone.before_exec_bytes();
            let is_told = final_mark_bytes.is_some() && !gone.has_waited() && before_exec_bytes == 0;
            let page_bytes = self.tree.scale.page_bytes;
            let now = if is_told { None } else { self.bounds.vmstat.pages() };
            let huge = self.bounds.pages_since_tick(now, page_bytes).huge;
            let at_most = readings.at_most(huge).map(|most| most.alone_bytes());
            // Of a program that was never read only `wait` tells: its mark outlives an exec.
            let are_all_read = self.witnesses.follower.as_ref().is_none_or(|follower| {
                let programs = follower.main_programs.filter(|_| follower.is_complete());
                programs.is_some_and(|programs| programs <= gone.programs_read())
            });
            let at_most = at_most.filter(|_| are_all_read);
            self.bounds.main_at_most_bytes = at_most
                .map(|bytes| bytes.max(with_huge_bytes(before_exec_bytes, huge.anon_since_start_bytes)));
        }
    }

    /// A process that no tick has seen was reaped by us.
    pub(super) fn note_unseen_memory(&mut self, reaped: &Reaped) {
        self.bounds.has_unseen = true;
        self.bounds.collect_exit_records();
        let record = ExitRecord {
            pid: reaped.pid,
            wait_status: Some(reaped.status),
            cpu_ns: reaped.usage.cpu_ns(),
            parent_pid: 0,
            is_copy: false,
            name: None,
            peak_rss_bytes: reaped.usage.peak_rss_bytes,
            faults: reaped.usage.faults_minor + reaped.usage.faults_major,
        };
        self.bounds.exit_marks.entry(reaped.pid).or_insert(ExitMark { record, is_reaped: true, age: 0 });
    }

    /// Before a full tick reads the first of several processes.
    pub(super) fn begin_full_tick(&mut self) {
        let follower = self.witnesses.follower.as_mut();
        let counts = follower.is_some_and(|follower| follower.counts_faults() || follower.knows_several());
        let counts = counts || self.doubts.may_discard || self.tree.processes.len() > 1;
        self.bounds.reading_since_ns = Some(sys::monotonic_ns());
        let counted = if counts { self.bounds.count_now() } else { None };
        self.bounds.history.begin(counted);
    }

    /// Between two full ticks, right after somebody has ended: what the machine gives out from now on is not theirs.
    pub(crate) fn count_after_end(&mut self) {
        let counted = self.bounds.count_now();
        counted.into_iter().for_each(|counted| self.bounds.history.note(counted));
    }

    /// What rollups said of forked copies counts where they have forked nobody: others would share what a copy has changed.
    fn confirm_sharing(&mut self) {
        let Some(follower) = self.witnesses.follower.as_mut() else { return };
        for process in self.tree.processes.iter_mut().filter(|process| process.has_unconfirmed_sharing()) {
            process.confirm_sharing(follower.is_leaf(process.id.pid));
        }
    }

    /// At a full tick: bounds the memory of the time since the one before.
    pub(super) fn bound_memory(&mut self, now_ns: u64, is_first: bool) {
        if is_first && !matches!(self.target, Target::Child(_)) {
            // What happened before the run began is not in its intervals.
            self.tree.processes.iter_mut().for_each(Process::begin_interval);
            self.bounds.ended_faults = self.ended_faults_total();
        }
        self.bounds.collect_exit_records();
        self.bounds.has_run |= self.tree.has_changed();
        self.confirm_sharing();
        let follower = self.witnesses.follower.as_mut();
        let mut passed = follower.map(|follower| follower.take_passed(now_ns)).unwrap_or_default();
        passed.sort_by_key(|life| (life.pid, life.fork_ns));
        if !std::mem::take(&mut self.bounds.has_run) && passed.is_empty() && self.bounds.departed.is_empty() {
            // Since the full tick before, nobody did anything, nor mapped a file.
            self.take_files_bytes(now_ns, None);
            self.bounds.history.end_quiet();
            return;
        }
        let interval = self.interval(now_ns, &passed);
        self.bounds.combined.take(&interval);
        self.bounds.descendants.take(&interval.without_main());
        self.bounds.departed.clear();
        self.bounds.unseen_parents.clear();
        let tree = &self.tree;
        self.bounds.forget_old_records(|pid| tree.get(pid).is_some());
        self.tree.processes.iter_mut().for_each(Process::begin_interval);
        for pid in self.bounds.ended_hidden.drain(..) {
            self.tree.get_mut(pid).into_iter().for_each(|(process, _)| process.bound_end());
        }
        self.bounds.bounded_at_ns = now_ns;
        self.bounds.history.end();
    }

    /// What the job had mapped of files and shared memory since the last full tick, each page once, where that is known.
    fn take_files_bytes(&mut self, now_ns: u64, huge_file_bytes: Option<u64>) -> Option<u64> {
        let is_complete = self.events_are_complete();
        let follower = self.witnesses.follower.as_mut()?;
        follower.collect_touches();
        // Without a fault it has no more pages than before.
        for process in self.tree.processes.iter().filter(|process| process.faults_since_full() > 0) {
            follower.check_mapped(process.id.pid, process.rss_file_bytes, now_ns, huge_file_bytes);
        }
        follower.take_mapped_bytes(huge_file_bytes).filter(|_| is_complete)
    }

    /// Page faults of all processes that have ended and were waited for, as of now.
    fn ended_faults_total(&mut self) -> u64 {
        let ledger = &self.counters.ledger;
        let reaped = ledger.reaped.faults_minor + ledger.reaped.faults_major;
        let lost = ledger.lost.faults_minor + ledger.lost.faults_major;
        let buffer = &mut self.tree.buffer;
        let mut waited = 0;
        for process in &mut self.tree.processes {
            if process.has_had_children || process.waited_faults > 0 {
                process.read_waited_faults(buffer);
            }
            waited += process.waited_faults;
        }
        reaped + lost + waited
    }
}
