//! `/proc/PID/smaps_rollup`: private, shared and proportional memory. Dear: 15 ms per resident gigabyte of
//! small pages, during which the process's own mmap and munmap wait. Read only within a budget.

use super::scan::{keyed, lines};

/// The memory of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rollup {
    /// Resident pages.
    pub rss_bytes: u64,
    /// Each page divided by the number of processes that map it.
    pub pss_bytes: u64,
    /// The same of anonymous memory alone; 0 where the kernel does not tell it apart.
    pub pss_anon_bytes: u64,
    /// Resident anonymous pages.
    pub anon_bytes: u64,
    /// Anonymous pages that the kernel has merged with others of the same content (KSM).
    pub merged_bytes: u64,
    /// Pages that only this process maps.
    pub private_bytes: u64,
    /// Pages that others map as well.
    pub shared_bytes: u64,
}

/// `None` where no resident size is in it.
pub fn parse(text: &[u8]) -> Option<Rollup> {
    let mut rollup = Rollup::default();
    let mut seen_rss = false;
    for line in lines(text) {
        let kib = |key: &[u8]| keyed(line, key).map_or(0, |value| value * 1024);
        match line.first() {
            Some(b'R') if line.starts_with(b"Rss:") => {
                rollup.rss_bytes = kib(b"Rss:");
                seen_rss = true;
            }
            Some(b'P') if line.starts_with(b"Pss:") => rollup.pss_bytes = kib(b"Pss:"),
            Some(b'A') if line.starts_with(b"Anonymous:") => rollup.anon_bytes = kib(b"Anonymous:"),
            Some(b'K') if line.starts_with(b"KSM:") => rollup.merged_bytes = kib(b"KSM:"),
            Some(b'P') if line.starts_with(b"Pss_Anon:") => rollup.pss_anon_bytes = kib(b"Pss_Anon:"),
            Some(b'P') => {
                rollup.private_bytes +=
                    kib(b"Private_Clean:") + kib(b"Private_Dirty:") + kib(b"Private_Hugetlb:");
            }
            Some(b'S') => {
                rollup.shared_bytes +=
                    kib(b"Shared_Clean:") + kib(b"Shared_Dirty:") + kib(b"Shared_Hugetlb:");
            }
            _ => {}
        }
    }
    seen_rss.then_some(rollup)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_file() {
        let text = b"5581c9b3e000-7ffd22d5e000 ---p 00000000 00:00 0                          [rollup]\nRss:                3260 kB\nPss:                 614 kB\nPss_Dirty:           520 kB\nPss_Anon:            516 kB\nPss_File:             98 kB\nPss_Shmem:             0 kB\nShared_Clean:       2740 kB\nShared_Dirty:          4 kB\nPrivate_Clean:         0 kB\nPrivate_Dirty:       516 kB\nReferenced:         3260 kB\nAnonymous:           520 kB\nSwap:                  0 kB\nSwapPss:               0 kB\n";
        let rollup = parse(text).expect("parses");
        assert_eq!(rollup.rss_bytes, 3260 * 1024);
        assert_eq!((rollup.pss_bytes, rollup.pss_anon_bytes), (614 * 1024, 516 * 1024));
        assert_eq!((rollup.anon_bytes, rollup.merged_bytes), (520 * 1024, 0));
        assert_eq!(rollup.private_bytes, 516 * 1024);
        assert_eq!(rollup.shared_bytes, 2744 * 1024);
        assert_eq!(parse(b""), None);
    }
}
