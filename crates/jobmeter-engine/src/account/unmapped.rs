//! Memory that the job holds although no process maps it: files in tmpfs, memfd, System V segments. A scheduler's limit
//! counts it, resident sizes do not.

/// Shared memory at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SharedReading {
    /// Of the whole machine, mapped or not.
    pub machine_bytes: u64,
    /// Mapped by the job: the plain sum over its processes, which may map the same.
    pub mapped_sum_bytes: u64,
}

/// The peak of what the job holds unmapped, by how much the machine's shared memory grew while the job ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Unmapped {
    before_bytes: Option<u64>,
    peak_bytes: u64,
}

impl Unmapped {
    /// The first reading is what was there before the job.
    pub(crate) fn take(&mut self, reading: SharedReading) {
        let before_bytes = *self.before_bytes.get_or_insert(reading.machine_bytes);
        let grown_bytes = reading.machine_bytes.saturating_sub(before_bytes);
        self.peak_bytes = self.peak_bytes.max(grown_bytes.saturating_sub(reading.mapped_sum_bytes));
    }

    /// `None` where nothing was read. What came and went between two looks is not in it, and what other programs took is:
    /// an estimate without bounds.
    pub(crate) fn peak_bytes(&self) -> Option<u64> {
        self.before_bytes.map(|_| self.peak_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(machine_bytes: u64, mapped_sum_bytes: u64) -> SharedReading {
        SharedReading { machine_bytes, mapped_sum_bytes }
    }

    #[test]
    fn nothing_read_is_unknown() {
        assert_eq!(Unmapped::default().peak_bytes(), None);
    }

    #[test]
    fn growth_that_nobody_maps() {
        let mut unmapped = Unmapped::default();
        unmapped.take(reading(1000, 0));
        assert_eq!(unmapped.peak_bytes(), Some(0));
        unmapped.take(reading(1500, 0));
        unmapped.take(reading(900, 0));
        assert_eq!(unmapped.peak_bytes(), Some(500), "the peak stays");
    }

    #[test]
    fn mapped_memory_is_in_the_resident_sizes() {
        let mut unmapped = Unmapped::default();
        unmapped.take(reading(0, 0));
        // Four processes map 150 each: the same, or not.
        unmapped.take(reading(650, 600));
        assert_eq!(unmapped.peak_bytes(), Some(50));
        let mut mapped = Unmapped::default();
        mapped.take(reading(0, 0));
        mapped.take(reading(150, 600));
        assert_eq!(mapped.peak_bytes(), Some(0));
    }
}
