//! The last readings of a run, and what counters did over them.
//!
//! The last row of a run is taken when it stops, and may follow the tick before by a few milliseconds; so may a row after
//! a late tick. The kernel counts CPU time in steps of 10 ms: over such a sliver of time one step alone looks like many
//! cores. The rate of such a row reaches back to earlier ones.

use std::collections::VecDeque;

/// How many intervals tell what the usual one is: few, since the interval of a run may change on its way.
const NEIGHBOURS: usize = 5;

#[derive(Default)]
pub(crate) struct Window {
    /// The column that tells whether a tick read the machine.
    machine: Option<usize>,
    /// The newest last; one more than there are intervals.
    readings: VecDeque<Reading>,
}

struct Reading {
    t_ns: u64,
    values: Vec<Option<u64>>,
}

impl Window {
    pub(crate) fn set_machine(&mut self, place: usize) {
        self.machine = Some(place);
    }

    /// Takes a reading in. Returns whether it ends an interval: the first does not, and two at one moment make none.
    /// Ticks at marks do not read the machine; they are left out, and their job is in the next interval.
    pub(crate) fn push(&mut self, t_ns: u64, values: &[Option<u64>]) -> bool {
        let is_read = |values: &[Option<u64>]| {
            self.machine.is_some_and(|place| values.get(place).copied().flatten().is_some())
        };
        let is_left_out = |last: &Reading| last.t_ns >= t_ns || (is_read(&last.values) && !is_read(values));
        if self.readings.back().is_some_and(is_left_out) {
            return false;
        }
        let oldest = if self.readings.len() > NEIGHBOURS { self.readings.pop_front() } else { None };
        let mut kept = oldest.map(|reading| reading.values).unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(values);
        self.readings.push_back(Reading { t_ns, values: kept });
        self.readings.len() > 1
    }

    pub(crate) fn t_ns(&self) -> u64 {
        self.readings.back().map_or(0, |reading| reading.t_ns)
    }

    /// The level at the newest reading.
    pub(crate) fn now(&self, place: usize) -> Option<u64> {
        self.at(self.readings.len().checked_sub(1)?, place)
    }

    /// How much a counter grew since the reading before; one that ran backwards is a gap.
    pub(crate) fn grown(&self, place: usize) -> Option<u64> {
        self.now(place)?.checked_sub(self.at(self.readings.len().checked_sub(2)?, place)?)
    }

    /// Growth of a counter per nanosecond, over at least half the usual interval. `None` after a gap, and where a gap
    /// leaves too little time to tell.
    pub(crate) fn rate(&self, place: usize) -> Option<f64> {
        let last = self.readings.len().checked_sub(1)?;
        let now = self.at(last, place)?;
        let least_ns = self.usual_ns()? / 2;
        let (mut begin, mut then) = (last, now);
        while begin > 0 && (begin == last || self.span_ns(begin) < least_ns) {
            match self.at(begin - 1, place).filter(|before| *before <= then) {
                Some(before) => (begin, then) = (begin - 1, before),
                None => break,
            }
        }
        let span_ns = self.span_ns(begin);
        (span_ns > 0 && span_ns >= least_ns).then(|| (now - then) as f64 / span_ns as f64)
    }

    fn at(&self, reading: usize, place: usize) -> Option<u64> {
        self.readings.get(reading)?.values.get(place).copied().flatten()
    }

    fn span_ns(&self, begin: usize) -> u64 {
        self.readings.get(begin).map_or(0, |reading| self.t_ns() - reading.t_ns)
    }

    /// The median of the last intervals.
    fn usual_ns(&self) -> Option<u64> {
        let times = self.readings.iter().map(|reading| reading.t_ns);
        let mut spans: Vec<u64> =
            times.clone().zip(times.skip(1)).map(|(before, after)| after - before).collect();
        spans.sort_unstable();
        spans.get(spans.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(readings: &[(u64, Option<u64>)]) -> Vec<Option<f64>> {
        let mut window = Window::default();
        readings
            .iter()
            .map(|(t_ns, value)| if window.push(*t_ns, &[*value]) { window.rate(0) } else { None })
            .collect()
    }

    #[test]
    fn a_sliver_of_time_reaches_back() {
        let found = rates(
            &[(0, 0), (100, 100), (200, 200), (397, 390), (400, 410), (500, 510)].map(|(t, v)| (t, Some(v))),
        );
        assert_eq!(found, [None, Some(1.0), Some(1.0), Some(190.0 / 197.0), Some(1.05), Some(1.0)]);
    }

    #[test]
    fn a_run_whose_interval_grows_keeps_its_fine_rows() {
        let times = [0, 10, 20, 30, 40, 50, 150, 250, 1250, 2250];
        let values = [0, 0, 10, 10, 20, 20, 20, 120, 120, 1120];
        let readings: Vec<_> = times.into_iter().zip(values.map(Some)).collect();
        assert_eq!(rates(&readings)[1..], [0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0].map(Some));
    }

    #[test]
    fn gaps_stay_gaps() {
        let times = [0, 100, 200, 300, 400, 403];
        let with = |values: [Option<u64>; 6]| rates(&times.into_iter().zip(values).collect::<Vec<_>>());
        let one = Some(1.0);
        let unknown = with([Some(0), Some(100), None, Some(300), Some(400), Some(403)]);
        assert_eq!(unknown, [None, one, None, None, one, one]);
        let backwards = with([Some(0), Some(100), Some(200), Some(300), Some(5), Some(8)]);
        assert_eq!(backwards, [None, one, one, one, None, None]);
    }

    #[test]
    fn a_tick_that_did_not_read_the_machine_ends_no_interval() {
        let mut window = Window::default();
        window.set_machine(0);
        assert!(!window.push(0, &[Some(0)]) && window.push(100, &[Some(200)]));
        assert!(!window.push(150, &[None]) && window.push(200, &[Some(400)]));
        assert_eq!(window.rate(0), Some(2.0));
    }

    #[test]
    fn two_readings_at_one_moment_make_no_interval() {
        let mut window = Window::default();
        assert!(!window.push(5, &[Some(1)]) && !window.push(5, &[Some(2)]));
        assert!(window.push(6, &[Some(3)]));
        assert_eq!((window.now(0), window.grown(0), window.now(7)), (Some(3), Some(2), None));
    }
}
