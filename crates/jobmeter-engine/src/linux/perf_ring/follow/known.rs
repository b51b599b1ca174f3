//! What is known by the records so far.

use super::Follower;
use crate::linux::perf_ring::record::{Record, What};
use jobmeter_model::summary::Source;

/// What records tell of the programs that a process became.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ToldExec {
    pub fork_ns: Option<u64>,
    /// How long it was a forked copy, if it has become a program once since its fork.
    pub copy_ns: Option<u64>,
    /// When it last became a program.
    pub last_ns: Option<u64>,
}

impl Follower {
    /// Whether the ring had records of every process since the job began.
    pub(crate) fn is_complete(&self) -> bool {
        self.ring.lost == 0 && !self.is_blind && !self.lives.has_doubt
    }

    /// Whether records have told of more processes than main, those among them that no tick has found yet.
    pub(crate) fn knows_several(&mut self) -> bool {
        self.ring.collect();
        let is_fork = |record: &Record| matches!(record.what, What::Fork { .. }) && record.pid == record.tid;
        self.lives.count() > 1 || self.ring.waiting.iter().any(is_fork)
    }

    /// Whether some that ended unsampled were not waited for when this was last looked at.
    pub(crate) fn has_zombies(&self) -> bool {
        !self.zombies.is_empty()
    }

    /// When a process was born that has forked nobody, where no record is missing.
    pub(crate) fn birth_of_leaf_ns(&self, pid: i32) -> Option<u64> {
        self.lives.get(pid).filter(|life| !life.has_forked && self.is_complete())?.fork_ns
    }

    /// Whether a process has forked nobody by the time of this call, where no record is missing.
    pub(crate) fn is_leaf(&mut self, pid: i32) -> bool {
        self.ring.collect();
        let is_leaf = self.lives.get(pid).is_some_and(|life| !life.has_forked);
        is_leaf && self.is_complete() && !self.ring.has_waiting_fork_by(pid)
    }

    /// When a process was forked that has not left the tree.
    pub(crate) fn fork_ns(&self, pid: i32) -> Option<u64> {
        self.lives.get(pid)?.fork_ns
    }

    /// When a process was forked, and by whom. Its parent may be another one by now.
    pub(crate) fn fork_of(&self, pid: i32) -> Option<(u64, i32)> {
        let life = self.lives.get(pid)?;
        life.fork_ns.map(|fork_ns| (fork_ns, life.parent_pid))
    }

    /// The same where its record may have come a moment ago.
    pub(crate) fn late_fork_ns(&mut self, pid: i32) -> Option<u64> {
        self.fork_ns(pid).or_else(|| self.ring.waiting_fork_ns(pid))
    }

    /// When a record last told of an exec of `pid`, which has not left the tree; the maximum where that has come a moment ago.
    pub(crate) fn exec_ns(&self, pid: i32) -> Option<u64> {
        let waiting_ns = self.ring.has_waiting_exec_of(pid).then_some(u64::MAX);
        waiting_ns.or_else(|| self.lives.get(pid)?.exec_ns)
    }

    /// Whether a process had become the program that it is now before `t_ns`.
    pub(crate) fn was_program_at(&self, pid: i32, t_ns: u64) -> bool {
        self.lives.get(pid).and_then(|life| life.exec_ns).is_some_and(|exec_ns| exec_ns <= t_ns)
    }

    /// What the records tell of the programs that a process became; nothing where one may be missing.
    pub(crate) fn told_exec(&mut self, pid: i32) -> ToldExec {
        self.ring.collect();
        let Some(life) = self.lives.get(pid).filter(|_| self.is_complete()) else {
            return ToldExec::default();
        };
        let fork_ns = life.fork_ns;
        match self.ring.has_waiting_exec_of(pid) {
            true => ToldExec { fork_ns, ..ToldExec::default() },
            false => ToldExec { fork_ns, copy_ns: life.was_copy_for_ns(), last_ns: life.exec_ns },
        }
    }

    /// When a process ended that has not left the tree and has forked nobody, where no record is missing.
    pub(crate) fn end_of_leaf_ns(&self, pid: i32) -> Option<u64> {
        self.lives.get(pid).filter(|life| !life.has_forked && self.is_complete())?.end_ns
    }

    /// A tick has read the name of a process, which the records do not tell.
    pub(crate) fn note_name(&mut self, pid: i32, name: [u8; 16]) {
        if let Some(life) = self.lives.get_mut(pid) {
            life.name = name;
        }
    }

    /// Its records tell the names of processes.
    pub(crate) fn tells_names(&self) -> bool {
        !self.ring.is_fed()
    }

    /// Threads that were started besides the first of each process.
    pub(crate) fn thread_births(&self) -> u64 {
        self.lives.thread_births
    }

    pub(crate) fn source(&self) -> Source {
        let scope =
            if self.ring.is_of_tree { "of the job's tree" } else { "of all CPUs, the job's picked out" };
        let state = if self.ring.lost > 0 {
            format!("at least {} records were lost", self.ring.lost)
        } else if self.is_complete() {
            "nothing was lost".to_owned()
        } else {
            "some processes could not be followed".to_owned()
        };
        let (name, what) = match self.ring.is_fed() {
            true => ("exit_events", "starts and ends of processes, by the kernel's process connector"),
            false => ("perf_ring", "starts, names and ends of processes"),
        };
        Source { name: name.to_owned(), used: true, detail: format!("{what}, {scope}; {state}") }
    }
}
