//! Who belonged to the job, by the kernel's events: every process and thread that descends from the first one,
//! how each ended, and what each had used. Pids may be reused, so a task is known by its pid and by which of the
//! ends of that pid it is.

use super::proc_events::ProcEvent;
use super::taskstats::{Counters, TaskEnd};
use super::timeline::wall_clock_ns;
use std::collections::{HashMap, VecDeque};

/// The end of a process: its wait status and when its event arrived, by the wall clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    pub pid: i32,
    pub status: i32,
    pub unix_ns: u64,
}

#[derive(Default)]
pub(crate) struct Tree {
    /// Living tasks of the job, with their process.
    live: HashMap<i32, i32>,
    /// Living tasks of each living process.
    tasks_of: HashMap<i32, usize>,
    pub root: i32,
    /// Processes, the first one included.
    pub processes: u64,
    pub tasks: u64,
    /// Programs that the first process became.
    pub first_execs: u64,
    /// How each process of the job ended, in order.
    pub ends: Vec<End>,
    /// When the first process ended with others still there.
    pub outlived: bool,
    /// For each pid, ends whose record is still to come, in order: of which process of the job, if of one.
    exits: HashMap<i32, VecDeque<Option<i32>>>,
    /// For each pid, records whose exit event is still to come.
    records: HashMap<i32, VecDeque<Counters>>,
    /// What the ended tasks of the job had used, and that of the first process alone.
    pub all: Counters,
    pub first: Counters,
    /// The same for each process; a pid that was used again has several.
    pub by_process: HashMap<i32, Vec<Counters>>,
    pub events_lost: bool,
    pub records_lost: bool,
}

impl Tree {
    /// The first process of the job: it has not forked yet.
    pub(crate) fn adopt(&mut self, pid: i32) {
        self.root = pid;
        self.processes = 1;
        self.insert(pid, pid);
    }

    fn insert(&mut self, pid: i32, tgid: i32) {
        self.live.insert(pid, tgid);
        *self.tasks_of.entry(tgid).or_default() += 1;
        self.tasks += 1;
    }

    pub(crate) fn event(&mut self, event: ProcEvent) {
        match event {
            ProcEvent::Fork { parent_tgid, child_pid, child_tgid } => {
                // The parent of a thread is that of its process.
                let is_thread = child_pid != child_tgid;
                let kin = if is_thread { child_tgid } else { parent_tgid };
                if self.tasks_of.contains_key(&kin) {
                    self.insert(child_pid, child_tgid);
                    self.processes += u64::from(!is_thread);
                }
            }
            ProcEvent::Exit { pid, tgid, status } => {
                let process = self.live.remove(&pid);
                self.exits.entry(pid).or_default().push_back(process);
                self.match_records(pid);
                if process.is_none() {
                    return;
                }
                if pid == tgid {
                    self.ends.push(End { pid, status, unix_ns: wall_clock_ns() });
                }
                let left = self.tasks_of.entry(tgid).or_default();
                *left = left.saturating_sub(1);
                if *left == 0 {
                    self.tasks_of.remove(&tgid);
                    if tgid == self.root {
                        self.outlived = !self.live.is_empty();
                    }
                }
            }
            ProcEvent::Exec { tgid } => self.first_execs += u64::from(tgid == self.root),
            ProcEvent::Lost => self.events_lost = true,
        }
    }

    pub(crate) fn record(&mut self, end: TaskEnd) {
        match end {
            TaskEnd::Task { pid, counters } => {
                self.records.entry(pid).or_default().push_back(counters);
                self.match_records(pid);
            }
            TaskEnd::Lost => self.records_lost = true,
        }
    }

    /// Living tasks as (process, task).
    pub(crate) fn living(&self) -> Vec<(i32, i32)> {
        self.live.iter().map(|(&pid, &tgid)| (tgid, pid)).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// The n-th end of a pid and its n-th record belong together, whichever comes first.
    fn match_records(&mut self, pid: i32) {
        let (Some(exits), Some(records)) = (self.exits.get_mut(&pid), self.records.get_mut(&pid)) else {
            return;
        };
        while let (Some(process), Some(record)) = (exits.front().copied(), records.front().copied()) {
            exits.pop_front();
            records.pop_front();
            let Some(process) = process else { continue };
            self.all += record;
            if process == self.root {
                self.first += record;
            }
            // The first thread's record opens an account, the other threads' add to the last one.
            let lives = self.by_process.entry(process).or_default();
            match lives.last_mut().filter(|_| pid != process) {
                Some(life) => *life += record,
                None => lives.push(record),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fork(parent_tgid: i32, child_pid: i32, child_tgid: i32) -> ProcEvent {
        ProcEvent::Fork { parent_tgid, child_pid, child_tgid }
    }

    fn exit(pid: i32, tgid: i32) -> ProcEvent {
        ProcEvent::Exit { pid, tgid, status: 0 }
    }

    fn record(read_bytes: u64) -> Counters {
        Counters { read_bytes, tasks: 1, ..Counters::default() }
    }

    /// Process 5 of the job ends, its pid is taken by a stranger, then by the job again.
    #[test]
    fn a_pid_that_is_used_again_is_another_task() {
        let mut tree = Tree::default();
        tree.adopt(3);
        for (event, bytes) in [(fork(3, 5, 5), 1), (fork(2, 5, 5), 10), (fork(3, 5, 5), 100)] {
            tree.event(event);
            tree.record(TaskEnd::Task { pid: 5, counters: record(bytes) });
            tree.event(exit(5, 5));
        }
        assert_eq!((tree.all.read_bytes, tree.all.tasks, tree.processes), (101, 2, 3));
    }

    /// A process lives as long as one of its threads; its threads are no processes.
    #[test]
    fn a_process_outlives_its_first_thread() {
        let mut tree = Tree::default();
        tree.adopt(3);
        tree.event(fork(1, 4, 3));
        tree.event(exit(3, 3));
        tree.event(fork(3, 6, 6));
        assert!(!tree.outlived);
        tree.event(exit(4, 3));
        assert!(tree.outlived);
        assert_eq!((tree.processes, tree.tasks, tree.living()), (2, 3, vec![(6, 6)]));
    }
}
