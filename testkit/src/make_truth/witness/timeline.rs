//! Counters of the job at many moments, for what was measured over a part of its life only: an attached process,
//! or a job whose daemon lives on.

use super::taskstats::Counters;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How far the clock of a moment may be off: reading takes a while, and jobmeter's clock reading is not its first.
const SLACK_NS: u64 = 10_000_000;
/// A task that ends is in neither sum until its exit record has arrived.
const LAG_NS: u64 = 80_000_000;

pub(crate) fn wall_clock_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_nanos() as u64
}

/// A reading, made at some point between two points of time: on a busy machine they may lie far apart.
pub(crate) struct Moment {
    after_ns: u64,
    before_ns: u64,
    pub cpu_ns: Option<u64>,
    /// The CPU clock of the first process, while it is there.
    pub main: Option<MainClock>,
    pub counters: Counters,
}

/// The CPU clock of another process is as of its last clock tick while it runs. Where the hypervisor takes a core away, no tick
/// comes: it stood still for 14 ms on one that was a few per cent short.
#[derive(Clone, Copy)]
pub(crate) struct MainClock {
    /// Or may be: as `/proc/PID/stat` told before the clock was read.
    pub is_running: bool,
    pub cpu_ns: u64,
}

impl Moment {
    pub(crate) fn read(read: impl FnOnce() -> (Option<u64>, Option<MainClock>, Counters)) -> Moment {
        let after_ns = wall_clock_ns();
        let (cpu_ns, main, counters) = read();
        Moment { after_ns, before_ns: wall_clock_ns(), cpu_ns, main, counters }
    }
}

/// A sample of the oracle, and the points of time between which it was taken.
pub(crate) struct Held {
    pub after_ns: u64,
    pub before_ns: u64,
    pub bytes: u64,
}

#[derive(Default)]
pub(crate) struct Timeline {
    moments: Vec<Moment>,
    pub memory: Vec<Held>,
}

impl Timeline {
    pub(crate) fn push(&mut self, moment: Moment) {
        self.moments.push(moment);
    }

    /// By how much a counter grew between two points of time: at least and at most.
    pub(crate) fn growth(
        &self,
        begin_ns: u64,
        end_ns: u64,
        of: impl Fn(&Moment) -> Option<u64>,
    ) -> Option<(u64, u64)> {
        // Counters only grow: whatever was read before a point of time is at most what it was then.
        let at_least = |unix_ns: u64| {
            let read = self.moments.iter().take_while(|moment| moment.before_ns + SLACK_NS <= unix_ns);
            read.filter_map(&of).max().unwrap_or_default()
        };
        // The first reading after it, and all before that one; without any the last there is.
        let at_most = |unix_ns: u64| {
            let next = self.moments.iter().position(|moment| moment.after_ns >= unix_ns);
            let until = next.map_or(self.moments.len(), |next| next + 1);
            self.moments[..until].iter().filter_map(&of).max()
        };
        let (begin_most, end_most) = (at_most(begin_ns + SLACK_NS)?, at_most(end_ns + LAG_NS)?);
        Some((at_least(end_ns).saturating_sub(begin_most), end_most.saturating_sub(at_least(begin_ns))))
    }

    /// The last reading of the first process's CPU clock, and for how long it can have run without showing there.
    pub(crate) fn last_of_main(&self) -> Option<(u64, u64)> {
        let at = self.moments.iter().rposition(|moment| moment.main.is_some())?;
        let last_ns = self.moments[at].main?.cpu_ns;
        let gone_by = self.moments.get(at + 1)?.before_ns;
        // Back to where the clock was up to date: it was not running, or the clock had moved since the reading before.
        let mut since = at;
        while since > 0 && self.moments[since].main.is_some_and(|main| main.is_running) {
            since -= 1;
            if self.moments[since].main.is_none_or(|before| before.cpu_ns != last_ns) {
                break;
            }
        }
        Some((last_ns, gone_by.saturating_sub(self.moments[since].after_ns)))
    }

    /// One line for each reading: between which times it was made, and the CPU time of the job and of its first process.
    pub(crate) fn told(&self) -> String {
        let line = |moment: &Moment| {
            let Moment { after_ns, before_ns, cpu_ns, main, .. } = moment;
            let main =
                main.map(|main| (main.cpu_ns, if main.is_running { "running" } else { "not running" }));
            format!("{after_ns} to {before_ns}: job {cpu_ns:?}, main {main:?}\n")
        };
        self.moments.iter().map(line).collect()
    }

    /// The highest memory that the oracle saw between two points of time.
    pub(crate) fn memory_peak(&self, begin_ns: u64, end_ns: u64) -> Option<u64> {
        let is_inside =
            |held: &&Held| held.after_ns >= begin_ns + SLACK_NS && held.before_ns + SLACK_NS <= end_ns;
        self.memory.iter().filter(is_inside).map(|held| held.bytes).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn moment(after_ms: u64, before_ms: u64, cpu_ns: u64) -> Moment {
        let counters = Counters::default();
        Moment {
            after_ns: after_ms * MS,
            before_ns: before_ms * MS,
            cpu_ns: Some(cpu_ns),
            main: None,
            counters,
        }
    }

    /// Readings of the main process every 10 ms: whether it ran, and its clock in ms. Then it is gone.
    fn of_main(readings: &[(bool, u64)]) -> Option<(u64, u64)> {
        let mut timeline = Timeline::default();
        for (at, (is_running, cpu_ms)) in (0..).zip(readings) {
            let main = Some(MainClock { is_running: *is_running, cpu_ns: cpu_ms * MS });
            timeline.push(Moment { main, ..moment(at * 10, at * 10 + 1, 0) });
        }
        let end = readings.len() as u64 * 10;
        timeline.push(moment(end, end + 1, 0));
        timeline.last_of_main()
    }

    #[test]
    fn the_clock_of_a_running_process_may_be_late() {
        assert_eq!(of_main(&[]), None);
        let asleep = [(true, 5), (true, 9), (false, 9)];
        assert_eq!(of_main(&asleep), Some((9 * MS, 11 * MS)), "up to date when it was read");
        let moved = [(false, 1), (true, 5), (true, 9)];
        assert_eq!(of_main(&moved), Some((9 * MS, 21 * MS)), "up to date after the reading before");
        let stands = [(true, 5), (true, 9), (true, 9), (true, 9)];
        assert_eq!(of_main(&stands), Some((9 * MS, 41 * MS)), "no clock tick since it had moved");
        let woken = [(true, 9), (false, 9), (true, 9)];
        assert_eq!(of_main(&woken), Some((9 * MS, 21 * MS)), "up to date while it slept");
    }

    /// The reading of 500 was made at some point between 190 and 400 ms: at 300 ms it may not have been reached.
    #[test]
    fn a_slow_reading_proves_nothing_about_the_time_that_it_took() {
        let mut timeline = Timeline::default();
        for moment in [moment(90, 91, 100), moment(190, 400, 500), moment(500, 501, 600)] {
            timeline.push(moment);
        }
        assert_eq!(timeline.growth(0, 300 * MS, |moment| moment.cpu_ns), Some((0, 600)));
        assert_eq!(timeline.growth(100 * MS, 450 * MS, |moment| moment.cpu_ns), Some((0, 600)));
        assert_eq!(timeline.growth(60 * MS, 450 * MS, |moment| moment.cpu_ns), Some((400, 600)));
    }
}
