//! What the whole machine had counted at full ticks, to tell what can have come since the birth of a process.

/// The oldest readings are forgotten beyond so many.
const MOST_KEPT: usize = 64;

/// Counts of the machine since boot, and a time after they were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CountedAt {
    pub t_ns: u64,
    pub faults: u64,
    pub huge_anon: u64,
}

/// In the order of their times.
#[derive(Debug, Default)]
pub(super) struct History(Vec<CountedAt>);

impl History {
    pub(super) fn push(&mut self, counted: CountedAt) {
        if self.0.len() == MOST_KEPT {
            self.0.remove(0);
        }
        self.0.push(counted);
    }

    /// The last that was read before `t_ns`.
    pub(super) fn before(&self, t_ns: u64) -> Option<&CountedAt> {
        self.0.iter().rev().find(|counted| counted.t_ns <= t_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_before_a_time() {
        let mut history = History::default();
        assert_eq!(history.before(5), None);
        for at in 1..=MOST_KEPT as u64 + 1 {
            history.push(CountedAt { t_ns: at * 10, faults: at, huge_anon: 0 });
        }
        let faults = |t_ns| history.before(t_ns).map(|counted| counted.faults);
        assert_eq!(
            (faults(29), faults(30), faults(u64::MAX)),
            (Some(2), Some(3), Some(MOST_KEPT as u64 + 1))
        );
        assert_eq!(faults(19), None, "forgotten");
    }
}
