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

pub(crate) struct Moment {
    unix_ns: u64,
    pub cpu_ns: Option<u64>,
    /// The CPU clock of the first process, while it is there.
    pub main_ns: Option<u64>,
    pub counters: Counters,
}

impl Moment {
    pub(crate) fn now(cpu_ns: Option<u64>, main_ns: Option<u64>, counters: Counters) -> Moment {
        Moment { unix_ns: wall_clock_ns(), cpu_ns, main_ns, counters }
    }
}

#[derive(Default)]
pub(crate) struct Timeline {
    moments: Vec<Moment>,
    /// Samples of the oracle: wall clock and bytes.
    pub memory: Vec<(u64, u64)>,
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
        let highest_until = |unix_ns: u64| {
            let until = self.moments.iter().take_while(|moment| moment.unix_ns <= unix_ns);
            until.filter_map(&of).max()
        };
        let at_least = |unix_ns: u64| highest_until(unix_ns.saturating_sub(SLACK_NS)).unwrap_or_default();
        let at_most = |unix_ns: u64| highest_until(unix_ns + LAG_NS);
        // Right after the beginning little can have ended, so the lag need not be allowed for there.
        let begin_most = highest_until(begin_ns + SLACK_NS).unwrap_or_default();
        Some((
            at_least(end_ns).saturating_sub(begin_most),
            at_most(end_ns)? - at_least(begin_ns).min(at_most(end_ns)?),
        ))
    }

    /// The last reading of the first process's CPU clock, and what it can have used after that on one core.
    pub(crate) fn last_of_main(&self) -> Option<(u64, u64)> {
        let at = self.moments.iter().rposition(|moment| moment.main_ns.is_some())?;
        let gone_by = self.moments.get(at + 1).map_or(u64::MAX, |moment| moment.unix_ns);
        let last = &self.moments[at];
        Some((last.main_ns?, gone_by.saturating_sub(last.unix_ns)))
    }

    /// The highest memory that the oracle saw between two points of time.
    pub(crate) fn memory_peak(&self, begin_ns: u64, end_ns: u64) -> Option<u64> {
        let inside = self
            .memory
            .iter()
            .filter(|(unix_ns, _)| (begin_ns + SLACK_NS..end_ns.saturating_sub(SLACK_NS)).contains(unix_ns));
        inside.map(|(_, bytes)| *bytes).max()
    }
}
