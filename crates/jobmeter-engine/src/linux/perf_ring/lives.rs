//! Who lives, by the records: from fork to the exit of the last thread. Small, and dropped at the end of each
//! life; what a record means for the meter comes back as a [`Change`].

use super::files::MappedFiles;
use super::record::{Record, What};
use super::touched::Touched;
use std::collections::HashMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Life {
    /// `None` while only a tick has sampled the process and its fork record was not read yet.
    pub(super) fork_ns: Option<u64>,
    /// When it ended. Kept until the tree removes a member, or until the parent of another process has waited for it.
    pub(super) end_ns: Option<u64>,
    pub(super) parent_pid: i32,
    threads: u32,
    pub(super) name: [u8; 16],
    /// Its start has been written to the record.
    pub(super) is_recorded: bool,
    pub(super) has_forked: bool,
    /// CPU time, read while it was a zombie.
    pub(super) last_cpu_ns: Option<u64>,
    /// 0 while unknown.
    pub(super) start_ticks: u64,
    pub(super) exec_ns: Option<u64>,
    /// Programs that it has run since it was forked.
    pub(super) programs: u32,
    /// Page faults that its threads which have ended took in their own code, as far as that was counted.
    pub(super) counted_faults: u64,
}

impl Life {
    fn note_exec(&mut self, t_ns: u64) {
        self.exec_ns = Some(t_ns);
        self.programs += 1;
    }

    /// How long it was a forked copy, if it has become a program once since its fork.
    pub(super) fn was_copy_for_ns(&self) -> Option<u64> {
        let (fork_ns, exec_ns) = self.fork_ns.zip(self.exec_ns)?;
        (self.programs == 1).then(|| exec_ns.saturating_sub(fork_ns))
    }

    /// Whether no record tells of an exec at or after `t_ns`.
    pub(super) fn is_same_program_since(&self, t_ns: u64) -> bool {
        self.exec_ns.is_none_or(|exec_ns| exec_ns < t_ns)
    }

    /// It lives, and the record of its fork may still come.
    fn is_unannounced(&self) -> bool {
        self.fork_ns.is_none() && self.end_ns.is_none()
    }

    /// Whether it has page faults of its own: one that lives in its parent's memory (vfork) need not, but it does not
    /// live for long without a program.
    pub(super) fn must_have_faulted(&self) -> bool {
        let lived_ns = self.end_ns.unwrap_or_default().saturating_sub(self.fork_ns.unwrap_or(u64::MAX));
        self.exec_ns.is_some() || lived_ns >= LONGEST_VFORK_NS
    }
}

/// A process that a tick cannot show: it ended before the tick, or the tick has not found it yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Passed {
    /// 0 for one of which only the number is known.
    pub(crate) pid: i32,
    /// 0 where the fork was not recorded, the maximum where it lives.
    pub(crate) fork_ns: u64,
    pub(crate) end_ns: u64,
    /// Who forked it; 0 where only the number is known.
    pub(crate) parent_pid: i32,
    /// When it last became another program.
    pub(crate) exec_ns: Option<u64>,
    /// How long it was a forked copy, if it has become a program once since its fork.
    pub(crate) copy_ns: Option<u64>,
    /// Page faults that it took in its own code, at least.
    pub(crate) counted_faults: u64,
    pub(crate) has_forked: bool,
}

impl Passed {
    fn of(pid: i32, life: &Life, end_ns: u64) -> Passed {
        Passed {
            pid,
            fork_ns: life.fork_ns.unwrap_or_default(),
            end_ns,
            parent_pid: life.parent_pid,
            exec_ns: life.exec_ns,
            copy_ns: life.was_copy_for_ns(),
            counted_faults: life.counted_faults,
            has_forked: life.has_forked,
        }
    }

    /// One of which only the number is known.
    pub(crate) const UNKNOWN: Passed = Passed {
        pid: 0,
        fork_ns: 0,
        end_ns: u64::MAX,
        parent_pid: 0,
        exec_ns: None,
        copy_ns: None,
        counted_faults: 0,
        has_forked: true,
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// A process whose start is in the record.
    Renamed { pid: i32, name: [u8; 16] },
    /// A process that a tick has sampled.
    MemberEnded { pid: i32 },
    /// A process that no tick has sampled so far; one still may until it is reaped.
    UnsampledEnded { pid: i32 },
    /// The pid has been given to a new process: the one before is gone.
    Replaced { pid: i32, before: Life },
}

#[derive(Debug, Default)]
pub(super) struct Lives {
    by_pid: HashMap<i32, Life>,
    /// The ring has records of the job alone: an unknown process among them means that records were missed.
    is_of_tree: bool,
    /// Records were missed.
    pub(super) has_doubt: bool,
    /// Threads that were started besides the first of each process.
    pub(super) thread_births: u64,
    /// Processes that the tree let go before their last records came, and until when those are theirs.
    let_go: Vec<(i32, u64)>,
    /// Processes that ended since the last call of [`Lives::take_passed`].
    passed: Vec<Passed>,
    /// How many more ended and are kept as a count only: at most this many lived together.
    folded: u64,
    taken_until_ns: u64,
    /// See [`Lives::doubt_strangers_until`].
    listed_ns: u64,
    /// What they map, where that is recorded.
    pub(super) files: Option<MappedFiles>,
}

/// A process that lives this long and runs no program is no child of vfork.
const LONGEST_VFORK_NS: u64 = 1_000_000;

/// No page fault takes less.
const SHORTEST_FAULT_NS: u64 = 100;

/// The name of a program that ended before it was read.
const UNKNOWN_NAME: [u8; 16] = *b"?\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// The shortest time from exec to exit: the program has to be mapped and entered.
const SHORTEST_PROGRAM_NS: u64 = 30_000;

/// Lives that passed are folded into a count at this many.
const MAX_PASSED: usize = 8192;

impl Lives {
    pub(super) fn new(is_of_tree: bool) -> Lives {
        Lives { is_of_tree, ..Lives::default() }
    }

    /// A process that is there before its records are read: main.
    pub(super) fn begin(
        &mut self,
        pid: i32,
        fork_ns: Option<u64>,
        parent_pid: i32,
        name: [u8; 16],
        is_recorded: bool,
    ) {
        let life = Life {
            fork_ns,
            end_ns: None,
            parent_pid,
            threads: 1,
            name,
            is_recorded,
            has_forked: false,
            last_cpu_ns: None,
            start_ticks: 0,
            exec_ns: None,
            programs: 0,
            counted_faults: 0,
        };
        self.by_pid.insert(pid, life);
    }

    /// A process that is in the record and was there before its records are read.
    pub(super) fn begin_listed(&mut self, pid: i32, parent_pid: i32, name: [u8; 16], threads: u64) {
        self.begin(pid, None, parent_pid, name, true);
        if let Some(life) = self.by_pid.get_mut(&pid) {
            life.threads = threads.try_into().unwrap_or(u32::MAX);
        }
    }

    /// The job's processes were listed by `listed_ns`: whoever ended until then and is not known may have been one of them.
    pub(super) fn doubt_strangers_until(&mut self, listed_ns: u64) {
        self.listed_ns = listed_ns;
    }

    pub(super) fn get(&self, pid: i32) -> Option<&Life> {
        self.by_pid.get(&pid)
    }

    pub(super) fn get_mut(&mut self, pid: i32) -> Option<&mut Life> {
        self.by_pid.get_mut(&pid)
    }

    pub(super) fn pids(&self) -> Vec<i32> {
        self.by_pid.keys().copied().collect()
    }

    pub(super) fn count(&self) -> usize {
        self.by_pid.len()
    }

    /// All who are known, those that ended and have not left the tree among them.
    pub(super) fn all(&self) -> impl Iterator<Item = Passed> {
        self.by_pid.iter().map(|(pid, life)| Passed::of(*pid, life, life.end_ns.unwrap_or(u64::MAX)))
    }

    pub(super) fn unrecorded(&self) -> impl Iterator<Item = (i32, Life)> {
        self.by_pid.iter().filter(|(_, life)| !life.is_recorded).map(|(pid, life)| (*pid, *life))
    }

    /// Forgets a process that no tick has sampled and none can any more.
    pub(super) fn remove(&mut self, pid: i32) -> Option<Life> {
        self.end_files(pid);
        self.by_pid.remove(&pid)
    }

    /// The tree has removed a process at `now_ns`; records of it up to then are of that process and say nothing new.
    pub(super) fn let_go(&mut self, pid: i32, now_ns: u64) -> Option<Life> {
        self.end_files(pid);
        let life = self.by_pid.remove(&pid)?;
        if life.end_ns.is_none() || life.fork_ns.is_none() {
            self.let_go.push((pid, now_ns));
        }
        Some(life)
    }

    /// Everything up to `horizon_ns` was taken.
    pub(super) fn settle(&mut self, horizon_ns: u64) {
        self.let_go.retain(|(_, until_ns)| *until_ns >= horizon_ns);
    }

    /// Records must come in the order of their times. `is_member` says whether a tick has sampled a process.
    pub(super) fn take(&mut self, record: &Record, is_member: impl Fn(i32) -> bool) -> Option<Change> {
        let Record { t_ns, pid, tid, what } = *record;
        if self.let_go.iter().any(|(gone, until_ns)| *gone == pid && t_ns <= *until_ns) {
            if let (What::Mapped(mapping), Some(files)) = (&what, &mut self.files) {
                files.note(mapping);
            }
            return None;
        }
        match what {
            What::Mapped(mapping) => {
                if self.by_pid.contains_key(&pid)
                    && let Some(files) = &mut self.files
                {
                    files.map(pid, &mapping);
                }
                None
            }
            What::Counted { faults } => {
                let life = self.by_pid.get_mut(&pid)?;
                let lived_ns = t_ns.saturating_sub(life.fork_ns?);
                // The kernel hands counts on between tasks; one that is none of faults is left out.
                if faults <= lived_ns / SHORTEST_FAULT_NS {
                    life.counted_faults += faults;
                }
                None
            }
            What::Fork { parent_pid } if pid == tid => self.fork(pid, parent_pid, t_ns),
            What::Fork { .. } => {
                self.known(pid)?.threads += 1;
                self.thread_births += 1;
                None
            }
            What::NewImage => {
                if self.by_pid.contains_key(&pid)
                    && let Some(files) = &mut self.files
                {
                    files.exec(pid);
                }
                None
            }
            What::Named { .. } | What::Exec if pid != tid => None,
            What::Exec => {
                let life = self.known(pid)?;
                life.note_exec(t_ns);
                if !life.is_recorded {
                    life.name = UNKNOWN_NAME;
                }
                None
            }
            What::Named { name, by_exec } => {
                let life = self.known(pid)?;
                if by_exec {
                    life.note_exec(t_ns);
                }
                let is_new = std::mem::replace(&mut life.name, name) != name;
                (is_new && life.is_recorded).then_some(Change::Renamed { pid, name })
            }
            What::Exit => {
                self.has_doubt |= t_ns <= self.listed_ns && !self.by_pid.contains_key(&pid);
                let life = self.known(pid)?;
                life.threads = life.threads.saturating_sub(1);
                if life.threads > 0 {
                    return None;
                }
                life.end_ns = Some(t_ns);
                let life = *life;
                self.end_files(pid);
                // The kernel ends the events, not the process, when it takes on rights of another user.
                let lost_sight = life.exec_ns.is_some_and(|exec_ns| t_ns - exec_ns < SHORTEST_PROGRAM_NS);
                self.has_doubt |= self.is_of_tree && lost_sight;
                if life.is_recorded || is_member(pid) {
                    return Some(Change::MemberEnded { pid });
                }
                self.pass(pid, &life, t_ns);
                Some(Change::UnsampledEnded { pid })
            }
        }
    }

    fn end_files(&mut self, pid: i32) {
        if let Some(files) = &mut self.files {
            files.end(pid);
        }
    }

    /// The most that those who lived since the last call had mapped of files, each page counted once.
    pub(super) fn take_mapped_bytes(&mut self, touched: Option<Touched<'_>>) -> Option<u64> {
        let living = self.by_pid.iter().filter(|(_, life)| life.end_ns.is_none());
        // Where the record of its fork was not read yet, it has what its parent has.
        let living = living.map(|(pid, life)| (*pid, life.is_unannounced().then_some(life.parent_pid)));
        self.files.as_mut()?.take_interval(living, touched)
    }

    fn known(&mut self, pid: i32) -> Option<&mut Life> {
        let life = self.by_pid.get_mut(&pid);
        self.has_doubt |= life.is_none() && self.is_of_tree;
        life
    }

    fn fork(&mut self, pid: i32, parent_pid: i32, t_ns: u64) -> Option<Change> {
        let name = match self.by_pid.get_mut(&parent_pid) {
            Some(parent) => {
                parent.has_forked = true;
                parent.name
            }
            None if self.is_of_tree => {
                self.has_doubt = true;
                [0; 16]
            }
            None => return None,
        };
        if let Some(files) = &mut self.files {
            files.fork(pid, parent_pid);
        }
        if let Some(sampled) = self.by_pid.get_mut(&pid).filter(|life| life.is_unannounced()) {
            sampled.fork_ns = Some(t_ns);
            return None;
        }
        let before = self.by_pid.get(&pid).copied();
        self.begin(pid, Some(t_ns), parent_pid, name, false);
        let mut before = before?;
        // A pid comes back only after its process was reaped: its end was missed unless it is known.
        self.has_doubt |= before.end_ns.is_none();
        before.end_ns = before.end_ns.or(Some(t_ns));
        Some(Change::Replaced { pid, before })
    }

    /// A process is gone that a tick cannot show. Where its fork was not recorded it counts as having lived all the time.
    fn pass(&mut self, pid: i32, life: &Life, end_ns: u64) {
        self.passed.push(Passed::of(pid, life, end_ns));
        if self.passed.len() >= MAX_PASSED {
            self.folded += most_together(&self.passed);
            self.passed.clear();
        }
    }

    /// A member is gone. One that had ended before the last call of [`Lives::take_passed`] was a zombie of the tree then.
    pub(super) fn pass_member(&mut self, pid: i32, life: &Life, end_ns: u64) {
        if end_ns >= self.taken_until_ns {
            self.pass(pid, life, end_ns);
        }
    }

    /// Those that lived since the last call and that a tick at `now_ns` cannot show: they left before it, or it has not
    /// found them yet.
    pub(super) fn take_passed(&mut self, now_ns: u64) -> Vec<Passed> {
        let unsampled = self.by_pid.iter().filter(|(_, life)| !life.is_recorded && life.end_ns.is_none());
        let unsampled = unsampled.map(|(pid, life)| Passed::of(*pid, life, u64::MAX));
        let folded = std::iter::repeat_n(Passed::UNKNOWN, std::mem::take(&mut self.folded) as usize);
        self.taken_until_ns = now_ns;
        self.passed.drain(..).chain(unsampled).chain(folded).collect()
    }
}

fn most_together(lives: &[Passed]) -> u64 {
    let mut edges: Vec<(u64, i64)> =
        lives.iter().flat_map(|life| [(life.fork_ns, 1), (life.end_ns, -1)]).collect();
    edges.sort_unstable();
    let (mut alive, mut most) = (0, 0);
    for (_, step) in edges {
        alive += step;
        most = most.max(alive);
    }
    most as u64
}

#[cfg(test)]
#[path = "lives_tests.rs"]
mod tests;
