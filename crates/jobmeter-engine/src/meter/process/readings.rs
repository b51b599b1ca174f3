//! What was last read of a process, as the account takes it.

use super::super::bounds::parents::ParentFaults;
use super::{NEVER, Process, SHORTEST_FAULT_NS, Scale};
use crate::account::ended::{BeforeExec, CopyReadings, GivenUp, LastReadings, Present};
use crate::account::parts::{anon_by_faults_bytes, mapped_by_faults_bytes};
use crate::account::peaks::Living;
use crate::account::reading::{ProcessReading, Waited, WaitedAtTicks};
use crate::account::sharing::MemoryReading;
use crate::linux::proc::stat;
use crate::linux::sys;
use std::os::fd::AsRawFd;

/// Stands for memory that nothing bounds; a sum of many is still above every real bound.
const UNKNOWN_BYTES: u64 = u64::MAX >> 2;

/// What was known of a process that has become another program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exec {
    /// The most that it had at the last full tick and was seen to hold since; of a forked copy what it had changed by that tick, for the
    /// rest was its parent's.
    read_bytes: u64,
    /// Nothing but a forked copy.
    was_copy: bool,
}

impl Process {
    /// `stat` shows that it has become another program; `faults` are its page faults by now.
    pub(super) fn note_exec(&mut self, was_copy: bool, faults: u64) {
        let read_bytes = self.held_alone_bytes(was_copy);
        let before = self.exec.unwrap_or(Exec { read_bytes, was_copy });
        let read_bytes = before.read_bytes.max(read_bytes);
        self.exec = Some(Exec { read_bytes, was_copy: before.was_copy && was_copy });
        if !was_copy {
            self.programs_read += 1;
            let faults_since = faults.saturating_sub(self.faults_at_mark);
            let at_most_bytes = self.peak_rss_bytes.saturating_add(mapped_by_faults_bytes(faults_since, 0));
            self.before_exec_bytes = self.before_exec_bytes.max(at_most_bytes);
        }
    }

    /// Programs that it was seen to run; it may have run more.
    pub(crate) fn programs_read(&self) -> u32 {
        self.programs_read
    }

    /// The most that programs before the present one can have held; huge pages are not in it.
    pub(crate) fn before_exec_bytes(&self) -> u64 {
        self.before_exec_bytes
    }

    /// What ticks since the last full one tell of it as the program that it is, without the faults since that tick.
    fn held_alone_bytes(&self, is_copy: bool) -> u64 {
        if is_copy { self.changed_at_full_bytes } else { self.max_rss_bytes }
    }

    /// It was another program since the last full tick.
    pub(crate) fn has_execed(&self) -> bool {
        self.exec.is_some()
    }

    /// What it held since the last full tick before it became the present program.
    pub(super) fn before_exec(&self, copy_ns: Option<u64>) -> Option<BeforeExec> {
        self.exec.map(|Exec { read_bytes, was_copy }| BeforeExec {
            read_bytes,
            faults: self.faults_since_full(),
            copy_ns: copy_ns.filter(|_| was_copy),
            ..BeforeExec::default()
        })
    }

    /// What it has as the program that the full tick at `now_ns` has read, at least. Its memory may have been read before its page faults
    /// and once more after them: the smaller of both took none but those.
    pub(crate) fn present(&self, now_ns: u64) -> Option<Present> {
        let anon_bytes = self.rss_bytes.saturating_sub(self.rss_file_bytes);
        (self.slow_at_ns == now_ns).then(|| Present {
            anon_bytes: anon_bytes.min(self.read_before.anon_bytes),
            file_bytes: self.rss_file_bytes.min(self.read_before.file_bytes),
        })
    }

    /// All anonymous memory at the last full tick, where that has seen it.
    pub(crate) fn anon_at_full_bytes(&self) -> Option<u64> {
        self.anon_at_full_bytes
    }

    /// The kernel shows its high-water mark.
    pub(crate) fn has_mark(&self) -> bool {
        self.has_mark
    }

    /// The last full tick could not see its memory.
    pub(crate) fn hid_memory(&self) -> bool {
        self.hid_memory
    }

    /// Page faults of its own since the last full tick.
    pub(crate) fn faults_since_full(&self) -> u64 {
        self.stat.faults().saturating_sub(self.faults_at_full)
    }

    /// What bounds its memory since the last full tick, for the account; `None` where its mark is not up to date, or where this tick or
    /// the last one could not see its memory. `copy_ns`: how long it was a forked copy, if it has become a program once since its fork.
    pub(crate) fn living(&self, now_ns: u64, copy_ns: Option<u64>) -> Option<Living> {
        let is_fresh = self.slow_at_ns == now_ns || !self.is_slow_old();
        let is_known = is_fresh && !self.hid_memory && !self.hides_memory();
        let faults_since = self.faults_since_full();
        is_known.then(|| Living {
            pid: self.id.pid,
            parent_pid: self.forked_by,
            is_main: self.is_main,
            is_copy: self.stat.is_forked_copy() && !self.is_main,
            counts_from_birth: false,
            anon_bytes: self.rss_bytes.saturating_sub(self.rss_file_bytes),
            anon_at_birth_bytes: self.anon_at_birth_bytes,
            parent_faults_at_birth: self.parent_faults_at_birth,
            max_rss_bytes: self.max_rss_bytes,
            max_anon_bytes: self.max_anon_bytes,
            anon_before_bytes: self.anon_before_bytes(),
            min_file_bytes: self.min_file_bytes,
            max_file_bytes: self.max_file_bytes,
            file_bytes: self.rss_file_bytes,
            mark_bytes: if self.has_mark { self.peak_rss_bytes } else { u64::MAX },
            before_exec: self.before_exec(copy_ns),
            changed_bytes: self.changed_at_most_bytes(self.stat.faults()),
            faults: self.stat.faults(),
            faults_since,
        })
    }

    /// What bounds its memory now that it has ended. `mark_bytes` is its final mark where that is known, `faults` all of
    /// its page faults, `last_name` what it was called at its end; `parent` is given where its parent's memory counts, in which
    /// is what a forked copy shares.
    pub(crate) fn last_readings(
        &self,
        mark_bytes: Option<u64>,
        faults: Option<u64>,
        last_name: Option<[u8; 16]>,
        parent: Option<ParentFaults>,
    ) -> LastReadings {
        let has_changed = last_name.is_some_and(|name| name != self.stat.name);
        if self.hid_memory {
            return self.last_readings_of_hidden(mark_bytes.filter(|_| !has_changed), faults);
        }
        let parent = parent.filter(|_| self.stat.is_forked_copy() && !self.is_main);
        let is_copy = parent.is_some();
        let parent_faults = |parent: ParentFaults| parent.after(self.parent_faults_at_birth);
        LastReadings {
            final_mark_bytes: mark_bytes,
            read_mark_bytes: self.peak_rss_bytes,
            faults_after: faults.map(|faults| faults.saturating_sub(self.faults_at_mark)),
            anon_bytes: self.max_anon_bytes,
            anon_before_bytes: self.anon_before_bytes(),
            anon_at_full_bytes: self.anon_at_full_bytes,
            faults_since_full: faults.map(|faults| faults.saturating_sub(self.faults_at_full)),
            copy: faults.zip(parent).map(|(faults, parent)| CopyReadings {
                faults,
                changed_bytes: self.changed_at_most_bytes(faults),
                faults_after: faults.saturating_sub(self.faults_at_full),
                parent_faults: parent_faults(parent),
                rss_bytes: self.max_rss_bytes,
            }),
            given_up: parent.and_then(|parent| self.given_up_by(parent.anon_at_full_bytes)),
            inherited_mark_bytes: (is_copy && self.has_mark).then_some(self.peak_rss_bytes),
            was_hidden: false,
            read_copy_bytes: parent.map(|parent| {
                self.changed_at_most_bytes(self.stat.faults())
                    .saturating_add(anon_by_faults_bytes(parent_faults(parent)))
                    .saturating_add(self.max_file_bytes)
            }),
            before_exec: faults.filter(|_| has_changed).map(|faults| BeforeExec {
                read_bytes: self.held_alone_bytes(self.stat.is_forked_copy()),
                faults: faults.saturating_sub(self.faults_at_full),
                copy_ns: self.stat.is_forked_copy().then_some(u64::MAX),
                ..BeforeExec::default()
            }),
            file_bytes: if is_copy {
                self.max_file_bytes
            } else {
                self.min_file_bytes.min(self.max_file_bytes)
            },
        }
    }

    /// What this copy had at the last full tick beyond what its parent had by then. A copy that was born later has what its parent had
    /// at its fork, which is in the bound of the parent.
    pub(super) fn given_up_by(&self, parent_anon_bytes: Option<u64>) -> Option<GivenUp> {
        let inherited_bytes = self.anon_at_birth_bytes.min(self.anon_at_full_bytes?);
        let bytes = inherited_bytes.saturating_sub(parent_anon_bytes.unwrap_or(0));
        (bytes > 0).then_some(GivenUp { parent_pid: self.forked_by, bytes })
    }

    /// Where the last full tick could not see its memory: small pages are bounded by page faults, huge pages and files are not. A forked
    /// copy has others from its parent.
    fn last_readings_of_hidden(&self, mark_bytes: Option<u64>, faults: Option<u64>) -> LastReadings {
        let faults = faults.filter(|_| !self.stat.is_forked_copy());
        LastReadings {
            final_mark_bytes: mark_bytes,
            read_mark_bytes: UNKNOWN_BYTES,
            anon_bytes: self.max_anon_bytes,
            anon_before_bytes: self.max_anon_bytes,
            faults_since_full: faults.map(|faults| faults.saturating_sub(self.faults_at_full)),
            was_hidden: true,
            ..LastReadings::default()
        }
    }

    /// Anonymous memory to which its faults since the last full tick can have added. What a forked copy was born with took no
    /// fault: there it is the most that ticks have seen.
    fn anon_before_bytes(&self) -> u64 {
        if self.stat.is_forked_copy() { self.max_anon_bytes } else { self.anon_at_full_bytes.unwrap_or(0) }
    }

    /// A full tick has bounded its memory: the next interval begins.
    pub(crate) fn begin_interval(&mut self) {
        let by_faults_bytes = anon_by_faults_bytes(self.faults_since_full());
        let hidden_bytes = self.anon_before_bytes().max(self.max_anon_bytes).saturating_add(by_faults_bytes);
        self.take_changed();
        self.hid_memory = self.hides_memory();
        self.max_rss_bytes = self.rss_bytes;
        let anon_bytes = self.rss_bytes.saturating_sub(self.rss_file_bytes);
        self.max_anon_bytes = if self.hid_memory { hidden_bytes } else { anon_bytes };
        (self.min_file_bytes, self.max_file_bytes) = (self.rss_file_bytes, self.rss_file_bytes);
        (self.faults_at_full, self.read_at_full_ns) = (self.stat.faults(), self.slow_at_ns);
        self.anon_at_full_bytes = Some(self.max_anon_bytes);
        self.exec = None;
        self.forked_by = self.parent_pid;
        self.is_end_bounded = self.has_given_memory_back();
    }

    /// The last full tick, at `full_ns`, has read its page faults.
    pub(crate) fn was_read_at_full(&self, full_ns: u64) -> bool {
        self.read_at_full_ns == full_ns
    }

    /// The process that forked it, as long as it counts: one that ended since the last full tick does.
    pub(crate) fn forked_by(&self) -> i32 {
        self.forked_by
    }

    /// The kernel's record of its fork names `pid`; when it was found, another may have been its parent already.
    pub(crate) fn note_forked_by(&mut self, pid: i32) {
        self.forked_by = pid;
    }

    /// Its end was bounded when a full tick found it a zombie.
    pub(crate) fn is_end_bounded(&self) -> bool {
        self.is_end_bounded
    }

    /// The last full tick has bounded its end: all of its threads had ended before it was over.
    pub(crate) fn bound_end(&mut self) {
        self.is_end_bounded = true;
    }

    /// Reads the page faults of waited-for children anew, and nothing else: the other counters of `stat` must stay in
    /// step with those of the children, which were read earlier.
    pub(crate) fn read_waited_faults(&mut self, buffer: &mut [u8]) {
        let read = match &self.stat_file {
            Some(file) => sys::pread(file.as_raw_fd(), buffer, 0),
            None => self.proc.read(self.id.pid, "stat", buffer),
        };
        let stat = read.ok().and_then(|length| stat::parse(&buffer[..length]));
        if let Some(stat) = stat.filter(|stat| stat.start_ticks == self.id.start_ticks) {
            self.waited_faults = self.waited_faults.max(stat.children_faults());
        }
    }

    /// Its memory as last read, for the account.
    pub(crate) fn memory_reading(&self, scale: Scale) -> MemoryReading {
        MemoryReading {
            is_main: self.is_main,
            is_copy: self.stat.is_forked_copy() && !self.is_main,
            rss_bytes: self.rss_bytes,
            file_bytes: self.rss_file_bytes.min(self.rss_bytes),
            anon_at_birth_bytes: self.anon_at_birth_bytes,
            rollup: self.rollup.map(|last| last.rollup),
            rollup_cost_ns: self.rollup_cost_ns(),
            unshared_at_most_bytes: self.unshared_at_most_bytes(scale),
            has_unread_faults: self.is_stat_old(),
        }
    }

    /// Inherited pages that it may have made its own since the last rollup: each takes a fault, and each fault
    /// takes time. Pages by which it has grown took faults as well.
    fn unshared_at_most_bytes(&self, scale: Scale) -> u64 {
        let faults = self.stat.faults_minor.saturating_sub(self.faults_at_rollup);
        let unread_ns =
            if self.cpu_at_stat_ns == NEVER { self.cpu_ns } else { self.cpu_ns - self.cpu_at_stat_ns };
        let unknown = unread_ns / SHORTEST_FAULT_NS;
        let anon_bytes = self.rss_bytes.saturating_sub(self.rss_file_bytes);
        let grown_bytes = anon_bytes.saturating_sub(self.anon_at_rollup_bytes);
        ((faults + unknown) * scale.page_bytes).saturating_sub(grown_bytes)
    }

    /// What a rollup would cost: 15 µs per megabyte of anonymous memory in small pages and 5 of files and shared memory, or less
    /// where the last one was cheaper (huge pages). A first read of a small process says little about a large one.
    pub fn rollup_cost_ns(&self) -> u64 {
        let anon_bytes = self.rss_bytes.saturating_sub(self.rss_file_bytes);
        let by_size_ns = 40_000 + (anon_bytes * 15 + self.rss_file_bytes * 5) / 1000;
        let by_last_ns = self.rollup.map(|last| {
            let grown = self.rss_bytes as f64 / last.rollup.rss_bytes.max(1) as f64;
            (last.cost_ns as f64 * grown.max(0.1)) as u64 + 5_000
        });
        by_last_ns.map_or(by_size_ns, |by_last_ns| by_last_ns.min(by_size_ns))
    }

    /// What it has got from the children that it waited for.
    pub(crate) fn waited(&self, scale: Scale) -> Waited {
        Waited {
            user_ns: self.stat.children_user_ticks * scale.tick_ns,
            system_ns: self.stat.children_system_ticks * scale.tick_ns,
            faults_minor: self.stat.children_faults_minor,
            faults_major: self.stat.children_faults_major,
        }
    }

    /// Whether any child was ever waited for: every process that ever ran has faulted at least once.
    pub fn has_waited(&self) -> bool {
        self.stat.children_faults_minor > 0
    }

    /// `stat` was read after `io`. A child that is waited for between the two reads brings its bytes into `io` unseen, so an
    /// `io` is known to be the process's own only by a later `stat`.
    pub(super) fn confirm_own_io(&mut self) {
        if !self.has_waited() {
            self.own_io = self.io;
        }
    }

    /// The kernel-mode part of `cpu_ns`, by the proportion that `stat` shows: a guess.
    pub fn system_ns(&self) -> u64 {
        let (user_ticks, system_ticks) = (self.stat.user_ticks, self.stat.system_ticks);
        ProcessReading { cpu_ns: self.cpu_ns, user_ticks, system_ticks, ..ProcessReading::default() }
            .system_ns()
    }

    /// Its counters, as last read.
    pub(crate) fn reading(&self, scale: Scale) -> ProcessReading {
        ProcessReading {
            pid: self.id.pid,
            parent_pid: self.parent_pid,
            is_main: self.is_main,
            cpu_ns: self.cpu_ns,
            user_ticks: self.stat.user_ticks,
            system_ticks: self.stat.system_ticks,
            waited: self.waited(scale),
            io: self.io,
            io_is_refused: self.io_is_refused,
            faults_minor: self.stat.faults_minor,
            faults_major: self.stat.faults_major,
            switches: self.switches,
            ignores_children: self.ignores_children,
        }
    }

    /// At the end of a tick: see `waited_at`.
    pub(crate) fn remember_waited(&mut self, scale: Scale) {
        self.ignored_children_before = self.ignores_children;
        self.waited_at =
            WaitedAtTicks { last_tick: self.waited(scale), tick_before: self.waited_at.last_tick };
    }
}
