//! Bounds of the memory peak. Below: the best sampled sum and every single high-water mark. Above: the
//! high-water marks of the processes that were alive together.

use crate::meter::tree::Tree;

/// Ticks that are kept apart; beyond it two are taken for one that is worse than both.
const MAX_WORST: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct Peaks {
    /// The full ticks that may turn out the worst: how many processes had no fresh mark, each of which is bounded by the
    /// largest mark of all, and the sum of the fresh marks. None of them is below another in both.
    worst: Vec<(u64, u64)>,
    /// The sum of the fresh marks at the last full tick.
    last_certain_bytes: u64,
    /// Largest marks seen, of main and of any descendant.
    pub main_bytes: u64,
    pub descendant_bytes: u64,
    /// Sum of file-backed memory, which a memory group may charge to others.
    file_bytes: u64,
    /// Children came and went unseen between two ticks.
    pub has_unseen: bool,
}

/// From above: what cannot be exceeded, and what hardly will be where that is less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UpperBytes {
    pub certain: Option<u64>,
    pub likely: Option<u64>,
}

impl Peaks {
    /// At a full tick, whose marks also cover the time since the full tick before; `others` lived in that time and
    /// cannot be read any more, or not yet.
    pub(crate) fn take(&mut self, tree: &Tree, now_ns: u64, others: u64) {
        let (mut certain_bytes, mut uncertain) = (0, others);
        for process in &tree.processes {
            // The mark goes with the memory: of a zombie it is as old as its last living read.
            let is_fresh = process.slow_at_ns == now_ns || !process.is_slow_old();
            if is_fresh && process.stat.state != b'Z' {
                certain_bytes += process.peak_rss_bytes;
            } else {
                uncertain += 1;
            }
        }
        self.last_certain_bytes = certain_bytes;
        self.note(uncertain, certain_bytes);
    }

    /// At every tick: the largest single marks, and what is mapped of files.
    pub(crate) fn take_levels(&mut self, tree: &Tree) {
        let mut file_bytes = 0;
        for process in &tree.processes {
            file_bytes += process.rss_file_bytes;
            // What was reached before we looked is not this run's.
            if process.peak_rss_bytes > process.peak_rss_before_bytes {
                let best = if process.is_main { &mut self.main_bytes } else { &mut self.descendant_bytes };
                *best = (*best).max(process.peak_rss_bytes);
            }
        }
        self.file_bytes = self.file_bytes.max(file_bytes);
    }

    /// After the last full tick `others` lived that no tick will show.
    pub(crate) fn add_uncertain(&mut self, others: u64) {
        self.note(others, self.last_certain_bytes);
    }

    fn note(&mut self, uncertain: u64, certain_bytes: u64) {
        if self.worst.iter().any(|(most, bytes)| *most >= uncertain && *bytes >= certain_bytes) {
            return;
        }
        self.worst.retain(|(most, bytes)| *most > uncertain || *bytes > certain_bytes);
        let merged = if self.worst.len() < MAX_WORST { None } else { self.worst.pop() };
        let (most, bytes) = merged.unwrap_or_default();
        self.worst.push((uncertain.max(most), certain_bytes.max(bytes)));
    }

    /// Bounds of the combined peak from above. `largest_bytes` is the largest mark of any process of the tree, where
    /// known for certain; `group_peak_bytes` the kernel's peak of a group of the job's own. `all_were_counted`
    /// says that those that no tick met are among the uncertain ones; a mark may lag by `lag_bytes`.
    pub(crate) fn upper(
        &self,
        largest_bytes: Option<u64>,
        group_peak_bytes: Option<u64>,
        all_were_counted: bool,
        lag_bytes: u64,
    ) -> UpperBytes {
        let all_are_known = !self.has_unseen || all_were_counted;
        let by_marks = largest_bytes.or(self.is_certain().then_some(0)).filter(|_| all_are_known);
        let by_marks = by_marks.and_then(|largest_bytes| self.worst_bytes(largest_bytes, 0));
        let by_group = group_peak_bytes.map(|peak| peak + self.file_bytes);
        let certain = match (by_marks, by_group) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let likely = certain.zip(self.likely_bytes(largest_bytes, lag_bytes).filter(|_| all_are_known));
        UpperBytes { certain, likely: likely.filter(|(certain, likely)| likely < certain).map(|both| both.1) }
    }

    /// The main process is often the largest by far, and its children are hardly ever as large. So those whose last
    /// mark was not read are taken for the largest descendant that was; one of them for the largest of all, if
    /// that is more than any mark that was read.
    fn likely_bytes(&self, largest_bytes: Option<u64>, lag_bytes: u64) -> Option<u64> {
        let usual_bytes = Some(self.descendant_bytes).filter(|bytes| *bytes > 0)?;
        let (largest_bytes, read_bytes) = (largest_bytes?, self.main_bytes.max(self.descendant_bytes));
        // What the kernel had not yet folded into a mark when it was read is no hint at another process.
        let is_all_read = largest_bytes <= read_bytes + lag_bytes;
        let hidden_bytes = if is_all_read { 0 } else { largest_bytes - usual_bytes };
        self.worst_bytes(usual_bytes, hidden_bytes)
    }

    fn is_certain(&self) -> bool {
        self.worst.iter().all(|(uncertain, _)| *uncertain == 0)
    }

    /// `None` without any tick.
    fn worst_bytes(&self, each_bytes: u64, once_bytes: u64) -> Option<u64> {
        let of_tick = |&(uncertain, certain_bytes): &(u64, u64)| match uncertain {
            0 => certain_bytes,
            uncertain => certain_bytes + uncertain * each_bytes + once_bytes,
        };
        self.worst.iter().map(of_tick).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_that_of_the_worst_tick() {
        let mut peaks = Peaks::default();
        for (uncertain, certain_bytes) in [(0, 900), (2, 100), (2, 90), (1, 300), (3, 10)] {
            peaks.note(uncertain, certain_bytes);
        }
        assert_eq!(peaks.worst, [(0, 900), (2, 100), (1, 300), (3, 10)]);
        assert_eq!(peaks.upper(Some(50), None, true, 10).certain, Some(900));
        assert_eq!(peaks.upper(Some(500), None, true, 10).certain, Some(1510));
        assert_eq!(peaks.upper(Some(500), Some(1200), true, 10).certain, Some(1200));
        assert_eq!(peaks.upper(None, None, true, 10).certain, None, "nobody knows the largest mark");
    }

    #[test]
    fn children_are_likely_as_large_as_children() {
        let mut peaks = Peaks { main_bytes: 5000, descendant_bytes: 100, ..Peaks::default() };
        peaks.note(0, 5200);
        peaks.note(4, 5000);
        let upper = |largest_bytes| peaks.upper(Some(largest_bytes), None, true, 10);
        assert_eq!(upper(5000), UpperBytes { certain: Some(25_000), likely: Some(5400) });
        assert_eq!(
            upper(6000).likely,
            Some(5000 + 6000 + 3 * 100),
            "somebody was larger than all that were read"
        );
    }

    #[test]
    fn many_ticks_stay_few_and_the_bound_above_all() {
        let mut peaks = Peaks::default();
        for count in 0..1000 {
            peaks.note(count, 1_000_000 - count * 100);
        }
        assert!(peaks.worst.len() <= MAX_WORST);
        for largest_bytes in [1, 100, 10_000] {
            let truth = (0..1000).map(|count| 1_000_000 - count * 100 + count * largest_bytes).max();
            assert!(peaks.upper(Some(largest_bytes), None, true, 10).certain >= truth);
        }
    }
}
