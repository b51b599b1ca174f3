//! How many page faults a process had before children were born that its list shows for the first time. What it changes
//! after a fork takes further faults, while the forked copies keep the pages as they were.

use super::Process;
use crate::account::parts::anon_by_faults_bytes;
use crate::linux::proc::statm;
use crate::linux::sys;
use std::os::fd::AsRawFd;

/// With fewer faults since the list before, its memory as read before `stat` will do.
const MANY_FAULTS: u64 = 256;

/// Anonymous memory when a list of children was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnonAtList {
    pages: u64,
    /// Page faults that may have come after these pages were counted.
    late_faults: u64,
}

impl AnonAtList {
    fn at_most_bytes(&self) -> u64 {
        self.pages * page_bytes() + anon_by_faults_bytes(self.late_faults)
    }
}

impl Process {
    /// The list of its children is about to be read. `stat` was read before.
    pub(super) fn remember_before_newborns(&mut self, buffer: &mut [u8]) {
        let faults = self.stat.faults();
        let since = faults.saturating_sub(self.faults_at_lists[0]);
        let anon = match since > MANY_FAULTS {
            true => self.read_anon_pages(buffer).map(|pages| AnonAtList { pages, late_faults: 0 }),
            false => Some(AnonAtList { pages: self.anon_pages(), late_faults: since }),
        };
        self.faults_at_lists = [faults, self.faults_at_lists[0]];
        self.anon_at_lists = [anon, self.anon_at_lists[0]];
        self.lists_at_ns = [sys::monotonic_ns(), self.lists_at_ns[0]];
    }

    fn read_anon_pages(&self, buffer: &mut [u8]) -> Option<u64> {
        let file = self.statm_file.as_ref().filter(|_| !self.borrows_memory)?;
        let length = sys::pread(file.as_raw_fd(), buffer, 0).ok()?;
        let statm = statm::parse(&buffer[..length])?;
        Some(statm.resident_pages.saturating_sub(statm.shared_pages))
    }

    /// Page faults that were certainly not for pages which newborn copies keep: those up to the list in which the copies
    /// were missing, and afterwards one for each page (or piece) by which its own memory has grown since. Huge pages grow by more;
    /// the bound of a copy has all of the machine's on top.
    pub(crate) fn faults_before_newborns(&self) -> u64 {
        let Some(before) = self.anon_at_lists[1] else { return self.faults_at_lists[1] };
        let grown_bytes = (self.anon_pages() * page_bytes()).saturating_sub(before.at_most_bytes());
        self.faults_at_lists[1] + grown_bytes / anon_by_faults_bytes(1)
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
        if let Some((at, anon)) = last.and_then(|at| Some((at, self.anon_at_lists[at]?))) {
            return Some(anon.at_most_bytes() + since(self.faults_at_lists[at]));
        }
        began_empty.then(|| since(0))
    }

    /// As of the last tick.
    fn anon_pages(&self) -> u64 {
        self.rss_bytes.saturating_sub(self.rss_file_bytes) / page_bytes()
    }
}

fn page_bytes() -> u64 {
    sys::sysconf(libc::_SC_PAGESIZE).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::proc::root::ProcRoot;
    use crate::meter::process::Scale;

    /// A server that was listed twice, at 100 and at 200 ns.
    fn listed_twice() -> Process {
        let (own, scale) = (std::process::id() as i32, Scale::of_this_machine());
        let mut server = Process::open(ProcRoot::default(), own, false, false, scale, &mut [0; 4096])
            .expect("this very process");
        server.lists_at_ns = [200, 100];
        server.faults_at_lists = [50, 30];
        server.anon_at_lists = [9, 5].map(|pages| Some(AnonAtList { pages, late_faults: 0 }));
        server
    }

    #[test]
    fn a_copy_inherits_what_was_there_before_and_what_faults_added() {
        let at_most_pages = |fork_ns, began_empty| {
            listed_twice()
                .anon_at_fork_at_most_bytes(60, fork_ns, began_empty)
                .map(|bytes| bytes / anon_by_faults_bytes(1))
        };
        assert_eq!(at_most_pages(250, false), Some(9 + 10), "after the last list");
        assert_eq!(at_most_pages(200, false), Some(9 + 10));
        assert_eq!(at_most_pages(150, false), Some(5 + 30), "between the two");
        assert_eq!(
            at_most_pages(99, false),
            None,
            "before both, by a process that may have inherited anything"
        );
        assert_eq!(at_most_pages(99, true), Some(60), "every page of a program came with a fault");
    }

    #[test]
    fn a_process_that_was_never_listed_says_nothing() {
        let mut server = listed_twice();
        server.lists_at_ns = [0; 2];
        assert_eq!(server.anon_at_fork_at_most_bytes(60, 250, false), None);
        server.lists_at_ns = [200, 100];
        server.anon_at_lists = [None; 2];
        assert_eq!(server.anon_at_fork_at_most_bytes(60, 250, false), None, "its memory could not be read");
    }
}
