//! Which pages of files somebody has touched: of a mapped file only those can be in memory for a process. A compiler maps 30 MB
//! and touches a third, and so does the next one.

use super::record::FileId;
use std::collections::HashMap;

/// Pages of a larger file are not told apart: its bitmap would be large.
const MOST_PAGES: u64 = 1 << 22;

#[derive(Debug, Default)]
struct Pages {
    bits: Vec<u64>,
    count: u64,
    /// Any page may have been touched.
    is_whole: bool,
}

impl Pages {
    fn touch(&mut self, first: u64, last: u64) {
        if last >= MOST_PAGES {
            self.is_whole = true;
            return;
        }
        let words = (last / 64 + 1) as usize;
        if self.bits.len() < words {
            self.bits.resize(words, 0);
        }
        for page in first..=last {
            let (word, bit) = (&mut self.bits[(page / 64) as usize], 1 << (page % 64));
            self.count += u64::from(*word & bit == 0);
            *word |= bit;
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct TouchedFiles {
    by_file: HashMap<FileId, Pages>,
}

impl TouchedFiles {
    pub(super) fn touch(&mut self, file: FileId, first_page: u64, last_page: u64) {
        if can_tell(file) && first_page <= last_page {
            self.by_file.entry(file).or_default().touch(first_page, last_page);
        }
    }

    /// Nothing is known of which pages were touched.
    pub(super) fn touch_whole(&mut self, file: FileId) {
        self.by_file.entry(file).or_default().is_whole = true;
    }

    /// How many pages were touched. `None` where that is not known: also for a file of which no page was, since another way may
    /// have led to its pages.
    pub(super) fn pages_of(&self, file: FileId) -> Option<u64> {
        self.by_file.get(&file).filter(|pages| !pages.is_whole).map(|pages| pages.count)
    }
}

/// The same, and what came in other ways that are counted but not told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touched<'a> {
    pub(super) files: &'a TouchedFiles,
    /// All that the machine has mapped of files with huge pages.
    pub(super) huge_bytes: u64,
}

/// Files of block devices have their pages mapped by the functions that are traced, under their own numbers. Shared memory
/// does not always, and files of layered systems are traced under the numbers of another.
pub(super) fn can_tell(file: FileId) -> bool {
    file.device.0 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId { device: (254, 0), inode: 7 };

    #[test]
    fn a_page_counts_once() {
        let mut files = TouchedFiles::default();
        assert_eq!(files.pages_of(FILE), None);
        files.touch(FILE, 10, 25);
        files.touch(FILE, 20, 35);
        files.touch(FILE, 63, 64);
        assert_eq!(files.pages_of(FILE), Some(26 + 2));
        files.touch(FILE, 5, 4);
        assert_eq!(files.pages_of(FILE), Some(28), "no page");
    }

    #[test]
    fn what_cannot_be_told_is_not_known() {
        let mut files = TouchedFiles::default();
        let shared_memory = FileId { device: (0, 1), inode: 7 };
        files.touch(shared_memory, 0, 1);
        assert_eq!(files.pages_of(shared_memory), None);
        files.touch(FILE, 0, 1);
        files.touch(FILE, MOST_PAGES, MOST_PAGES);
        assert_eq!(files.pages_of(FILE), None, "its bitmap would be large");
        let other = FileId { inode: 8, ..FILE };
        files.touch(other, 0, 1);
        files.touch_whole(other);
        assert_eq!(files.pages_of(other), None);
    }
}
