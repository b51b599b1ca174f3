//! The most that a process held, in parts that can be added up over processes.

use crate::linux::fault_size::fault_bytes;

/// Fault-around maps up to this much of a file with one fault.
const FAULT_AROUND_BYTES: u64 = 64 * 1024;

/// The most that a process held, counted in two ways. With its files: memory that counts as its own, and mapped files and
/// shared memory that others may map as well. Without them: anonymous memory alone, for where it is known what all processes
/// of the job had mapped of files together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    pub own_bytes: u64,
    pub file_bytes: u64,
    /// Pieces of files that faults may have mapped besides: they count where all files together are known.
    pub around_bytes: u64,
    /// Huge pages are not in it: they are added once, for all processes.
    pub anon_bytes: u64,
}

impl Parts {
    /// Nothing bounds it. A sum with it in it stays above every real bound.
    pub(crate) const UNBOUNDED: Parts =
        Parts { own_bytes: u64::MAX >> 1, file_bytes: 0, around_bytes: 0, anon_bytes: u64::MAX >> 1 };

    /// Splits `total_bytes`; files are at most the whole. Anonymous memory may be all of it.
    pub(crate) fn of(total_bytes: u64, file_bytes: u64) -> Parts {
        let file_bytes = file_bytes.min(total_bytes);
        Parts { own_bytes: total_bytes - file_bytes, file_bytes, around_bytes: 0, anon_bytes: total_bytes }
    }

    /// The same where no more than `anon_bytes` can be anonymous memory.
    pub(crate) fn with_anon(self, anon_bytes: u64) -> Parts {
        Parts { anon_bytes: self.anon_bytes.min(anon_bytes), ..self }
    }

    /// For one that held this at one time and `other` at another.
    pub(crate) fn worst_with(self, other: Parts) -> Parts {
        Parts {
            own_bytes: self.own_bytes.max(other.own_bytes),
            file_bytes: self.file_bytes.max(other.file_bytes),
            around_bytes: self.around_bytes.max(other.around_bytes),
            anon_bytes: self.anon_bytes.max(other.anon_bytes),
        }
    }

    pub(crate) fn add(&mut self, other: Parts) {
        self.own_bytes = self.own_bytes.saturating_add(other.own_bytes);
        self.file_bytes = self.file_bytes.saturating_add(other.file_bytes);
        self.around_bytes = self.around_bytes.saturating_add(other.around_bytes);
        self.anon_bytes = self.anon_bytes.saturating_add(other.anon_bytes);
    }

    pub(crate) fn take_off(&mut self, other: Parts) {
        self.own_bytes = self.own_bytes.saturating_sub(other.own_bytes);
        self.file_bytes = self.file_bytes.saturating_sub(other.file_bytes);
        self.around_bytes = self.around_bytes.saturating_sub(other.around_bytes);
        self.anon_bytes = self.anon_bytes.saturating_sub(other.anon_bytes);
    }

    /// What the parts of several processes come to together, where the whole machine maps `mapped_bytes` of files, and they at most
    /// `known_bytes`, each page counted once.
    pub(crate) fn together_bytes(&self, mapped_bytes: Option<u64>, known_bytes: Option<u64>) -> u64 {
        let file_bytes = self.file_bytes.min(mapped_bytes.unwrap_or(u64::MAX));
        let around_bytes = self.around_bytes.min(known_bytes.unwrap_or(u64::MAX));
        self.own_bytes.saturating_add(file_bytes).saturating_add(around_bytes)
    }

    /// What a process held at most, where its files are not known from elsewhere.
    pub(crate) fn alone_bytes(&self) -> u64 {
        self.together_bytes(None, None)
    }
}

/// What a process can have mapped with so many page faults; `huge_bytes` for huge pages meanwhile.
pub(crate) fn mapped_by_faults_bytes(faults: u64, huge_bytes: u64) -> u64 {
    faults.saturating_mul(FAULT_AROUND_BYTES.max(fault_bytes())).saturating_add(huge_bytes)
}

/// Huge pages that a program has at least that holds `bytes` by so many page faults, all that it has taken since its fork.
pub(crate) fn huge_at_least_bytes(bytes: u64, faults: u64) -> u64 {
    bytes.saturating_sub(mapped_by_faults_bytes(faults, 0))
}

/// Anonymous memory that so many page faults can have added, huge pages apart.
pub(crate) fn anon_by_faults_bytes(faults: u64) -> u64 {
    if faults == 0 { 0 } else { faults.saturating_mul(fault_bytes()) }
}

/// Page faults that may have come after some of the processes were read, while a tick read the others: what those grew by counts together
/// with what the others had until they were read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WhileRead {
    pub faults: u64,
    pub huge_bytes: u64,
    /// How far the marks of all of them are above what was read, where they were asked.
    pub by_marks_bytes: Option<u64>,
}

impl WhileRead {
    /// Memory of any kind; `files_bytes` is what the job has mapped of files, where that is known.
    pub(crate) fn mapped_bytes(&self, files_bytes: Option<u64>) -> u64 {
        let by_files_bytes = files_bytes.map_or(u64::MAX, |bytes| bytes.saturating_add(self.anon_bytes()));
        let by_faults_bytes = mapped_by_faults_bytes(self.faults, self.huge_bytes);
        by_faults_bytes.min(by_files_bytes).min(self.by_marks_bytes.unwrap_or(u64::MAX))
    }

    /// Anonymous memory.
    pub(crate) fn anon_bytes(&self) -> u64 {
        anon_by_faults_bytes(self.faults).saturating_add(self.huge_bytes)
    }
}

/// A bound by faults may exceed the last mark by an eighth and this much before the largest mark is preferred.
const LOOSE_BYTES: u64 = 1 << 20;

/// Whether a bound by many faults says little beside the mark that was read. Where all files together are known, pieces of them say nothing
/// of one process.
pub(crate) fn is_loose(at_most: Parts, mark_bytes: u64, are_files_known: bool) -> bool {
    let at_most_bytes = at_most.together_bytes(None, are_files_known.then_some(0));
    at_most_bytes > (mark_bytes / 8).saturating_mul(9).saturating_add(LOOSE_BYTES)
}

/// Huge pages that the machine gave out, each of which a single fault can have mapped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Huge {
    /// Of all kinds, since the full tick before.
    pub since_tick_bytes: u64,
    /// Of anonymous memory, since the run began.
    pub anon_since_start_bytes: u64,
}

impl Huge {
    /// Nobody counted them.
    pub(crate) const UNKNOWN: Huge = Huge { since_tick_bytes: u64::MAX, anon_since_start_bytes: u64::MAX };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_loose_that_is_far_above_the_mark() {
        let own_is_loose = |bytes, mark_bytes| is_loose(Parts::of(bytes, 0), mark_bytes, false);
        assert!(!own_is_loose(1 << 20, 0) && own_is_loose((1 << 20) + 1, 0));
        let mark_bytes = 80 << 20;
        assert!(!own_is_loose(91 << 20, mark_bytes), "an eighth and a MiB more");
        assert!(own_is_loose((91 << 20) + 1, mark_bytes));
        assert!(!own_is_loose(u64::MAX, u64::MAX), "its mark is not known");
        let of_files = Parts { around_bytes: 100 << 20, ..Parts::of(mark_bytes, 0) };
        assert!(is_loose(of_files, mark_bytes, false) && !is_loose(of_files, mark_bytes, true));
    }
}
