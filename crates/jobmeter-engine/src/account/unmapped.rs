//! Memory that the job holds although no process maps it: files in tmpfs, memfd, System V segments. A scheduler's limit
//! counts it, resident sizes do not.

/// Shared memory at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SharedReading {
    /// Of the whole machine, mapped or not.
    pub machine_bytes: u64,
    /// Mapped by the job: the plain sum over its processes, which may map the same, and the most that one maps.
    pub mapped_sum_bytes: u64,
    pub mapped_max_bytes: u64,
}

/// The peak of what the job holds unmapped, by how much the machine's shared memory grew while the job ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Unmapped {
    before_bytes: Option<u64>,
    least_bytes: u64,
    most_bytes: u64,
}

impl Unmapped {
    /// The first reading is what was there before the job.
    pub(crate) fn take(&mut self, reading: SharedReading) {
        let before_bytes = *self.before_bytes.get_or_insert(reading.machine_bytes);
        let grown_bytes = reading.machine_bytes.saturating_sub(before_bytes);
        self.least_bytes = self.least_bytes.max(grown_bytes.saturating_sub(reading.mapped_sum_bytes));
        self.most_bytes = self.most_bytes.max(grown_bytes.saturating_sub(reading.mapped_max_bytes));
    }

    /// At least and at most; `None` where nothing was read.
    pub(crate) fn peak(&self) -> Option<(u64, u64)> {
        self.before_bytes.map(|_| (self.least_bytes, self.most_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(machine_bytes: u64, mapped_sum_bytes: u64, mapped_max_bytes: u64) -> SharedReading {
        SharedReading { machine_bytes, mapped_sum_bytes, mapped_max_bytes }
    }

    #[test]
    fn nothing_read_is_unknown() {
        assert_eq!(Unmapped::default().peak(), None);
    }

    #[test]
    fn growth_that_nobody_maps() {
        let mut unmapped = Unmapped::default();
        unmapped.take(reading(1000, 0, 0));
        assert_eq!(unmapped.peak(), Some((0, 0)));
        unmapped.take(reading(1500, 0, 0));
        unmapped.take(reading(900, 0, 0));
        assert_eq!(unmapped.peak(), Some((500, 500)), "the peak stays");
    }

    #[test]
    fn mapped_memory_is_in_the_resident_sizes() {
        let mut unmapped = Unmapped::default();
        unmapped.take(reading(0, 0, 0));
        // Four processes map 150 each: the same, or not.
        unmapped.take(reading(650, 600, 150));
        assert_eq!(unmapped.peak(), Some((50, 500)));
        let mut mapped = Unmapped::default();
        mapped.take(reading(0, 0, 0));
        mapped.take(reading(150, 600, 150));
        assert_eq!(mapped.peak(), Some((0, 0)));
    }
}
