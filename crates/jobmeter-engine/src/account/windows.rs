//! What can have been allocated between two moments, by what the whole machine counted around them.

use super::parts::{anon_by_faults_bytes, mapped_by_faults_bytes};

const HUGE_PAGE_BYTES: u64 = 2 << 20;

/// Counts of the machine since boot, read between two times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CountedAt {
    pub began_ns: u64,
    pub t_ns: u64,
    pub faults: u64,
    /// Huge pages of anonymous memory, and of files.
    pub huge_anon: u64,
    pub huge_file: u64,
}

/// What the machine counted around the lives of processes.
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    /// In the order of their times, the last of them after all that is asked about.
    pub readings: Vec<CountedAt>,
    /// Mapped files count elsewhere. Otherwise each fault may have mapped as much of a file as it can.
    pub are_files_known: bool,
    /// Page faults between the reading at `full_ns`, where there was one, and the last one that are known to be of others.
    pub known_faults: u64,
    pub full_ns: Option<u64>,
}

impl Windows {
    /// Memory that anybody on the machine can have got after `since_ns` and before `until_ns`. `None` where nobody counted before `since_ns`.
    pub(super) fn allocated_at_most_bytes(&self, since_ns: u64, until_ns: u64) -> Option<u64> {
        let mut readings = self.readings.iter();
        let after = readings.clone().find(|reading| reading.began_ns >= until_ns).or(self.readings.last())?;
        let before = readings.rfind(|reading| reading.t_ns <= since_ns)?;
        let is_from_full = self.full_ns.is_some_and(|full_ns| before.t_ns <= full_ns);
        let is_whole = is_from_full && self.readings.last() == Some(after);
        let known_faults = if is_whole { self.known_faults } else { 0 };
        let faults = after.faults.saturating_sub(before.faults).saturating_sub(known_faults);
        let huge_anon_bytes = after.huge_anon.saturating_sub(before.huge_anon) * HUGE_PAGE_BYTES;
        let huge_file_bytes = after.huge_file.saturating_sub(before.huge_file) * HUGE_PAGE_BYTES;
        Some(match self.are_files_known {
            true => anon_by_faults_bytes(faults).saturating_add(huge_anon_bytes),
            false => mapped_by_faults_bytes(faults, huge_anon_bytes + huge_file_bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_around_a_window() {
        let reading = |at: u64, faults, huge_anon| CountedAt {
            began_ns: at,
            t_ns: at + 2,
            faults,
            huge_anon,
            huge_file: faults / 100,
        };
        let readings = vec![reading(10, 100, 5), reading(20, 300, 6), reading(30, 600, 6)];
        let windows = Windows { readings, are_files_known: true, known_faults: 0, full_ns: Some(12) };
        let page_bytes = anon_by_faults_bytes(1);
        let between = |since_ns, until_ns| windows.allocated_at_most_bytes(since_ns, until_ns);
        assert_eq!(between(11, 20), None, "the first was not over by then");
        assert_eq!(between(12, 20), Some(200 * page_bytes + HUGE_PAGE_BYTES));
        assert_eq!(between(21, 21), Some(500 * page_bytes + HUGE_PAGE_BYTES), "the second had begun already");
        assert_eq!(between(22, u64::MAX), Some(300 * page_bytes), "up to the last");
        let less = Windows { known_faults: 250, ..windows.clone() };
        let of_others = |since_ns, until_ns| less.allocated_at_most_bytes(since_ns, until_ns);
        assert_eq!(of_others(12, 31), Some(250 * page_bytes + HUGE_PAGE_BYTES));
        assert_eq!(of_others(12, 20), Some(200 * page_bytes + HUGE_PAGE_BYTES), "theirs may have come later");
        assert_eq!(of_others(22, 31), Some(300 * page_bytes), "or before");
        let with_files = Windows { are_files_known: false, ..windows };
        let mapped_bytes = mapped_by_faults_bytes(300, 3 * HUGE_PAGE_BYTES);
        assert_eq!(with_files.allocated_at_most_bytes(22, u64::MAX), Some(mapped_bytes));
    }
}
