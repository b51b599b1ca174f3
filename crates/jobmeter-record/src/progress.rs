//! How far the reading of runs has come, for people who wait.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of run files that are read, of those that will be. Shared with the thread that shows it.
#[derive(Debug, Default)]
pub struct Progress {
    done_bytes: AtomicU64,
    total_bytes: AtomicU64,
}

impl Progress {
    pub(crate) fn expect(&self, bytes: u64) {
        self.total_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.done_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// 0 to 99: reading is not all of the work. `None` until the amount to read is known.
    pub fn percent(&self) -> Option<u64> {
        let total = self.total_bytes.load(Ordering::Relaxed);
        let done = self.done_bytes.load(Ordering::Relaxed);
        (total > 0).then(|| (u128::from(done) * 100 / u128::from(total)).min(99) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentage_is_of_what_was_announced_and_never_whole() {
        let progress = Progress::default();
        assert_eq!(progress.percent(), None);
        progress.expect(200);
        assert_eq!(progress.percent(), Some(0));
        progress.add(101);
        assert_eq!(progress.percent(), Some(50));
        progress.add(500);
        assert_eq!(progress.percent(), Some(99));
    }
}
