//! What is known of the memory of a process that has ended.

use super::peaks::{Huge, PAGE_BYTES, mapped_by_faults_bytes};

/// The last readings of a process, and what the kernel said of it at its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LastReadings {
    /// Its final high-water mark, or one that includes it.
    pub final_mark_bytes: Option<u64>,
    /// Its mark when it was last read, and the page faults that it took afterwards.
    pub read_mark_bytes: u64,
    pub faults_after: Option<u64>,
    /// Where it was a forked copy of a process that lived on.
    pub copy: Option<CopyReadings>,
}

/// Of a forked copy only what it changed counts; the rest is its parent's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopyReadings {
    /// All page faults of its life, and those after its last reading.
    pub faults: u64,
    pub faults_after: u64,
    /// Mapped files and shared memory when it was last read.
    pub file_bytes: u64,
}

impl LastReadings {
    /// The most that it held; `None` where nothing bounds it.
    pub(crate) fn at_most_bytes(&self, huge: Huge) -> Option<u64> {
        let by_faults = self.faults_after.map(|faults| {
            self.read_mark_bytes.saturating_add(mapped_by_faults_bytes(faults, huge.since_tick_bytes))
        });
        let changed = self.copy.map(|copy| {
            (copy.faults * PAGE_BYTES)
                .saturating_add(huge.anon_since_start_bytes)
                .saturating_add(copy.file_bytes)
                .saturating_add(mapped_by_faults_bytes(copy.faults_after, huge.since_tick_bytes))
        });
        [self.final_mark_bytes, by_faults, changed].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_HUGE: Huge = Huge { since_tick_bytes: 0, anon_since_start_bytes: 0 };

    #[test]
    fn without_a_mark_or_faults_nothing_is_known() {
        assert_eq!(
            LastReadings { read_mark_bytes: 5, ..LastReadings::default() }.at_most_bytes(NO_HUGE),
            None
        );
    }

    #[test]
    fn the_smallest_bound_holds() {
        let read =
            LastReadings { read_mark_bytes: 1_000_000, faults_after: Some(3), ..LastReadings::default() };
        assert_eq!(read.at_most_bytes(NO_HUGE), Some(1_000_000 + 3 * 65_536));
        let huge = Huge { since_tick_bytes: 2 << 20, anon_since_start_bytes: 0 };
        assert_eq!(read.at_most_bytes(huge), Some(1_000_000 + 3 * 65_536 + (2 << 20)));
        let marked = LastReadings { final_mark_bytes: Some(1_050_000), ..read };
        assert_eq!(marked.at_most_bytes(NO_HUGE), Some(1_050_000));
    }

    #[test]
    fn a_copy_counts_with_what_it_changed() {
        let copy = CopyReadings { faults: 100, faults_after: 2, file_bytes: 7_000 };
        let read =
            LastReadings { final_mark_bytes: Some(500_000_000), copy: Some(copy), ..LastReadings::default() };
        assert_eq!(read.at_most_bytes(NO_HUGE), Some(100 * 4096 + 7_000 + 2 * 65_536));
        let huge = Huge { since_tick_bytes: 1, anon_since_start_bytes: 10 };
        assert_eq!(read.at_most_bytes(huge), Some(100 * 4096 + 7_000 + 2 * 65_536 + 11));
    }
}
