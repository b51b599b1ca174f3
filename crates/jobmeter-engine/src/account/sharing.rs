//! How much memory a set of processes holds with shared pages counted once: an estimate, and what is proven.

use crate::linux::proc::smaps::Rollup;

/// The memory of one process at a tick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MemoryReading {
    pub is_main: bool,
    /// Forked and not replaced by exec: it shares pages with its parent until one of them writes.
    pub is_copy: bool,
    pub rss_bytes: u64,
    /// The part of `rss_bytes` that is backed by files or shared memory.
    pub file_bytes: u64,
    /// Anonymous memory when the process was first seen: what a forked copy inherited.
    pub anon_at_birth_bytes: u64,
    pub rollup: Option<Rollup>,
    /// What reading the rollup is expected to cost.
    pub rollup_cost_ns: u64,
    /// Inherited pages that it may have made its own since its last rollup, by its page faults.
    pub unshared_at_most_bytes: u64,
    /// It has run since its page faults were read: some of that is a guess by the time that it ran.
    pub has_unread_faults: bool,
}

impl MemoryReading {
    pub(crate) fn anon_bytes(&self) -> u64 {
        self.rss_bytes.saturating_sub(self.file_bytes)
    }

    /// The smaller of two readings of the same process. Where all first readings came before all second ones, the
    /// process held as much at the moment between, unless it shrank and grew again.
    pub(crate) fn least(&self, later: &MemoryReading) -> MemoryReading {
        let rss_bytes = self.rss_bytes.min(later.rss_bytes);
        let file_bytes = self.file_bytes.min(later.file_bytes).min(rss_bytes);
        let anon_bytes = self.anon_bytes().min(later.anon_bytes());
        MemoryReading { rss_bytes: file_bytes + anon_bytes, file_bytes, ..*later }
    }

    /// The larger of two readings of the same process.
    pub(crate) fn most(&self, later: &MemoryReading) -> MemoryReading {
        let file_bytes = self.file_bytes.max(later.file_bytes);
        let anon_bytes = self.anon_bytes().max(later.anon_bytes());
        MemoryReading { rss_bytes: file_bytes + anon_bytes, file_bytes, ..*later }
    }

    /// By how much two readings of the same process differ.
    pub(crate) fn moved_bytes(&self, later: &MemoryReading) -> u64 {
        self.anon_bytes().abs_diff(later.anon_bytes()) + self.file_bytes.abs_diff(later.file_bytes)
    }
}

/// Distinct pages of a set of processes, and those among them that one process has alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Union {
    pub total_bytes: u64,
    pub private_bytes: u64,
}

impl Union {
    /// No smaller than the largest process and no larger than the plain sum.
    fn within(total_bytes: u64, private_bytes: u64, max_rss_bytes: u64, sum_bytes: u64) -> Union {
        let total_bytes = total_bytes.max(max_rss_bytes).min(sum_bytes);
        Union { total_bytes, private_bytes: private_bytes.min(total_bytes) }
    }
}

/// Sums over a set of processes, by their resident sizes alone.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sums {
    pub count: usize,
    pub rss_bytes: u64,
    /// Of forked copies.
    pub copied_bytes: u64,
    /// Anonymous memory of processes that are no forked copies: it is shared with copies only.
    private_bytes: u64,
    /// Anonymous memory that forked copies have added to what they inherited.
    grown_bytes: u64,
    max_inherited_bytes: u64,
    /// Anonymous memory of the largest copy, inherited or added.
    max_copied_bytes: u64,
    max_file_bytes: u64,
    max_rss_bytes: u64,
    /// Anonymous memory of the processes that the last pass has asked, and of others what is certainly their own.
    asked_bytes: u64,
    unasked_bytes: u64,
}

impl Sums {
    pub(crate) fn take(&mut self, reading: &MemoryReading) {
        let (rss_bytes, anon_bytes) = (reading.rss_bytes, reading.anon_bytes());
        self.count += 1;
        self.rss_bytes += rss_bytes;
        self.max_rss_bytes = self.max_rss_bytes.max(rss_bytes);
        self.max_file_bytes = self.max_file_bytes.max(rss_bytes - anon_bytes);
        let inherited_bytes = if reading.is_copy { reading.anon_at_birth_bytes.min(anon_bytes) } else { 0 };
        match reading.rollup {
            Some(_) => self.asked_bytes += anon_bytes,
            None => self.unasked_bytes += anon_bytes - inherited_bytes,
        }
        if reading.is_copy {
            self.copied_bytes += rss_bytes;
            self.max_inherited_bytes = self.max_inherited_bytes.max(inherited_bytes);
            self.max_copied_bytes = self.max_copied_bytes.max(anon_bytes);
            self.grown_bytes += anon_bytes - inherited_bytes;
        } else {
            self.private_bytes += anon_bytes;
        }
    }

    /// An estimate: files are shared by all, and a copy shares what it inherited.
    pub(crate) fn guess(&self) -> Union {
        let own_bytes = self.private_bytes.max(self.max_inherited_bytes) + self.grown_bytes;
        Union::within(
            own_bytes + self.max_file_bytes,
            self.private_bytes + self.grown_bytes,
            self.max_rss_bytes,
            self.rss_bytes,
        )
    }

    /// What the set held at least: anonymous pages of different programs are different pages, and so are those that
    /// copies added; of the rest only the largest part is certain.
    pub(crate) fn proven_bytes(&self, asked: Option<Asked>) -> u64 {
        let anon_bytes = (self.private_bytes + self.grown_bytes).max(self.max_copied_bytes);
        let anon_bytes = anon_bytes.max(asked.map_or(0, |asked| asked.anon_now_bytes(self)));
        (anon_bytes + self.max_file_bytes).max(self.max_rss_bytes).min(self.rss_bytes)
    }

    /// What a pass of rollups found, moved by as much as the guess has moved since.
    pub(crate) fn since(&self, verified: &Verified) -> Union {
        let guess = self.guess();
        let moved = |found: u64, now: u64, before: u64| (found + now).saturating_sub(before);
        Union::within(
            moved(verified.found.total_bytes, guess.total_bytes, verified.guessed.total_bytes),
            moved(verified.found.private_bytes, guess.private_bytes, verified.guessed.private_bytes),
            self.max_rss_bytes,
            self.rss_bytes,
        )
    }
}

/// Distinct anonymous pages of the processes that a pass has asked, and the sum of their anonymous memory then. Each page by which
/// a process grows is another page; for each by which it shrinks, or that it had when it ended, one may be gone. Pages of files
/// are not counted on like that: a process may give some back and map others that somebody has mapped already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    distinct_bytes: u64,
    sum_bytes: u64,
}

impl Asked {
    /// A pass found `rolled`; `most` is what the processes had before or after it, and `moved_bytes` the difference.
    pub(crate) fn new(rolled: &Rolled, most: &Sums, moved_bytes: u64) -> Asked {
        Asked {
            distinct_bytes: rolled.pss_anon_bytes.saturating_sub(moved_bytes),
            sum_bytes: most.asked_bytes,
        }
    }

    fn anon_now_bytes(self, now: &Sums) -> u64 {
        (self.distinct_bytes + now.asked_bytes).saturating_sub(self.sum_bytes) + now.unasked_bytes
    }
}

/// What a pass of rollups found of a scope, and what the guess was at that moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Verified {
    pub found: Union,
    pub guessed: Union,
}

/// Sums over a set of processes whose rollups were read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rolled {
    rss_bytes: u64,
    pss_bytes: u64,
    pss_anon_bytes: u64,
    private_bytes: u64,
    max_shared_bytes: u64,
    max_rss_bytes: u64,
}

impl Rolled {
    pub(crate) fn take(&mut self, reading: &MemoryReading) {
        // Without a rollup (small, or exiting) a process is taken to share its files and nothing else.
        let (anon_bytes, file_bytes) = (reading.anon_bytes(), reading.rss_bytes - reading.anon_bytes());
        let rollup = reading.rollup.unwrap_or(Rollup {
            rss_bytes: reading.rss_bytes,
            pss_bytes: anon_bytes,
            pss_anon_bytes: 0,
            private_bytes: anon_bytes,
            shared_bytes: file_bytes,
            ..Rollup::default()
        });
        self.rss_bytes += rollup.rss_bytes;
        self.pss_bytes += rollup.pss_bytes;
        self.pss_anon_bytes += reading.rollup.map_or(0, |asked| asked.pss_anon_bytes);
        self.private_bytes += rollup.private_bytes;
        self.max_shared_bytes = self.max_shared_bytes.max(rollup.shared_bytes);
        self.max_rss_bytes = self.max_rss_bytes.max(rollup.rss_bytes);
    }

    /// Proportional sizes are exact for pages shared inside the set; the second term corrects for pages shared with
    /// processes outside of it.
    pub(crate) fn union(&self) -> Union {
        let total_bytes = self.pss_bytes.max(self.private_bytes + self.max_shared_bytes);
        Union::within(total_bytes, self.private_bytes, self.max_rss_bytes, self.rss_bytes)
    }
}

/// The places of the scopes in what [`over_scopes`] returns.
pub(crate) const MAIN: usize = 0;
pub(crate) const DESCENDANTS: usize = 1;
pub(crate) const COMBINED: usize = 2;

/// Sums over the processes of each scope.
pub(crate) fn over_scopes<S: Default + Copy>(
    readings: &[MemoryReading],
    take: fn(&mut S, &MemoryReading),
) -> [S; 3] {
    let mut all = [S::default(); 3];
    for reading in readings {
        take(&mut all[if reading.is_main { MAIN } else { DESCENDANTS }], reading);
        take(&mut all[COMBINED], reading);
    }
    all
}

#[cfg(test)]
#[path = "sharing_tests.rs"]
mod tests;
