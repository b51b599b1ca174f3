//! The process tree under the meter: who belongs to it, found through the kernel's own lists of children,
//! keyed by pid and start time. Orphans come to us when we are the subreaper, and stay members wherever else
//! they are re-parented once they were seen.

use crate::account::reading::ProcessReading;
use crate::account::sharing::MemoryReading;
use crate::linux::control::Pid;
use crate::linux::descriptors::Descriptors;
use crate::linux::proc::root::ProcRoot;
use crate::linux::sys;
use crate::meter::groups::Groups;
use crate::meter::process::{Presence, Process, Scale, read_children_of, read_thread_children};
use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd};

/// Descriptors kept per process: statm and children; a third (stat) for parents.
const FILES_PER_PROCESS: u64 = 2;

/// With more descriptors than this no further ones are kept to tell how processes end: those that save reads come first.
const MOST_WITH_EXITS: u64 = 96;

/// Who has not run since is read again this often.
const IDLE_PERIOD_NS: u64 = 10_000_000_000;

/// An idle process is read once in so many ticks, for what the kernel changes by itself.
const IDLE_ROUNDS: usize = 16;

/// Processes between two calls of `breathe`.
const BREATH: usize = 128;

/// The processes of a job.
pub struct Tree {
    /// Parents before their children.
    pub processes: Vec<Process>,
    by_pid: HashMap<i32, usize>,
    found_count: u64,
    is_disordered: bool,
    /// Of clock ticks and pages.
    pub scale: Scale,
    pub(crate) proc: ProcRoot,
    /// Our own pid when orphans are re-parented to us.
    adopter: Option<i32>,
    /// Its list of children, kept open.
    adopted_file: Option<OwnedFd>,
    /// Threads of main that are the meter's own: they have no children.
    pub meters_threads: u64,
    /// Some member has used CPU time since the tick before.
    somebody_ran: bool,
    /// The resident memory of some member has changed since the tick before.
    has_moved: bool,
    /// The job's group said at the last refresh that nobody had run.
    is_still: bool,
    /// Ticks so far.
    rounds: usize,
    /// Children of ours that are not the job's.
    excluded: Vec<i32>,
    /// Sessions of helpers of ours: whoever is in one is not the job's.
    excluded_sessions: Vec<i32>,
    /// Descriptors of the members, as of the last refresh and of what came and went since.
    kept_files: u64,
    descriptors: Descriptors,
    found: Vec<i32>,
    /// For reading files, used again and again.
    pub buffer: Vec<u8>,
    /// The kernel offers `task/TID/children`; otherwise all of /proc is searched.
    has_children_lists: bool,
    /// Groups whose members belong to the job, whoever their parents are.
    pub(crate) groups: Groups,
}

impl Tree {
    /// A tree without a root yet. `adopter` is our pid when we are the subreaper of the job.
    pub fn new(adopter: Option<i32>) -> Tree {
        Tree::under(ProcRoot::KERNEL, adopter)
    }

    /// As [`Tree::new`], with the files of processes below `proc`.
    pub(crate) fn under(proc: ProcRoot, adopter: Option<i32>) -> Tree {
        Tree {
            processes: Vec::with_capacity(64),
            by_pid: HashMap::with_capacity(64),
            found_count: 0,
            is_disordered: false,
            scale: Scale::of_this_machine(),
            proc,
            adopter,
            adopted_file: adopter.and_then(|pid| proc.open_task(pid, pid, "children").ok()),
            meters_threads: 0,
            somebody_ran: true,
            has_moved: true,
            is_still: false,
            rounds: 0,
            excluded: Vec::new(),
            excluded_sessions: Vec::new(),
            kept_files: 0,
            descriptors: Descriptors::new(),
            found: Vec::with_capacity(64),
            buffer: vec![0; 16 * 1024],
            has_children_lists: true,
            groups: Groups::default(),
        }
    }

    /// Makes `main_pid` the root. `None` when it is not there, or not to be read.
    pub fn open_main(&mut self, main_pid: i32) -> Option<()> {
        let main = Process::open(self.proc, main_pid, true, true, self.scale, &mut self.buffer)?;
        self.has_children_lists = main.has_children_list();
        self.insert(main);
        Some(())
    }

    /// The meter is part of somebody else's program: see [`Descriptors`].
    pub fn be_guest(&mut self) {
        self.descriptors.be_guest(self.kept_files);
    }

    /// Whether descriptors ran out since the last call, so that members may have been missed. All kept files
    /// are given back then: the next reads find a free one.
    pub fn ran_out_of_descriptors(&mut self) -> bool {
        let ran_out = self.descriptors.ran_out();
        if ran_out {
            self.processes.iter_mut().for_each(Process::close_files);
            self.kept_files = 0;
        }
        ran_out
    }

    /// Closes files of members, the youngest first, until `excess` are closed. Main's stay.
    fn give_back(&mut self, excess: u64) {
        let mut closed = 0;
        for process in self.processes.iter_mut().rev().filter(|process| !process.is_main) {
            if closed >= excess {
                break;
            }
            closed += process.kept_files();
            process.close_files();
        }
        self.kept_files = self.kept_files.saturating_sub(closed);
    }

    /// A child of ours that is not the job's: it is left out of the tree.
    pub fn exclude(&mut self, pid: Pid) {
        self.excluded.push(pid.get());
    }

    /// As [`Tree::exclude`], for a child that leads a session of its own: what it starts and leaves to us is left out too.
    pub fn exclude_session(&mut self, leader: Pid) {
        self.excluded_sessions.push(leader.get());
        self.exclude(leader);
    }

    /// Whether a child of ours is no part of the job. Tells it of a zombie too.
    pub fn is_excluded(&self, pid: i32) -> bool {
        if self.excluded.contains(&pid) || self.excluded_sessions.is_empty() {
            return self.excluded.contains(&pid);
        }
        // SAFETY: a plain query.
        let session = unsafe { libc::getsid(pid) };
        self.excluded_sessions.contains(&session)
    }

    /// Undoes [`Tree::exclude`] once the child was reaped: from then on the kernel may give its pid to a process
    /// of the job.
    pub fn include(&mut self, pid: Pid) {
        self.excluded.retain(|excluded| *excluded != pid.get());
    }

    /// The main process, while it is in the tree.
    pub fn main(&self) -> Option<&Process> {
        self.processes.iter().find(|process| process.is_main)
    }

    pub(crate) fn main_mut(&mut self) -> Option<&mut Process> {
        self.processes.iter_mut().find(|process| process.is_main)
    }

    /// The counters of all members, as last read.
    pub(crate) fn readings(&self) -> impl Iterator<Item = ProcessReading> {
        self.processes.iter().map(|process| process.reading(self.scale))
    }

    /// The member with this pid.
    pub fn get(&self, pid: i32) -> Option<&Process> {
        self.by_pid.get(&pid).map(|index| &self.processes[*index])
    }

    /// The member with this pid, and a buffer to read it with.
    pub fn get_mut(&mut self, pid: i32) -> Option<(&mut Process, &mut Vec<u8>)> {
        let index = *self.by_pid.get(&pid)?;
        Some((&mut self.processes[index], &mut self.buffer))
    }

    fn insert(&mut self, mut process: Process) {
        if process.serial == 0 {
            self.found_count += 1;
            process.serial = self.found_count;
        }
        self.kept_files += process.kept_files();
        self.by_pid.insert(process.id.pid, self.processes.len());
        self.processes.push(process);
    }

    /// Takes `pid` out of the tree.
    pub fn remove(&mut self, pid: i32) -> Option<Process> {
        let index = self.by_pid.remove(&pid)?;
        let process = self.processes.swap_remove(index);
        if let Some(moved) = self.processes.get(index) {
            self.by_pid.insert(moved.id.pid, index);
            self.is_disordered = true;
        }
        self.kept_files = self.kept_files.saturating_sub(process.kept_files());
        if process.has_had_children {
            let orphans = self.processes.iter_mut().filter(|other| other.parent_pid == pid);
            orphans.for_each(Process::expect_news);
        }
        Some(process)
    }

    /// Nothing is read any more.
    pub fn close_files(&mut self) {
        self.adopted_file = None;
        self.processes.iter_mut().for_each(Process::close_files);
        self.processes.shrink_to_fit();
        self.buffer = Vec::new();
        self.found = Vec::new();
    }

    /// Undoes [`Tree::remove`].
    pub fn put_back(&mut self, process: Process) {
        self.insert(process);
    }

    /// Parents are read before their children: who is waited for in between is then missing for a moment, until
    /// its parent is read again. The other way round it would count twice.
    fn restore_order(&mut self) {
        if std::mem::take(&mut self.is_disordered) {
            self.processes.sort_unstable_by_key(|process| process.serial);
            for (index, process) in self.processes.iter().enumerate() {
                self.by_pid.insert(process.id.pid, index);
            }
        }
    }

    /// The fast reads of all members, and the slow ones of those that have run when it `is_full`; `departed` gets the
    /// ones that are gone. `breathe` is called now and then. `is_still`: the job's group has used no CPU time since the
    /// last refresh, so that clocks need not be asked one by one.
    pub fn refresh(
        &mut self,
        now_ns: u64,
        is_full: bool,
        is_still: bool,
        departed: &mut Vec<i32>,
        breathe: &mut dyn FnMut(),
    ) {
        self.restore_order();
        let (scale, buffer) = (self.scale, &mut self.buffer);
        (self.somebody_ran, self.has_moved, self.is_still) = (false, false, is_still);
        self.rounds += 1;
        let round = self.rounds % IDLE_ROUNDS;
        let mut kept_files = 0;
        for (index, process) in self.processes.iter_mut().enumerate() {
            if index % BREATH == BREATH - 1 {
                breathe();
            }
            let is_turn = index % IDLE_ROUNDS == round;
            let wants_exit = process.wants_exit();
            if process.is_settled() && !is_turn && !wants_exit && (is_still || process.is_idle()) {
                kept_files += process.kept_files();
                continue;
            }
            let (cpu_before_ns, rss_before_bytes) = (process.cpu_ns, process.rss_bytes);
            let mut presence = if wants_exit {
                let kept = self.kept_files.max(kept_files);
                let may_be_kept = kept < MOST_WITH_EXITS && self.descriptors.allow(kept, 1);
                process.read_and_follow_exit(may_be_kept, scale, buffer)
            } else {
                process.read_fast(scale, buffer)
            };
            self.somebody_ran |= presence == Presence::Gone || process.cpu_ns != cpu_before_ns;
            self.has_moved |= process.rss_bytes != rss_before_bytes;
            // What the kernel changes by itself (swap) is looked at now and then.
            let is_due = match process.is_slow_old() {
                true => is_full || process.slow_at_ns == 0,
                false => now_ns >= process.slow_at_ns + IDLE_PERIOD_NS,
            };
            let is_followed = process.is_main || process.has_had_children || process.rss_bytes == 0;
            if presence == Presence::Here && is_due {
                presence = process.read_slow(now_ns, buffer);
                process.read_memory_after_faults(scale, buffer);
            } else if presence == Presence::Here && is_followed && process.is_stat_old() {
                presence = process.read_stat(buffer);
                process.read_memory_after_faults(scale, buffer);
            }
            if presence == Presence::Gone {
                departed.push(process.id.pid);
            } else if process.hides_memory() {
                process.follow_living_thread(scale, buffer);
            }
            kept_files += process.kept_files();
        }
        self.kept_files = kept_files;
        let excess = self.descriptors.excess(now_ns, kept_files);
        if excess > 0 {
            self.give_back(excess);
        }
    }

    /// Right after the tree was made: reads what the making has not, and the clock, for that goes on.
    pub fn complete(&mut self, now_ns: u64) {
        for process in &mut self.processes {
            process.cpu_ns = sys::process_cpu_ns(process.id.pid).unwrap_or(process.cpu_ns);
            process.read_after_stat(now_ns, &mut self.buffer);
        }
    }

    /// Resident sizes once more. A process that is gone holds nothing; the next tick notices its departure.
    pub fn refresh_memory(&mut self) {
        for process in &mut self.processes {
            if process.read_fast(self.scale, &mut self.buffer) == Presence::Gone {
                (process.rss_bytes, process.rss_file_bytes) = (0, 0);
            }
        }
    }

    /// Whether a member has run although the group said that nobody had: it is not in the group.
    pub(crate) fn belies_group(&self) -> bool {
        self.is_still && self.somebody_ran
    }

    /// Whether some member has run, ended or changed its size since the tick before.
    pub(crate) fn has_changed(&self) -> bool {
        self.somebody_ran || self.has_moved
    }

    /// The memory of all members, in their order.
    pub(crate) fn memory_readings(&self) -> Vec<MemoryReading> {
        self.processes.iter().map(|process| process.memory_reading(self.scale)).collect()
    }

    /// Finds members that were born since the last call; `born` gets their pids. `breathe` as in `refresh`.
    pub fn discover(
        &mut self,
        now_ns: u64,
        interval_ns: u64,
        born: &mut Vec<i32>,
        breathe: &mut dyn FnMut(),
    ) {
        self.discover_in_groups(born);
        if self.groups.are_all {
            return;
        }
        if !self.has_children_lists {
            return self.discover_by_scan(born);
        }
        if let Some(file) = &self.adopted_file {
            let found = &mut self.found;
            found.clear();
            read_children_of(file.as_raw_fd(), &mut self.buffer, &mut |pid| found.push(pid));
            self.adopt_found(born, breathe);
        }
        if self.is_still && !self.somebody_ran {
            // No process has run, so none has forked.
            return;
        }
        // Grows while it is walked: children of new members are found in the same pass.
        let mut index = 0;
        while index < self.processes.len() {
            if index % BREATH == BREATH - 1 {
                breathe();
            }
            let process = &mut self.processes[index];
            index += 1;
            if !process.may_have_new_children(now_ns, self.somebody_ran) {
                continue;
            }
            let found = &mut self.found;
            found.clear();
            process.read_children(now_ns, &mut self.buffer, &mut |pid| found.push(pid));
            let meters_threads = if process.is_main { self.meters_threads } else { 0 };
            let threads = process.stat.threads.saturating_sub(meters_threads);
            let threads_period_ns = interval_ns.max(threads * 1_000_000);
            if threads > 1 && now_ns >= process.threads_scanned_at_ns + threads_period_ns {
                process.threads_scanned_at_ns = now_ns;
                find_children_of_threads(self.proc, process.id.pid, &mut self.buffer, found);
            }
            if !found.is_empty() {
                if !process.has_had_children {
                    process.has_had_children = true;
                    if self.descriptors.allow(self.kept_files, 1) {
                        process.keep_stat_open();
                        self.kept_files += 1;
                    }
                }
                self.adopt_found(born, breathe);
            }
        }
    }

    /// Adds those of `found` that are not members yet.
    fn adopt_found(&mut self, born: &mut Vec<i32>, breathe: &mut dyn FnMut()) {
        for at in 0..self.found.len() {
            if at % BREATH == BREATH - 1 {
                breathe();
            }
            let pid = self.found[at];
            if !self.by_pid.contains_key(&pid) && !self.is_excluded(pid) {
                self.add(pid, born);
            }
        }
    }

    pub(super) fn add(&mut self, pid: i32, born: &mut Vec<i32>) {
        let keep = self.descriptors.allow(self.kept_files, FILES_PER_PROCESS);
        if let Some(mut process) = Process::open(self.proc, pid, false, keep, self.scale, &mut self.buffer) {
            self.note_child_of_guest(&process);
            let parent = self.get(process.parent_pid);
            process.parent_faults_at_birth = parent.map_or(0, Process::faults_before_newborns);
            self.insert(process);
            born.push(pid);
        }
    }

    /// Kernels without lists of children: everyone whose parent is a member is one.
    fn discover_by_scan(&mut self, born: &mut Vec<i32>) {
        let mut parents: HashMap<i32, Vec<i32>> = HashMap::new();
        let mut pids = Vec::new();
        if self.proc.list_processes(&mut self.buffer, |pid| pids.push(pid)).is_err() {
            return;
        }
        for pid in pids.into_iter().filter(|pid| !self.by_pid.contains_key(pid)) {
            if let Some(stat) = self.proc.stat(pid, &mut self.buffer) {
                parents.entry(stat.parent_pid).or_default().push(pid);
            }
        }
        let mut queue: Vec<i32> = self.processes.iter().map(|process| process.id.pid).collect();
        queue.extend(self.adopter);
        while let Some(parent) = queue.pop() {
            for pid in parents.remove(&parent).unwrap_or_default() {
                if !self.is_excluded(pid) {
                    self.add(pid, born);
                    queue.push(pid);
                }
            }
        }
    }
}

/// Children belong to the thread that forked them: in a process with threads each has its own list.
fn find_children_of_threads(proc: ProcRoot, pid: i32, buffer: &mut [u8], found: &mut Vec<i32>) {
    let mut tids = Vec::new();
    if proc.list_threads(pid, buffer, |tid| tids.push(tid)).is_err() {
        return;
    }
    for tid in tids.into_iter().filter(|tid| *tid != pid) {
        read_thread_children(proc, pid, tid, buffer, &mut |child| found.push(child));
    }
}

#[cfg(test)]
mod fake_root_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_stay_before_their_children_when_others_leave() {
        let mut children: Vec<_> =
            (0..3).map(|_| std::process::Command::new("sleep").arg("60").spawn().expect("a child")).collect();
        let mut tree = Tree::new(None);
        tree.open_main(std::process::id() as i32).expect("we live");
        let (mut born, mut departed) = (Vec::new(), Vec::new());
        // Each test of this process may have children too: only ours are looked at.
        for child in &children {
            tree.add(child.id() as i32, &mut born);
        }
        tree.remove(children[0].id() as i32).expect("it was there");
        let last = tree.processes.iter().position(|process| process.id.pid == children[2].id() as i32);
        assert_eq!(last, Some(1), "the last one took the place of the first");
        tree.refresh(sys::monotonic_ns(), true, false, &mut departed, &mut || {});
        let serials: Vec<u64> = tree.processes.iter().map(|process| process.serial).collect();
        assert!(serials.is_sorted(), "{serials:?}");
        for process in &tree.processes {
            assert_eq!(tree.get(process.id.pid).map(|found| found.id), Some(process.id));
        }
        for child in &mut children {
            child.kill().expect("our own child");
            child.wait().expect("it ends");
        }
    }
}
