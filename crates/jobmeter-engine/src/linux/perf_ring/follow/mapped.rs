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

    /// From now on follows what the job maps. What was mapped before is read; whatever is mapped meanwhile is in the ring.
    pub(crate) fn open_maps(&mut self, proc: ProcRoot) {
        let pids = self.lives.pids();
        if pids.len() > MOST_READ || !self.ring.open_maps() {
            return;
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
    }
}

impl Meter {
    /// See [`Follower::open_maps`].
    pub(crate) fn open_maps(&mut self) {
        if let Some(follower) = &mut self.witnesses.follower {
            follower.open_maps(self.tree.proc);
        }
    }
}
