//! What the job has mapped of files and shared memory, by the records of the ring.

use super::Follower;
use crate::linux::perf_ring::files::MappedFiles;
use crate::linux::perf_ring::record::{FileId, Mapping, Record, What};
use crate::linux::perf_ring::touched::TouchedFiles;
use crate::linux::proc::maps;
use crate::linux::proc::pagemap::PageMap;
use crate::linux::proc::root::ProcRoot;
use crate::linux::sys;
use crate::meter::Meter;
use std::collections::HashSet;
use std::io;
use std::os::fd::AsRawFd;

/// The mappings of more processes than this are not read, each of which takes some 50 µs.
const MOST_READ: usize = 64;

/// Jobs that are shorter are followed only if many processes live at a time.
const SHORT_SCRIPT_NS: u64 = 20_000_000;

/// The meter stands still while the trace points are switched on, some milliseconds on a busy machine: not while processes come and go
/// so fast that their records would not fit into the ring meanwhile.
const MOST_RECENT_RECORDS: usize = 64;

/// The kernel's own pages that every process maps: no file, and in no record.
const VDSO_BYTES: u64 = 16 * 1024;

/// Pages of one mapping that are told apart: 64 MiB.
const MOST_ENTRIES: usize = 16 * 1024;

/// What is followed of mappings, and when.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Mappings are followed from this time of the run on.
    due_ns: u64,
    has_tried_touches: bool,
    /// Touched pages are followed since the last interval ended, not since it began.
    are_touches_new: bool,
    /// How many records of starts and ends came lately, the older ones counting less.
    recent_records: usize,
    /// How often somebody forked while events were opened.
    crossed: u32,
}

/// So often it is tried again at once. To open the first events can take 30 ms, to open further ones a few hundred microseconds.
const MOST_CROSSED: u32 = 6;

impl Plan {
    /// Somebody forked while events were opened.
    fn try_again(&mut self) {
        self.crossed += 1;
        if self.crossed <= MOST_CROSSED {
            self.due_ns = 0;
        }
    }

    pub(super) fn note_records(&mut self, records: &[Record]) {
        let lives = records.iter().filter(|record| !matches!(record.what, What::Mapped(_))).count();
        self.recent_records = lives.max(self.recent_records / 2);
    }
}

impl Follower {
    /// Whether it is told how many page faults each process had when it ended.
    pub(crate) fn counts_faults(&self) -> bool {
        self.ring.is_fed() && self.ring.has_maps()
    }

    /// Takes up what was touched of files until now.
    pub(crate) fn collect_touches(&mut self) {
        self.ring.collect_touches();
    }

    /// The most that the job had mapped of files and shared memory since the last call, each page counted once; `None` where
    /// that is not known. `huge_bytes` is what the machine has mapped of files with huge pages since the run began, which no
    /// record of touched pages tells.
    pub(crate) fn take_mapped_bytes(&mut self, huge_bytes: Option<u64>) -> Option<u64> {
        let files = self.lives.files.as_mut()?;
        if !self.ring.has_maps() {
            self.lives.files = None;
            return None;
        }
        // Their processes may be the job's, and they may be of this interval.
        self.ring.waiting_mappings().for_each(|mapping| {
            files.note(mapping);
        });
        let are_new = std::mem::take(&mut self.maps.are_touches_new);
        let touched = huge_bytes.filter(|_| !are_new).and_then(|huge_bytes| self.ring.touched(huge_bytes));
        self.lives.take_mapped_bytes(touched).map(|bytes| bytes + VDSO_BYTES)
    }

    /// A tick that began at `tick_ns` has read `bytes` of files in the memory of `pid`. More than the records allow means that
    /// they do not tell all: a mapping was enlarged with mremap, or pages came in a way that is not traced.
    pub(crate) fn check_mapped(&mut self, pid: i32, bytes: u64, tick_ns: u64, huge_bytes: Option<u64>) {
        let is_same_program = self.lives.get(pid).is_some_and(|life| life.is_same_program_since(tick_ns));
        let mut waiting = self.ring.waiting.iter().filter(|record| record.pid == pid);
        if !is_same_program || waiting.next().is_some() {
            return;
        }
        let Some(files) = &self.lives.files else { return };
        let is_short = |touched| {
            files.bytes_of(pid, touched).is_some_and(|known_bytes| known_bytes + VDSO_BYTES < bytes)
        };
        let touched = huge_bytes.and_then(|huge_bytes| self.ring.touched(huge_bytes));
        let touches_are_short = touched.is_some() && is_short(touched);
        if is_short(None) {
            self.lives.files = None;
        }
        if touches_are_short {
            self.ring.touches = None;
        }
    }

    /// One process alone is bounded by its mark. One that `discards` the accounts of its children is followed before it has any. A short
    /// script that runs one program after the other would be held up by it.
    fn is_due(&self, elapsed_ns: u64, discards: bool) -> bool {
        let worth_from = if elapsed_ns < SHORT_SCRIPT_NS { 4 } else { 2 };
        let is_worth = self.lives.count() >= worth_from || discards;
        !self.ring.has_maps() && elapsed_ns >= self.maps.due_ns && is_worth
    }

    /// From now on follows what the job maps, if it does not yet and `elapsed_ns` is late enough; returns whom it follows if it has
    /// begun. What was mapped before is read; whatever is mapped meanwhile is in the ring.
    pub(crate) fn open_maps_if_due(
        &mut self,
        proc: ProcRoot,
        elapsed_ns: u64,
        discards: bool,
    ) -> Option<Vec<i32>> {
        if !self.is_due(elapsed_ns, discards) {
            return None;
        }
        // Where the ring has overflowed, it is tried again when as much time has passed once more.
        self.maps.due_ns = elapsed_ns * 2;
        let mut pids = self.pids_with_unborn();
        if pids.len() > MOST_READ || !self.ring.open_maps(&pids) {
            return None;
        }
        if !self.ring.is_fed() {
            // Whoever was born meanwhile may have mapped its program before the ring was there.
            pids = self.pids_with_unborn();
        }
        let mut files = MappedFiles::new();
        for &pid in &pids {
            let Some(text) = read_maps(proc, pid).ok().filter(|text| !text.is_empty()) else { continue };
            files.list(pid, self.lives.get(pid).is_none_or(|life| life.fork_ns.is_none()));
            for part in maps::parse(&text) {
                let maps::FilePart { device, inode, from_bytes, to_bytes, .. } = part;
                files.map(pid, &Mapping { file: FileId { device, inode }, from_bytes, to_bytes });
            }
        }
        self.lives.files = Some(files);
        Some(pids)
    }

    /// All processes of the job, those among them whose fork is told by a record that waits.
    fn pids_with_unborn(&mut self) -> Vec<i32> {
        self.ring.collect();
        self.ring.waiting.sort_by_key(|record| record.t_ns);
        let mut pids: HashSet<i32> = self.lives.pids().into_iter().collect();
        for record in self.ring.waiting.iter().filter(|record| record.pid == record.tid) {
            if matches!(record.what, What::Fork { parent_pid } if pids.contains(&parent_pid)) {
                pids.insert(record.pid);
            }
        }
        pids.into_iter().collect()
    }

    /// After mappings of the processes `pids` alone have begun to be followed: a child that one of them forked meanwhile may not have the
    /// events. Then they are not followed; returns whether it is so.
    fn drop_maps_if_forked(&mut self, pids: &[i32]) -> bool {
        let is_crossing = |record: &Record| match record.what {
            What::Fork { parent_pid } => {
                let is_ours = self.lives.get(parent_pid).is_some() || pids.contains(&parent_pid);
                is_ours && record.pid == record.tid && !pids.contains(&record.pid)
            }
            _ => false,
        };
        let has_crossed = self.ring.waiting.iter().any(is_crossing);
        if has_crossed {
            (self.ring.maps, self.lives.files) = (None, None);
            self.maps.try_again();
        }
        has_crossed
    }

    /// From now on follows which pages of files are touched, where it is followed what is mapped; returns whether it has begun. To
    /// start takes 1 ms of CPU time, and more for every page that is there by then: a late start costs more, and what was touched before
    /// is known of the living only. Tried once: where pages are touched faster than the records can be read, they are not followed
    /// again.
    pub(crate) fn open_touches_if_due(&mut self, proc: ProcRoot) -> bool {
        let is_storm = self.maps.recent_records > MOST_RECENT_RECORDS;
        if self.maps.has_tried_touches || is_storm || self.lives.files.is_none() {
            return false;
        }
        self.maps.has_tried_touches = true;
        if !self.ring.open_touches() {
            return false;
        }
        let pids = self.pids_with_unborn();
        let Some(touched) = self.ring.touches_mut() else { return false };
        for pid in pids {
            match read_maps(proc, pid) {
                Ok(text) => touch_present(proc, pid, &text, touched),
                // It has ended and has no memory any more, whether it was reaped or not.
                Err(error) if sys::is_gone(&error) => {}
                Err(_) => {
                    self.ring.touches = None;
                    return false;
                }
            }
        }
        self.maps.are_touches_new = true;
        true
    }
}

fn read_maps(proc: ProcRoot, pid: i32) -> io::Result<Vec<u8>> {
    proc.open(pid, "maps").and_then(|file| sys::pread_to_end(file.as_raw_fd()))
}

/// Takes note of the pages of files that `pid` has in memory. Those of large files are not told apart, nor those of a process
/// that may not be asked.
fn touch_present(proc: ProcRoot, pid: i32, maps_text: &[u8], touched: &mut TouchedFiles) {
    let page_bytes = sys::sysconf(libc::_SC_PAGESIZE);
    let pages = proc.open(pid, "pagemap");
    let mut entries = vec![0; MOST_ENTRIES * PageMap::ENTRY_BYTES];
    for part in maps::parse(maps_text) {
        let file = FileId { device: part.device, inode: part.inode };
        let count = ((part.to_bytes - part.from_bytes) / page_bytes) as usize;
        let wanted = count * PageMap::ENTRY_BYTES;
        let at = part.address / page_bytes * PageMap::ENTRY_BYTES as u64;
        let read = match &pages {
            Ok(pages) if count <= MOST_ENTRIES => sys::pread(pages.as_raw_fd(), &mut entries[..wanted], at),
            _ => Ok(0),
        };
        if read.is_ok_and(|read| read == wanted) {
            let first_page = part.from_bytes / page_bytes;
            for page in PageMap(&entries[..wanted]).file_pages() {
                touched.touch(file, first_page + page, first_page + page);
            }
        } else {
            touched.touch_whole(file);
        }
    }
}

impl Meter {
    /// Whether events of the job's own tasks may be opened in the course of the run.
    pub(crate) fn may_count_faults(&self) -> bool {
        let follower = self.witnesses.follower.as_ref().filter(|follower| follower.ring.is_fed());
        follower.is_some_and(|follower| follower.ring.may_open_maps() && !follower.ring.has_maps())
    }

    /// Whether what processes map may be followed at once, and is not yet.
    pub(crate) fn may_follow_maps(&self) -> bool {
        let follower = self.witnesses.follower.as_ref();
        follower.is_some_and(|follower| !follower.ring.is_fed() && !follower.ring.has_maps())
    }

    /// Whether a tick would begin to follow it, by the events up to now.
    pub(crate) fn is_worth_following(&mut self) -> bool {
        self.follow_events(false);
        let follower = self.witnesses.follower.as_ref();
        follower.is_some_and(|follower| follower.is_due(self.elapsed_ns(), self.doubts.may_discard))
    }

    /// Whether events of the job's own tasks are about to be opened, which count their page faults.
    pub(crate) fn is_about_to_count_faults(&self) -> bool {
        let follower = self.witnesses.follower.as_ref().filter(|follower| follower.ring.is_fed());
        follower.is_some_and(|follower| follower.is_due(self.elapsed_ns(), self.doubts.may_discard))
    }

    /// See [`Follower::open_maps_if_due`] and [`Follower::open_touches_if_due`]. The next interval begins with it: what was given
    /// up before is not known.
    ///
    /// `wants_clock` says whether an inherited clock is to be opened later. That is done before page faults are counted: when two tasks
    /// take turns, the kernel swaps the counts of their events in the order in which those were opened, but a child has them in the
    /// order of their CPUs, those of any CPU first.
    pub(crate) fn open_maps_if_due(&mut self, wants_clock: &mut bool) {
        if *wants_clock && self.is_about_to_count_faults() {
            *wants_clock = false;
            self.open_inherited_clocks();
        }
        let (elapsed_ns, discards) = (self.elapsed_ns(), self.doubts.may_discard);
        let proc = self.tree.proc;
        let Some(follower) = self.witnesses.follower.as_mut() else { return };
        let mut begins_maps = false;
        let is_fed = follower.ring.is_fed();
        while !begins_maps && follower.is_due(elapsed_ns, discards) {
            self.witnesses.exits.feed(&mut follower.ring);
            let Some(pids) = follower.open_maps_if_due(proc, elapsed_ns, discards) else { break };
            self.witnesses.exits.feed(&mut follower.ring);
            // At once again: those who were forked are known now.
            begins_maps = !is_fed || !follower.drop_maps_if_forked(&pids);
        }
        let begins_touches = follower.open_touches_if_due(proc);
        if begins_maps && !follower.ring.is_of_tree {
            follower.ring.open_faults();
            self.begin_growth();
        }
        if begins_touches || begins_maps {
            self.read_whole_job();
        }
    }
}
