//! Puts together what is known of the time between two full ticks.

use super::departed::of_pid;
use super::parents::CopyLife;
use super::unread::LateMark;
use super::{HUGE_PAGE_BYTES, MachinePages};
use crate::account::ended::{BeforeExec, LastReadings};
use crate::account::growth::Growth;
use crate::account::parts::{Parts, WhileRead, anon_by_faults_bytes, is_loose};
use crate::account::peaks::{Ended, Interval, Living};
use crate::account::windows::{CountedAt, Windows};
use crate::linux::perf_ring::Passed;
use crate::linux::sys;
use crate::meter::Meter;
use crate::meter::process::Process;

/// With more processes than this between two full ticks it is not asked until when each was held: each costs a look-up.
const MOST_HELD: usize = 2048;

/// A child of vfork touches a few pages that are its parent's, and stay when it has become a program.
const FAULTS_FOR_PARENT: u64 = 16;

impl Meter {
    /// When a descendant was born that lives and has forked nobody.
    pub(super) fn birth_of_leaf_ns(&self, pid: i32) -> Option<u64> {
        let follower = self.witnesses.follower.as_ref().filter(|_| pid != self.main_pid())?;
        follower.birth_of_leaf_ns(pid)
    }

    /// When a process was born that lives, has forked nobody, and counts from then on alone.
    fn newborn_at_ns(&self, pid: i32) -> Option<u64> {
        self.birth_of_leaf_ns(pid).filter(|born_ns| *born_ns > self.bounds.bounded_at_ns)
    }

    /// From when to when a member counts that has ended.
    fn counted_from_to_ns(&self, process: &Process) -> (u64, u64) {
        let (pid, follower) = (process.id.pid, self.witnesses.follower.as_ref());
        let end_ns = follower.and_then(|follower| follower.end_of_leaf_ns(pid));
        (self.newborn_at_ns(pid).unwrap_or(0), end_ns.unwrap_or(u64::MAX))
    }

    /// Page faults of the machine since before the last full tick, and since before `since_ns` if that is earlier; it has taken `all`
    /// by now.
    fn machine_faults(&self, all: Option<u64>, since_ns: u64) -> Option<u64> {
        Some(all?.saturating_sub(self.bounds.history.last_and_before(since_ns)?.faults))
    }

    /// Huge pages of anonymous memory that the machine has given out since the oldest of those was born who may have some of which no
    /// tick knows; `all` since boot.
    fn huge_since_births_bytes(&self, interval: &Interval, all: Option<u64>) -> Option<u64> {
        let copies = interval.living.iter().filter(|process| process.is_copy);
        let copies = copies.map(|copy| self.forked_at_ns(copy.pid).unwrap_or(0));
        let ended = interval.ended.iter().filter(|ended| ended.may_hold_unread_huge());
        let oldest_ns = copies.chain(ended.map(|ended| ended.fork_ns)).min().unwrap_or(0);
        let before = self.bounds.history.before(oldest_ns).filter(|_| oldest_ns > 0)?;
        Some(all?.saturating_sub(before.huge_anon) * HUGE_PAGE_BYTES)
    }

    /// What the machine had counted at several times up to now, where some of those that ended have no bound but that; `machine` was read
    /// last, not before `began_ns`.
    fn windows(
        &self,
        interval: &Interval,
        machine: &MachinePages,
        began_ns: u64,
        known_faults: u64,
    ) -> Option<Windows> {
        interval.ended.iter().find(|ended| ended.at_most.is_none() || ended.is_loose)?;
        let (faults, huge_anon, huge_file) = (machine.faults?, machine.huge_anon?, machine.huge_file?);
        let last = CountedAt { began_ns, t_ns: sys::monotonic_ns(), faults, huge_anon, huge_file };
        let readings = self.bounds.history.readings().iter().copied().chain([last]).collect();
        let full_ns = self.bounds.history.last_full_ns();
        Some(Windows { readings, are_files_known: interval.files_bytes.is_some(), known_faults, full_ns })
    }

    /// Page faults of the parent of a copy that became no program.
    fn parent_faults_of(&self, life: &Passed) -> u64 {
        let parent = self.tree.get(life.parent_pid).filter(|_| life.exec_ns.is_none());
        parent.map_or(0, Process::faults_since_full)
    }

    pub(super) fn interval(&mut self, now_ns: u64, passed: &[Passed]) -> Interval {
        let discards = self.doubts.may_discard && !self.events_are_complete();
        let has_hole = self.counters.ledger.has_hole || discards;
        // Asked before the faults are read: whoever was waited for by now is in them.
        let has_unwaited = self.witnesses.follower.as_ref().is_some_and(|follower| follower.has_zombies());
        let ended_total = self.ended_faults_total();
        let ended_since = ended_total.saturating_sub(self.bounds.ended_faults);
        self.bounds.ended_faults = self.bounds.ended_faults.max(ended_total);
        let known = self.bounds.departed.iter().map(|gone| gone.final_faults.unwrap_or(gone.faults));
        let known_faults: u64 = known.sum::<u64>() + self.faults_of_unseen_reaped(passed);
        // One process alone is bounded by its mark: the machine need not be asked.
        let is_told = |only: &Process| !only.has_given_memory_back() && only.has_mark() && !only.has_execed();
        let is_alone = matches!(&self.tree.processes[..], [only] if is_told(only))
            && passed.is_empty()
            && self.bounds.departed.is_empty();
        let is_over = match &self.bounds.departed[..] {
            [only] => {
                self.tree.processes.is_empty()
                    && only.readings.final_mark_bytes.is_some()
                    && passed.iter().all(|life| life.pid == only.pid)
            }
            _ => false,
        };
        let page_bytes = self.tree.scale.page_bytes;
        let has_unknown = ended_since > known_faults;
        let timed_faults = self.witnesses.follower.as_mut().and_then(|follower| follower.timed_faults());
        let counting_since_ns = sys::monotonic_ns();
        let machine = if (is_alone || is_over) && !has_unknown {
            MachinePages::UNKNOWN
        } else {
            self.bounds.take_pages(page_bytes)
        };
        self.bounds.huge_left = self.huge_left(passed, &machine, counting_since_ns, now_ns);
        let faults = self.faults_by_time(machine.faults, timed_faults);
        let files_bytes = self.take_files_bytes(now_ns, machine.huge_file_bytes);
        let late_marks = self.read_late_marks(now_ns);
        let while_read = if is_alone { WhileRead::default() } else { self.grown_while_read(&machine) };
        let mut interval = Interval {
            while_read,
            huge: machine.huge,
            mapped_bytes: machine.mapped_bytes,
            files_bytes,
            ended_faults: (!has_hole).then(|| ended_since.saturating_sub(known_faults)),
            // Known below, unless somebody is met who may have taken some before, unread.
            machine_faults: Some(0),
            has_unlisted: !self.events_are_complete(),
            has_unwaited,
            ..Interval::default()
        };
        // Before anybody is counted: parents that ended count as long as their copies.
        let mut follower = self.witnesses.follower.as_mut();
        let mut told_exec = |process: &Process| {
            let follower = follower.as_mut().filter(|_| process.has_execed())?;
            Some(follower.told_exec(process.id.pid))
        };
        let members = self.tree.processes.iter();
        let mut living: Vec<Option<Living>> = members
            .map(|process| {
                let told = told_exec(process).unwrap_or_default();
                let mut living =
                    process.living(now_ns, told.copy_ns).filter(|_| !process.has_given_memory_back())?;
                // Whatever this tick has read of it is of the program that it became before.
                let present = process.present(now_ns).filter(|_| told.last_ns.is_some_and(|ns| ns <= now_ns));
                living.before_exec = living
                    .before_exec
                    .map(|before| BeforeExec { present: present.unwrap_or_default(), ..before });
                Some(living)
            })
            .collect();
        let known_faults = self.faults_of_living(&living);
        for copy in living.iter_mut().flatten() {
            interval.ended_parents.extend(self.ended_parent_of(copy, &late_marks, passed));
        }
        for (at, living) in living.into_iter().enumerate() {
            self.take_member(at, living, &late_marks, passed, &mut interval);
        }
        // Exit records tell until when a parent counts for its copies. Without them, so long as a copy can have its memory.
        let is_told = self.bounds.has_exit_records() || passed.len() > MOST_HELD;
        let follower = self.witnesses.follower.as_ref().filter(|_| !is_told);
        let held = follower.map(|follower| follower.held_until_ns(passed));
        let mut lived = Vec::with_capacity(passed.len());
        for life in passed {
            let gone = self.bounds.departed.get(life.pid).copied();
            if gone.is_some_and(|gone| gone.is_bounded_before) {
                continue;
            }
            let mut readings = match gone {
                Some(gone) => gone.readings,
                None => self.unseen_readings(life, now_ns, passed),
            };
            if life.end_ns < u64::MAX {
                self.bounds.bound_huge(&mut readings, life.fork_ns, Some(life.end_ns));
            }
            lived.push((gone, *life, readings));
        }
        for gone in self.bounds.departed.iter().filter(|gone| !gone.is_bounded_before) {
            if of_pid(passed, gone.pid).is_empty() {
                // A parent counts for its copies too, which all have been looked at by now.
                let end_ns = gone.end_ns.unwrap_or(u64::MAX).max(self.bounds.copies_until_ns(gone.pid));
                interval.push_ended(0, end_ns, gone.is_main, gone.readings);
            }
        }
        if let Some(faults) = faults.filter(|_| files_bytes.is_some() && !interval.has_unlisted) {
            let holders = self.holders(passed, &lived, interval.huge);
            let huge_before_bytes = self.bounds.huge_before_bytes;
            interval.growth = holders.map(|holders| Growth { faults, huge_before_bytes, holders });
        }
        // Where they were not counted, the next count begins before this tick.
        let counted = Some(interval.huge.since_tick_bytes).filter(|bytes| *bytes < u64::MAX);
        self.bounds.huge_before_bytes = counted.unwrap_or(0);
        let mut unseen_since_ns = u64::MAX;
        for (gone, life, readings) in lived {
            // Learned while the others were looked at.
            let end_ns = life.end_ns.max(self.bounds.copies_until_ns(life.pid));
            let is_main = gone.is_some_and(|gone| gone.is_main);
            let held_ns = held.as_ref().and_then(|held| held.get(&(life.pid, life.fork_ns)));
            match held_ns.filter(|_| life.pid > 0) {
                Some(held_ns) => {
                    if gone.is_none() {
                        // All that it has comes with faults since its birth.
                        unseen_since_ns = unseen_since_ns.min(life.fork_ns);
                    }
                    let not_counted = gone.map_or(0, |gone| gone.faults) + FAULTS_FOR_PARENT;
                    let counted = life.counted_faults.saturating_sub(not_counted);
                    let last_full_ns = self.bounds.history.last_full_ns();
                    let is_all = gone.is_none() || life.fork_ns > self.bounds.bounded_at_ns;
                    let since_ns = if is_all { Some(life.fork_ns) } else { last_full_ns };
                    let of_parent = self.parent_faults_of(&life);
                    let own = OwnFaults { counted, of_parent, since_ns, is_all };
                    interval.push_counted(life.fork_ns, end_ns.max(*held_ns), is_main, readings, own);
                }
                None => {
                    interval.push_ended(life.fork_ns, end_ns, is_main, readings);
                    interval.machine_faults = None;
                }
            }
        }
        let are_all_known = interval.machine_faults.is_some();
        let machine_faults = self.machine_faults(machine.faults, unseen_since_ns).filter(|_| are_all_known);
        interval.machine_faults = machine_faults.map(|faults| faults.saturating_sub(known_faults));
        interval.huge_since_births_bytes = self.huge_since_births_bytes(&interval, machine.huge_anon);
        if are_all_known {
            interval.windows = self.windows(&interval, &machine, counting_since_ns, known_faults);
        }
        interval
    }

    /// Page faults of the living since the last full tick, and none from before the machine was asked at that tick.
    fn faults_of_living(&self, living: &[Option<Living>]) -> u64 {
        if self.bounds.history.was_quiet() {
            return 0;
        }
        let processes = self.tree.processes.iter().zip(living);
        let read = processes.filter(|(process, living)| {
            living.is_some() && process.was_read_at_full(self.bounds.bounded_at_ns)
        });
        read.map(|(process, _)| process.faults_since_full()).sum()
    }

    /// One process of the tree, with its reading as a living one where that is fresh.
    fn take_member(
        &mut self,
        at: usize,
        living: Option<Living>,
        late_marks: &[(i32, LateMark)],
        passed: &[Passed],
        interval: &mut Interval,
    ) {
        let process = &self.tree.processes[at];
        let (pid, is_main, forked_by) = (process.id.pid, process.is_main, process.forked_by());
        let copy = CopyLife { fork_ns: self.forked_at_ns(pid), ..CopyLife::default() };
        if process.has_given_memory_back() {
            // One that ended before this tick found it is among those that the events tell of.
            let is_this = |life: &Passed| Some(life.fork_ns) == copy.fork_ns && life.end_ns < u64::MAX;
            let is_passed = of_pid(passed, pid).iter().any(is_this);
            if process.is_end_bounded() || is_passed {
                return;
            }
            let (fork_ns, end_ns) = self.counted_from_to_ns(process);
            let copy = CopyLife { end_ns: Some(end_ns).filter(|end_ns| *end_ns < u64::MAX), ..copy };
            let parent = self.counts_with_copy(forked_by, copy, passed);
            let process = &self.tree.processes[at];
            let mark = self.bounds.exit_marks.get(&pid).map(|mark| mark.record);
            let (mark_bytes, name) = (mark.map(|mark| mark.peak_rss_bytes), mark.and_then(|mark| mark.name));
            let mut readings = process.last_readings(mark_bytes, process.final_faults(), name, parent);
            self.end_copy(pid, &mut readings);
            interval.push_ended(fork_ns, end_ns, is_main, readings);
        } else if process.has_begun_to_hide_memory() {
            // What its page faults up to now allow; others may follow.
            let late = late_marks.iter().find(|(late, _)| *late == pid).map(|(_, mark)| mark.stat);
            let read_faults = process.stat.faults();
            let (faults, has_ended) = self.faults_of_hiding(pid, late).unwrap_or((read_faults, false));
            self.bounds.ended_hidden.extend(has_ended.then_some(pid));
            let parent = self.counts_with_copy(forked_by, copy, passed);
            let readings = self.tree.processes[at].last_readings(None, Some(faults), None, parent);
            interval.push_growing(self.newborn_at_ns(pid), is_main, readings);
        } else if let Some(living) = living {
            match (living.as_loose(interval.huge, interval.files_bytes.is_some()), self.newborn_at_ns(pid)) {
                (Some(loose), None) => interval.ended.push(loose),
                (Some(loose), Some(fork_ns)) => {
                    interval.ended.push(Ended { fork_ns, grows_since_ns: fork_ns, ..loose });
                }
                (None, Some(born_ns)) => {
                    interval.ended.push(living.born_at(born_ns, interval.huge));
                    // What it shares with other copies counts with their parent.
                    interval.living.push(Living { counts_from_birth: true, ..living });
                }
                (None, None) => interval.living.push(living),
            }
        } else if let Some(readings) = self.late_readings(at, late_marks, copy, passed) {
            interval.push_growing(self.newborn_at_ns(pid), is_main, readings);
        } else {
            interval.push_unread(self.newborn_at_ns(pid), is_main);
        }
    }

    /// What was read of a process when its turn in the tick was over.
    fn late_readings(
        &mut self,
        at: usize,
        late_marks: &[(i32, LateMark)],
        copy: CopyLife,
        passed: &[Passed],
    ) -> Option<LastReadings> {
        let process = &self.tree.processes[at];
        let (_, mark) = late_marks.iter().find(|(late, _)| *late == process.id.pid)?;
        let parent = self.counts_with_copy(process.forked_by(), copy, passed);
        let process = &self.tree.processes[at];
        let (pid, mut readings) = (process.id.pid, mark.of(process, parent));
        self.end_copy(pid, &mut readings);
        Some(readings)
    }
}

/// Page faults that tell of one process that ended unread.
struct OwnFaults {
    /// Since it was last read, and known to be its own.
    counted: u64,
    /// Of its parent, where it was a copy of it: what the parent changed, the copy kept as it was.
    of_parent: u64,
    /// Since when they were taken, where that is known.
    since_ns: Option<u64>,
    /// It was born in this interval: all that it had came with them.
    is_all: bool,
}

impl Interval {
    fn push_counted(
        &mut self,
        fork_ns: u64,
        end_ns: u64,
        is_main: bool,
        readings: LastReadings,
        own: OwnFaults,
    ) {
        self.push_ended(fork_ns, end_ns, is_main, readings);
        let Some(ended) = self.ended.last_mut() else { return };
        ended.grows_since_ns = own.since_ns.filter(|_| ended.at_most.is_none() || own.is_all).unwrap_or(0);
        if ended.at_most.is_none() {
            let before_bytes = readings.before_anon_bytes();
            self.ended_before_anon_bytes -= before_bytes;
            self.counted_faults += own.counted;
            let added_bytes = anon_by_faults_bytes(own.counted + own.of_parent);
            ended.unread_anon_bytes = before_bytes.saturating_add(added_bytes);
            ended.read_bytes = if own.is_all { 0 } else { readings.before_bytes(self.huge) };
        }
    }

    /// One that lives on, and was born at `born_ns` if it is younger than the full tick before.
    fn push_growing(&mut self, born_ns: Option<u64>, is_main: bool, readings: LastReadings) {
        if readings.at_most(self.huge).is_none() {
            return self.push_unread(born_ns, is_main);
        }
        // 0 stands for unknown in both times: it then counts in all of the interval, and no window bounds it.
        let born_ns = born_ns.unwrap_or(0);
        self.push_ended(born_ns, u64::MAX, is_main, readings);
        self.ended.iter_mut().next_back().into_iter().for_each(|ended| ended.grows_since_ns = born_ns);
    }

    /// The same where nothing bounds it. Its page faults are not among those of the ended.
    fn push_unread(&mut self, born_ns: Option<u64>, is_main: bool) {
        let fork_ns = born_ns.unwrap_or(0);
        self.machine_faults = None;
        if is_main {
            self.ended.push(Ended { is_main, fork_ns, ..Ended::at_unknown_times(None) });
            self.ended_faults = None;
        } else {
            self.ended.push(Ended::as_the_largest(fork_ns));
        }
    }

    fn push_ended(&mut self, fork_ns: u64, end_ns: u64, is_main: bool, readings: LastReadings) {
        let at_most = readings.at_most(self.huge);
        // A final mark bounds all but what it held as another program.
        let mark_bytes = readings.final_mark_bytes.unwrap_or(readings.read_mark_bytes);
        let is_loose = |most: Parts| is_loose(most, mark_bytes, self.files_bytes.is_some());
        if at_most.is_none() {
            self.ended_before_bytes += readings.before_bytes(self.huge);
            self.ended_before_anon_bytes += readings.before_anon_bytes();
        }
        let is_loose = at_most.is_some_and(is_loose);
        self.given_up.extend(readings.given_up);
        let inherited_bytes = readings.inherited_bytes();
        let was_hidden = readings.was_hidden;
        let unread = Ended::at_unknown_times(at_most);
        self.ended.push(Ended { fork_ns, end_ns, is_loose, inherited_bytes, was_hidden, is_main, ..unread });
    }
}
