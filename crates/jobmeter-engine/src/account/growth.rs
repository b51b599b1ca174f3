//! How far the memory of the job can have grown at each moment between two full ticks. The page faults of the whole machine
//! are counted, and of every so many the time is known: whatever the living have more than at the last full tick took a
//! fault since, and those of the dead are known and taken off.

use super::parts::anon_by_faults_bytes;

/// More steps than this are merged: a step that comes too early is still above the truth.
const MOST_STEPS: usize = 2048;

/// Records of some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    first_ns: u64,
    last_ns: u64,
    records: u64,
}

impl Step {
    fn merged(steps: &[Step]) -> Step {
        let last_ns = steps.iter().map(|step| step.last_ns).max().unwrap_or(0);
        Step { first_ns: steps[0].first_ns, last_ns, records: steps.iter().map(|step| step.records).sum() }
    }
}

/// Page faults of the whole machine: the time of every so many of each CPU, and all of them when a full tick asks.
#[derive(Debug, Default)]
pub(crate) struct FaultTimes {
    period: u64,
    cpus: u64,
    steps: Vec<Step>,
    /// Records so far.
    timed: u64,
    /// When a full tick last asked: all faults of the machine, and the records by then.
    asked: Option<(u64, u64)>,
    /// Faults without a time between the last two askings.
    untimed_before: Option<u64>,
}

impl FaultTimes {
    pub(crate) fn every(period: u64, cpus: u64) -> FaultTimes {
        FaultTimes { period, cpus, ..FaultTimes::default() }
    }

    pub(crate) fn note(&mut self, t_ns: u64) {
        self.timed += 1;
        self.steps.push(Step { first_ns: t_ns, last_ns: t_ns, records: 1 });
        if self.steps.len() > MOST_STEPS {
            self.steps.sort_unstable();
            self.steps = self.steps.chunks(2).map(Step::merged).collect();
        }
    }

    /// Records so far.
    pub(crate) fn timed(&self) -> u64 {
        self.timed
    }

    /// At a full tick: the machine has taken `all` faults. `timed_before` are the records that had come before that was read; what
    /// has come by now was read after it.
    /// Returns the faults by time since the tick at `from_ns`, where all of them are known.
    pub(crate) fn ask(&mut self, all: u64, timed_before: u64, from_ns: u64) -> Option<FaultsByTime> {
        let before = self.asked.replace((all, self.timed));
        let slack = self.period * self.cpus;
        let untimed = before.map(|(all_before, timed_at)| {
            let timed = (timed_before.saturating_sub(timed_at) * self.period).saturating_sub(slack);
            all.saturating_sub(all_before).saturating_sub(timed)
        });
        // The last tick asked some time after it had begun: what came without a time until then is among those of before.
        let untimed_before = std::mem::replace(&mut self.untimed_before, untimed);
        let known = untimed.zip(untimed_before).map(|(untimed, before)| untimed + before + slack);
        self.forget_before(from_ns);
        self.steps.sort_unstable();
        let mut faults = 0;
        let steps = self.steps.iter().map(|step| {
            faults += step.records * self.period;
            (step.first_ns, faults)
        });
        let steps = steps.collect();
        known.map(|untimed| FaultsByTime { untimed, steps })
    }

    fn forget_before(&mut self, from_ns: u64) {
        self.steps.retain(|step| step.last_ns >= from_ns);
    }
}

/// Page faults of an interval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FaultsByTime {
    /// Those whose time is not known.
    untimed: u64,
    /// Times, and how many others came up to each.
    steps: Vec<(u64, u64)>,
}

impl FaultsByTime {
    /// No more than this came up to `t_ns`.
    fn until(&self, t_ns: u64) -> u64 {
        let after = self.steps.partition_point(|step| step.0 <= t_ns);
        self.untimed + after.checked_sub(1).map_or(0, |last| self.steps[last].1)
    }
}

/// A process that lived since the last full tick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Anonymous memory that it had at the last full tick.
    pub anon_bytes: u64,
    /// Page faults that it has taken since, at least.
    pub faults: u64,
    /// When its memory was free again: its own end, or that of the last copy of it.
    pub until_ns: u64,
}

/// All that is known of the growth in an interval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Growth {
    pub faults: FaultsByTime,
    /// Huge pages of the interval before: some may have come after a process was read and before they were counted.
    pub huge_before_bytes: u64,
    pub holders: Vec<Holder>,
}

/// What the job has grown to while one walks through the interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grown {
    held_bytes: u64,
    freed_faults: u64,
}

impl Growth {
    /// At the beginning of the interval.
    pub(super) fn at_start(&self) -> Grown {
        let held_bytes = self.holders.iter().map(|holder| holder.anon_bytes).fold(0, u64::saturating_add);
        Grown { held_bytes, freed_faults: 0 }
    }

    /// The most anonymous memory, huge pages apart, of all who hold theirs until `until_ns`.
    pub(super) fn anon_bytes(&self, grown: Grown, until_ns: u64) -> u64 {
        let faults = self.faults.until(until_ns).saturating_sub(grown.freed_faults);
        let more_bytes = anon_by_faults_bytes(faults).saturating_add(self.huge_before_bytes);
        grown.held_bytes.saturating_add(more_bytes)
    }
}

impl Grown {
    pub(super) fn free(&mut self, holder: &Holder) {
        self.held_bytes = self.held_bytes.saturating_sub(holder.anon_bytes);
        self.freed_faults += holder.faults;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_without_a_time_count_from_the_start() {
        let mut times = FaultTimes::every(10, 2);
        assert_eq!(times.ask(1_000, 0, 5), None, "nothing to compare with");
        times.note(7);
        assert_eq!(times.ask(1_500, 1, 5), None, "the tick before had asked late");
        for t_ns in [30, 20, 6, 40] {
            times.note(t_ns);
        }
        // 100 faults: 40 in records, of which 20 may be older; 20 more may be without a record.
        let faults = times.ask(1_600, 5, 10).unwrap_or_default();
        let untimed = 500 + (100 - 20) + 20;
        assert_eq!(
            (faults.until(19), faults.until(20), faults.until(u64::MAX)),
            (untimed, untimed + 10, untimed + 30)
        );
    }

    #[test]
    fn many_steps_stay_few_and_none_comes_later() {
        let mut times = FaultTimes::every(1, 0);
        times.ask(0, 0, 0);
        times.ask(0, 0, 0);
        for t_ns in (0..10_000).rev() {
            times.note(t_ns);
        }
        let faults = times.ask(10_000, 10_000, 0).unwrap_or_default();
        assert!(faults.steps.len() <= MOST_STEPS);
        assert_eq!(faults.until(u64::MAX), 10_000);
        assert!((0..10_000).all(|t_ns| faults.until(t_ns) > t_ns));
        times.ask(10_000, 10_000, 9_999);
        assert!(times.steps.len() <= 2);
    }

    #[test]
    fn what_the_dead_had_is_free() {
        let faults = FaultsByTime { untimed: 1, steps: vec![(10, 100), (20, 300)] };
        let holders = vec![
            Holder { anon_bytes: 40_960, faults: 0, until_ns: u64::MAX },
            Holder { anon_bytes: 8_192, faults: 100, until_ns: 15 },
        ];
        let growth = Growth { faults, huge_before_bytes: 10, holders };
        let mut grown = growth.at_start();
        assert_eq!(growth.anon_bytes(grown, 15), 49_152 + 101 * 4096 + 10);
        grown.free(&growth.holders[1]);
        assert_eq!(growth.anon_bytes(grown, u64::MAX), 40_960 + 201 * 4096 + 10);
    }
}
