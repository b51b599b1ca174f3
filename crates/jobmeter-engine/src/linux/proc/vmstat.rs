//! `/proc/vmstat`: what the whole machine has mapped of files, and the huge pages that it has given out.

use super::root::ProcRoot;
use super::scan::{keyed, lines};
use crate::linux::{descriptors, sys};
use std::os::fd::{AsRawFd, OwnedFd};

/// Pages of the whole machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Pages {
    /// Distinct pages of files and shared memory that some process maps now.
    pub mapped: Option<u64>,
    /// Huge pages since boot of anonymous memory, by a fault or by the kernel's collapsing of small pages. One fault maps
    /// 2 MiB with each.
    pub huge_anon: u64,
    /// The same of files and shared memory.
    pub huge_file: u64,
    /// Processes that the OOM killer has ended since boot, in whatever group.
    pub oom_kills: Option<u64>,
    /// Page faults since boot, those that the kernel takes for a process included.
    pub faults: Option<u64>,
}

fn parse(text: &[u8]) -> Pages {
    let mut pages = Pages::default();
    for line in lines(text) {
        let value = |key: &[u8]| keyed(line, key).unwrap_or_default();
        if line.starts_with(b"thp_") {
            pages.huge_anon += value(b"thp_fault_alloc ") + value(b"thp_collapse_alloc ");
            pages.huge_file += value(b"thp_file_mapped ");
        } else if line.starts_with(b"oom_kill ") {
            pages.oom_kills = keyed(line, b"oom_kill ");
        } else if line.starts_with(b"pgfault ") {
            pages.faults = keyed(line, b"pgfault ");
        } else if line.starts_with(b"nr_mapped") {
            pages.mapped = keyed(line, b"nr_mapped ");
        }
    }
    pages
}

/// The file, kept open.
#[derive(Default)]
pub(crate) struct VmStat {
    proc: ProcRoot,
    file: Option<OwnedFd>,
    buffer: Vec<u8>,
}

impl VmStat {
    /// `None` where it cannot be read.
    pub(crate) fn pages(&mut self) -> Option<Pages> {
        if self.file.is_none() {
            descriptors::spare_one().ok()?;
            self.file = Some(self.proc.open_machine("vmstat").ok()?);
        }
        let text = sys::pread_all(self.file.as_ref()?.as_raw_fd(), &mut self.buffer).ok()?;
        Some(parse(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_matter() {
        let text = b"nr_free_pages 798000\nnr_mapped 5120\npgfault 77\npgmajfault 7\nthp_fault_alloc 111\nthp_fault_fallback 7\nthp_collapse_alloc 4\nthp_file_alloc 1\nthp_file_mapped 4255\noom_kill 3\nswap_ra 0\n";
        let pages = Pages {
            mapped: Some(5120),
            huge_anon: 115,
            huge_file: 4255,
            oom_kills: Some(3),
            faults: Some(77),
        };
        assert_eq!(parse(text), pages);
        assert_eq!(parse(b""), Pages::default());
    }

    #[test]
    fn this_machine_has_it() {
        let mut vmstat = VmStat::default();
        let (first, second) = (vmstat.pages(), vmstat.pages());
        assert!(first.is_some_and(|first| {
            second.is_some_and(|second| first.huge_anon <= second.huge_anon && second.mapped > Some(0))
        }));
    }
}
