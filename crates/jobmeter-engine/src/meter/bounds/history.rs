//! What the whole machine had counted at full ticks and in between, to tell what can have come since the birth of a process.

use crate::account::windows::CountedAt;

/// The oldest readings are forgotten beyond so many.
const MOST_KEPT: usize = 64;

#[derive(Debug, Default)]
pub(super) struct History {
    /// In the order of their times.
    kept: Vec<CountedAt>,
    /// Before this full tick read the first process, and before the last one did; `None` where it did not ask.
    at_begin: Option<CountedAt>,
    at_last: Option<CountedAt>,
    /// Nobody had done anything before the last full tick, so that it bounded nothing.
    was_quiet: bool,
}

impl History {
    /// A full tick begins.
    pub(super) fn begin(&mut self, counted: Option<CountedAt>) {
        self.at_begin = counted;
        counted.into_iter().for_each(|counted| self.note(counted));
    }

    /// Read between two full ticks.
    pub(super) fn note(&mut self, counted: CountedAt) {
        if self.kept.len() == MOST_KEPT {
            self.kept.remove(0);
        }
        self.kept.push(counted);
    }

    /// In the order of their times.
    pub(super) fn readings(&self) -> &[CountedAt] {
        &self.kept
    }

    /// It is over: the next interval has begun with it.
    pub(super) fn end(&mut self) {
        (self.at_last, self.was_quiet) = (self.at_begin.take(), false);
    }

    /// The same where nobody had done anything.
    pub(super) fn end_quiet(&mut self) {
        (self.at_last, self.was_quiet) = (self.at_begin.take(), true);
    }

    pub(super) fn was_quiet(&self) -> bool {
        self.was_quiet
    }

    /// Before this full tick read the first process.
    pub(super) fn at_begin(&self) -> Option<CountedAt> {
        self.at_begin
    }

    /// Before the last full tick, and before `t_ns` if that is earlier.
    pub(super) fn last_and_before(&self, t_ns: u64) -> Option<CountedAt> {
        let last = self.at_last?;
        if t_ns < last.t_ns { self.before(t_ns) } else { Some(last) }
    }

    /// When the last full tick had counted, before it read the first process.
    pub(super) fn last_full_ns(&self) -> Option<u64> {
        self.at_last.map(|counted| counted.t_ns)
    }

    /// The last that was read before `t_ns`.
    pub(super) fn before(&self, t_ns: u64) -> Option<CountedAt> {
        self.kept.iter().rev().find(|counted| counted.t_ns <= t_ns).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(at: u64) -> Option<CountedAt> {
        Some(CountedAt { began_ns: at * 10, t_ns: at * 10, faults: at, huge_anon: 0, huge_file: 0 })
    }

    #[test]
    fn the_last_before_a_time() {
        let mut history = History::default();
        assert_eq!(history.before(5), None);
        (1..=MOST_KEPT as u64 + 1).for_each(|at| history.begin(counted(at)));
        let faults = |t_ns| history.before(t_ns).map(|counted| counted.faults);
        assert_eq!(
            (faults(29), faults(30), faults(u64::MAX)),
            (Some(2), Some(3), Some(MOST_KEPT as u64 + 1))
        );
        assert_eq!(faults(19), None, "forgotten");
    }

    #[test]
    fn an_interval_begins_with_the_tick_before() {
        let mut history = History::default();
        history.begin(counted(1));
        assert_eq!(history.last_and_before(u64::MAX), None, "there was no tick before");
        history.end();
        history.begin(counted(5));
        assert_eq!(history.last_and_before(u64::MAX), counted(1));
        history.end();
        assert_eq!(history.last_and_before(50), counted(5));
        assert_eq!(history.last_and_before(49), counted(1), "somebody was born before the last tick");
        assert_eq!(history.last_and_before(9), None);
        history.begin(None);
        history.end();
        assert_eq!(history.last_and_before(u64::MAX), None, "the last tick did not ask");
    }
}
