//! What `statm` says of a process.

use super::{Process, Scale};
use crate::account::ended::Present;
use crate::linux::proc::statm;
use crate::linux::sys;
use std::os::fd::AsRawFd;

impl Process {
    /// Whether it has resident memory. Without any it is between giving its memory back and exec or its end.
    pub fn shows_memory(&self) -> bool {
        self.rss_bytes > 0 || self.borrows_memory
    }

    /// Its memory was seen for the first time: a forked copy may have inherited all of it.
    pub(super) fn note_memory_at_birth(&mut self) {
        self.anon_at_birth_bytes = self.rss_bytes.saturating_sub(self.rss_file_bytes);
        self.anon_at_rollup_bytes = self.anon_at_birth_bytes;
    }

    /// Resident memory once more, after its page faults were read: what it had by those is in one of the two readings, also where
    /// it ends before the next one.
    pub fn read_memory_after_faults(&mut self, scale: Scale, buffer: &mut [u8]) {
        let read = self.statm_file.as_ref().map(|file| sys::pread(file.as_raw_fd(), buffer, 0));
        let statm = read.and_then(Result::ok).and_then(|length| statm::parse(&buffer[..length]));
        // One that has none any more still had what was read before.
        if let Some(statm) = statm.filter(|statm| statm.resident_pages > 0) {
            self.take_statm(statm, scale);
        }
    }

    pub(super) fn take_statm(&mut self, statm: statm::Statm, scale: Scale) {
        if self.borrows_memory {
            return;
        }
        let anon_bytes = self.rss_bytes.saturating_sub(self.rss_file_bytes);
        self.read_before = Present { anon_bytes, file_bytes: self.rss_file_bytes };
        self.rss_bytes = statm.resident_pages * scale.page_bytes;
        self.rss_file_bytes = statm.shared_pages * scale.page_bytes;
        self.peak_rss_bytes = self.peak_rss_bytes.max(self.rss_bytes);
        self.max_rss_bytes = self.max_rss_bytes.max(self.rss_bytes);
        self.max_anon_bytes = self.max_anon_bytes.max(self.rss_bytes.saturating_sub(self.rss_file_bytes));
        self.max_file_bytes = self.max_file_bytes.max(self.rss_file_bytes);
        if self.rss_bytes > 0 {
            self.min_file_bytes = self.min_file_bytes.min(self.rss_file_bytes);
        }
    }
}
