//! What is known of the memory of processes that a tick has not read, or not to the end.

use super::FAULTS_AFTER_RECORD;
use super::parents::{CopyLife, ParentFaults};
use crate::account::ended::{BeforeExec, CopyReadings, LastReadings};
use crate::account::parts::anon_by_faults_bytes;
use crate::linux::perf_ring::Passed;
use crate::linux::proc::stat::Stat;
use crate::linux::proc::status;
use crate::linux::taskstats::ExitRecord;
use crate::meter::Meter;
use crate::meter::process::Process;
use std::collections::HashSet;

/// A process that was forked while the tick read others has its first pages, and what it had time to touch.
const NEWBORN_BYTES: u64 = 2 << 20;
const SHORTEST_FAULT_NS: u64 = 250;

/// The mark of a living process, read when its turn in the tick was over.
#[derive(Debug, Clone, Copy)]
pub(super) struct LateMark {
    /// `None` where its first thread has ended, with which its files show no memory: its page faults bound it then.
    pub bytes: Option<u64>,
    /// Read after it.
    pub stat: Stat,
}

impl LateMark {
    /// What it tells of a process that was a forked copy when it was last read, or was never read.
    fn alone(&self) -> LastReadings {
        let faults = self.stat.faults();
        // What a copy had from its parent took no fault of its own.
        let own_faults = (!self.stat.is_forked_copy()).then_some(faults);
        LastReadings {
            final_mark_bytes: self.bytes,
            faults_after: own_faults,
            faults_since_full: own_faults,
            before_exec: Some(BeforeExec { faults, copy_ns: Some(u64::MAX), ..BeforeExec::default() }),
            ..LastReadings::default()
        }
    }

    /// What it tells of `process`; `parent` as in [`Process::last_readings`].
    pub(super) fn of(&self, process: &Process, parent: Option<ParentFaults>) -> LastReadings {
        match process.stat.is_forked_copy() && !self.stat.is_forked_copy() {
            true => self.alone(),
            false => process.last_readings(self.bytes, Some(self.stat.faults()), None, parent),
        }
    }
}

impl Meter {
    /// Marks of those that ran since theirs were read: they were found while this tick read others. A program that has become
    /// another one has none: its mark does not tell of what it held before. The other counters of `stat` must stay in step
    /// with those of their children, so nothing else is kept.
    pub(super) fn read_late_marks(&mut self, now_ns: u64) -> Vec<(i32, LateMark)> {
        let is_late = |process: &&Process| !process.is_zombie() && process.living(now_ns, None).is_none();
        let late: Vec<(i32, Stat)> = self
            .tree
            .processes
            .iter()
            .filter(is_late)
            .map(|process| (process.id.pid, process.stat))
            .collect();
        late.into_iter()
            .filter_map(|(pid, before)| {
                let is_bound =
                    |mark: &LateMark| before.is_forked_copy() || !mark.stat.has_execed_since(&before);
                Some((pid, self.read_late_mark(pid).filter(is_bound)?))
            })
            .collect()
    }

    /// Page faults by now of a process that has begun to hide its memory, and whether they are all that it will ever have; `late` is its
    /// `stat` of a moment ago, where it was there still.
    pub(super) fn faults_of_hiding(&mut self, pid: i32, late: Option<Stat>) -> Option<(u64, bool)> {
        if let Some(stat) = late {
            return Some((stat.faults(), stat.state == b'Z' && stat.threads <= 1));
        }
        self.bounds.collect_exit_records();
        let record = self.bounds.exit_marks.get(&pid)?.record;
        // Of one that lives there may be records of threads that have ended.
        self.tree
            .proc
            .stat(pid, &mut self.tree.buffer)
            .is_none()
            .then_some((record.faults + FAULTS_AFTER_RECORD, true))
    }

    fn read_late_mark(&mut self, pid: i32) -> Option<LateMark> {
        let (proc, buffer) = (self.tree.proc, &mut self.tree.buffer);
        let length = proc.read(pid, "status", buffer).ok()?;
        let bytes = status::parse(&buffer[..length]).peak_rss_bytes;
        Some(LateMark { bytes, stat: proc.stat(pid, buffer)? })
    }

    /// What is known of a process that no tick has seen.
    pub(super) fn unseen_readings(&mut self, life: &Passed, now_ns: u64, passed: &[Passed]) -> LastReadings {
        if life.end_ns == u64::MAX && life.fork_ns > 0 {
            // Where it lives still its mark tells, and its page faults of what it held before an exec.
            let read = self.read_unseen(life.pid);
            // It may have ended after the records were read. A first thread that has ended alone says nothing of the others.
            let has_ended = read.is_none() && self.has_ended(life.pid);
            if has_ended {
                // The record of its last thread may have come a moment ago.
                self.bounds.collect_exit_records();
            }
            let most_faults = now_ns.saturating_sub(life.fork_ns) / SHORTEST_FAULT_NS;
            if has_ended && !self.bounds.has_exit_records() {
                // No mark will come. What it had time for is loose: the largest mark of all may be less.
                let faults = Some(most_faults + NEWBORN_BYTES / anon_by_faults_bytes(1));
                return LastReadings {
                    faults_after: faults,
                    faults_since_full: faults,
                    ..LastReadings::default()
                };
            }
            if !has_ended || !self.bounds.exit_marks.contains_key(&life.pid) {
                let newborn_bytes = NEWBORN_BYTES + anon_by_faults_bytes(most_faults);
                let read = read.filter(|read| {
                    let before_bytes =
                        read.before_exec.map_or(0, |before| anon_by_faults_bytes(before.faults));
                    read.final_mark_bytes.unwrap_or(u64::MAX).max(before_bytes) < newborn_bytes
                });
                let newborn =
                    LastReadings { final_mark_bytes: Some(newborn_bytes), ..LastReadings::default() };
                return read.unwrap_or(newborn);
            }
        }
        let Some(mark) = self.bounds.exit_marks.get(&life.pid) else { return LastReadings::default() };
        let ExitRecord { parent_pid, is_copy, name, peak_rss_bytes, faults, .. } = mark.record;
        let known = |t_ns: u64| Some(t_ns).filter(|t_ns| *t_ns > 0 && *t_ns < u64::MAX);
        let copy =
            CopyLife { fork_ns: known(life.fork_ns), end_ns: known(life.end_ns), ..CopyLife::default() };
        // The exit record has the parent of its end, which is another where the first one had ended.
        let parent_pid = if life.parent_pid > 0 { life.parent_pid } else { parent_pid };
        let parent = if is_copy { self.counts_with_copy(parent_pid, copy, passed) } else { None };
        LastReadings {
            final_mark_bytes: Some(peak_rss_bytes),
            // What a copy had from its parent took no fault of its own.
            faults_since_full: (!is_copy).then_some(faults + FAULTS_AFTER_RECORD),
            copy: parent.map(|parent| CopyReadings {
                faults,
                changed_bytes: anon_by_faults_bytes(faults),
                faults_after: faults,
                parent_faults: parent.after_late_fork(),
                rss_bytes: if life.fork_ns < now_ns { parent.anon_at_least_bytes } else { 0 },
            }),
            // Between its fork and its last program there may have been others. Without a name the mark is that of `wait`,
            // which outlives an exec.
            before_exec: name.filter(|_| !is_copy).map(|_| BeforeExec {
                faults,
                copy_ns: life.copy_ns,
                ..BeforeExec::default()
            }),
            ..LastReadings::default()
        }
    }

    /// Page faults of those that we have reaped since the last full tick and that no tick had seen: they have a mark of their own.
    /// Where the kernel's exit records tell of them, those count.
    pub(super) fn faults_of_unseen_reaped(&self, passed: &[Passed]) -> u64 {
        let has_records = self.bounds.has_exit_records();
        let Some(follower) = self.witnesses.follower.as_ref().filter(|_| !has_records) else { return 0 };
        let departed = self.bounds.departed.iter().map(|gone| gone.pid);
        let others: HashSet<i32> = departed.chain(follower.parent_pids(passed)).collect();
        let ended: HashSet<i32> =
            passed.iter().filter(|life| life.end_ns < u64::MAX).map(|life| life.pid).collect();
        let marks = self.bounds.exit_marks.iter().filter(|(_, mark)| mark.is_reaped && mark.age == 0);
        let unseen = marks.filter(|(pid, _)| ended.contains(pid) && !others.contains(pid));
        unseen.map(|(_, mark)| mark.record.faults).sum()
    }

    /// What is known of how long a process was a forked copy before it became a program.
    pub(super) fn end_copy(&mut self, pid: i32, readings: &mut LastReadings) {
        let Some(before) = readings.before_exec.as_mut().filter(|before| before.copy_ns.is_some()) else {
            return;
        };
        let follower = self.witnesses.follower.as_mut();
        let told = follower.map(|follower| follower.told_exec(pid)).unwrap_or_default();
        before.copy_ns = told.copy_ns;
        self.bounds.bound_huge(readings, told.fork_ns.unwrap_or(0), told.last_ns);
    }

    /// Whether all threads of `pid` have ended.
    fn has_ended(&mut self, pid: i32) -> bool {
        let stat = self.tree.proc.stat(pid, &mut self.tree.buffer);
        stat.is_none_or(|stat| stat.state == b'Z' && stat.threads <= 1)
    }

    /// What is known of a process that lives and that no tick has read yet.
    fn read_unseen(&mut self, pid: i32) -> Option<LastReadings> {
        let mut readings = self.read_late_mark(pid).filter(|mark| mark.bytes.is_some())?.alone();
        self.end_copy(pid, &mut readings);
        Some(readings)
    }
}
