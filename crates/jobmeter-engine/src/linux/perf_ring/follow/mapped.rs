//! What the job has mapped of files and shared memory, by the records of the ring.

use super::Follower;
use crate::linux::perf_ring::files::MappedFiles;
use crate::linux::perf_ring::record::{FileId, Mapping};
use crate::linux::proc::maps;
use crate::linux::proc::root::ProcRoot;
use crate::linux::sys;
use crate::meter::Meter;
use std::os::fd::AsRawFd;

/// The mappings of more processes than this are not read, each of which takes some 50 µs.
const MOST_READ: usize = 64;

impl Follower {
    /// The most that the job had mapped of files and shared memory since the last call, each page counted once; `None` where
    /// that is not known.
    pub(crate) fn take_mapped_bytes(&mut self) -> Option<u64> {
        let files = self.lives.files.as_mut()?;
        if !self.ring.has_maps() {
            self.lives.files = None;
            return None;
        }
        // Their processes may be the job's, and they may be of this interval.
        self.ring.waiting_mappings().for_each(|mapping| {
            files.note(mapping);
        });
        self.lives.take_mapped_bytes()
    }

    /// A tick that began at `tick_ns` has read `bytes` of files in the memory of `pid`. More than the records allow means that
    /// they do not tell all: a mapping was enlarged with mremap.
    pub(crate) fn check_mapped(&mut self, pid: i32, bytes: u64, tick_ns: u64) {
        let known = self.lives.files.as_ref().and_then(|files| files.bytes_of(pid));
        let is_same_program = self.lives.get(pid).is_some_and(|life| life.is_same_program_since(tick_ns));
        if known.is_some_and(|known_bytes| known_bytes < bytes) && is_same_program {
            let mut waiting = self.ring.waiting.iter().filter(|record| record.pid == pid);
            if waiting.next().is_none() {
                self.lives.files = None;
            }
        }
    }

    /// From now on follows what the job maps, if it does not yet and `elapsed_ns` is late enough; returns whether it has begun.
    /// What was mapped before is read; whatever is mapped meanwhile is in the ring.
    pub(crate) fn open_maps_if_due(&mut self, proc: ProcRoot, elapsed_ns: u64) -> bool {
        if self.ring.has_maps() || elapsed_ns < self.maps_due_ns {
            return false;
        }
        // Where the ring has overflowed, it is tried again when as much time has passed once more.
        self.maps_due_ns = elapsed_ns * 2;
        let pids = self.lives.pids();
        if pids.len() > MOST_READ || !self.ring.open_maps() {
            return false;
        }
        let mut files = MappedFiles::new();
        for pid in pids {
            let text = proc.open(pid, "maps").and_then(|file| sys::pread_to_end(file.as_raw_fd()));
            let Ok(text) = text else { continue };
            files.exec(pid);
            for part in maps::parse(&text) {
                let maps::FilePart { device, inode, from_bytes, to_bytes } = part;
                files.map(pid, &Mapping { file: FileId { device, inode }, from_bytes, to_bytes });
            }
        }
        self.lives.files = Some(files);
        true
    }
}

impl Meter {
    /// See [`Follower::open_maps_if_due`]. The next interval begins with it: what was given up before is not known.
    pub(crate) fn open_maps_if_due(&mut self) {
        let elapsed_ns = self.elapsed_ns();
        let proc = self.tree.proc;
        let follower = self.witnesses.follower.as_mut();
        if follower.is_some_and(|follower| follower.open_maps_if_due(proc, elapsed_ns)) {
            self.read_whole_job();
        }
    }
}
