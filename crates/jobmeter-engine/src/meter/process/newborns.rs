//! How many page faults a process had before children were born that its list shows for the first time. What it changes
//! after a fork takes further faults, while the forked copies keep the pages as they were.

use super::Process;
use crate::account::parts::{PAGE_BYTES, anon_by_faults_bytes};
use crate::linux::proc::statm;
use crate::linux::sys;
use std::os::fd::AsRawFd;

/// With fewer faults since the list before, its memory as read before `stat` will do.
const MANY_FAULTS: u64 = 256;

impl Process {
    /// The list of its children is about to be read. `stat` was read before.
    pub(super) fn remember_before_newborns(&mut self, buffer: &mut [u8]) {
        let faults = self.stat.faults();
        let since = faults.saturating_sub(self.faults_at_lists[0]);
        let anon_pages = match since > MANY_FAULTS {
            true => self.read_anon_pages(buffer),
            // Some of these faults may have come between the two reads.
            false => Some(self.anon_pages() + since),
        };
        self.faults_at_lists = [faults, self.faults_at_lists[0]];
        self.anon_pages_at_lists = [anon_pages, self.anon_pages_at_lists[0]];
        self.lists_at_ns = [sys::monotonic_ns(), self.lists_at_ns[0]];
    }

    fn read_anon_pages(&self, buffer: &mut [u8]) -> Option<u64> {
        let file = self.statm_file.as_ref().filter(|_| !self.borrows_memory)?;
        let length = sys::pread(file.as_raw_fd(), buffer, 0).ok()?;
        let statm = statm::parse(&buffer[..length])?;
        Some(statm.resident_pages.saturating_sub(statm.shared_pages))
    }

    /// Page faults that were certainly not for pages which newborn copies keep: those up to the list in which the copies
    /// were missing, and afterwards one for each page by which its own memory has grown since. Huge pages grow by more;
    /// the bound of a copy has all of the machine's on top.
    pub(crate) fn faults_before_newborns(&self) -> u64 {
        let grown_pages =
            self.anon_pages_at_lists[1].map_or(0, |before| self.anon_pages().saturating_sub(before));
        self.faults_at_lists[1] + grown_pages
    }

    /// The most anonymous memory that it had when it forked, huge pages apart: what it had at a list before, and one page for
    /// each fault. `faults` are its own, read after the fork; `began_empty` says that it inherited nothing itself.
    pub(crate) fn anon_at_fork_at_most_bytes(
        &self,
        faults: u64,
        fork_ns: u64,
        began_empty: bool,
    ) -> Option<u64> {
        let since = |before: u64| anon_by_faults_bytes(faults.saturating_sub(before));
        let last = (0..2).find(|at| (1..=fork_ns).contains(&self.lists_at_ns[*at]));
        if let Some((at, pages)) = last.and_then(|at| Some((at, self.anon_pages_at_lists[at]?))) {
            return Some(pages * PAGE_BYTES + since(self.faults_at_lists[at]));
        }
        began_empty.then(|| since(0))
    }

    /// As of the last tick.
    fn anon_pages(&self) -> u64 {
        self.rss_bytes.saturating_sub(self.rss_file_bytes) / sys::sysconf(libc::_SC_PAGESIZE).max(1)
    }
}
