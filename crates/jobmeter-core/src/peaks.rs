//! Bounds of the memory peak. Below: the best sampled sum and every single high-water mark. Above: the
//! high-water marks of the processes that were alive together.

use crate::tree::Tree;

#[derive(Debug, Default)]
pub struct Peaks {
    /// Largest sum of high-water marks that were fresh at a tick.
    certain_bytes: u64,
    /// Most processes at a tick whose mark was not fresh: each is bounded by the largest mark of all.
    uncertain: u64,
    /// Largest marks seen, of main and of any descendant.
    pub main_bytes: u64,
    pub descendant_bytes: u64,
    /// Sum of file-backed memory, which a memory group may charge to others.
    file_bytes: u64,
    /// Children came and went unseen between two ticks.
    pub has_unseen: bool,
}

impl Peaks {
    /// At a tick; `others` lived since the tick before and cannot be read any more, or not yet.
    pub fn take(&mut self, tree: &Tree, now_ns: u64, others: u64) {
        let (mut certain_bytes, mut uncertain, mut file_bytes) = (0, others, 0);
        for process in &tree.processes {
            file_bytes += process.rss_file_bytes;
            // The mark goes with the memory: of a zombie it is as old as its last living read.
            let is_fresh = process.slow_at_ns == now_ns || !process.is_slow_old();
            if is_fresh && process.stat.state != b'Z' {
                certain_bytes += process.peak_rss_bytes;
            } else {
                uncertain += 1;
            }
            // What was reached before we looked is not this run's.
            if process.peak_rss_bytes > process.peak_rss_before_bytes {
                let best = if process.is_main { &mut self.main_bytes } else { &mut self.descendant_bytes };
                *best = (*best).max(process.peak_rss_bytes);
            }
        }
        self.certain_bytes = self.certain_bytes.max(certain_bytes);
        self.uncertain = self.uncertain.max(uncertain);
        self.file_bytes = self.file_bytes.max(file_bytes);
    }

    /// After the last tick `others` lived that no tick will show.
    pub fn add_uncertain(&mut self, others: u64) {
        self.uncertain = self.uncertain.max(others);
    }

    /// Upper bound of the combined peak. `largest_bytes` is the largest mark of any process of the tree, where
    /// known for certain; `group_peak_bytes` the kernel's peak of a group of the job's own. `all_were_counted`
    /// says that those that no tick met are among the uncertain ones.
    pub fn upper_bytes(
        &self,
        largest_bytes: Option<u64>,
        group_peak_bytes: Option<u64>,
        all_were_counted: bool,
    ) -> Option<u64> {
        let by_marks = match (self.has_unseen && !all_were_counted, self.uncertain, largest_bytes) {
            (true, ..) => None,
            (false, 0, _) => Some(self.certain_bytes),
            (false, uncertain, Some(largest)) => Some(self.certain_bytes + uncertain * largest),
            (false, _, None) => None,
        };
        let by_group = group_peak_bytes.map(|peak| peak + self.file_bytes);
        match (by_marks, by_group) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}
