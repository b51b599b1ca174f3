//! From the driver's time-stamped utilisation samples to busy time. Each stretch between two time stamps is
//! counted once: a sample reaches back to the one before it, and the next question begins where the last
//! answer ended.

use super::sys::UtilizationSample;

/// The longest sample period that drivers use.
const LONGEST_PERIOD_US: u64 = 1_000_000;
/// Time stamps this near to the wall clock are of the wall clock.
const SAME_CLOCK_US: u64 = 60_000_000;

/// What one process did in the last window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) pid: i32,
    pub(crate) busy_ns: u64,
    pub(crate) busy_ppm: u64,
    pub(crate) memory_busy_ppm: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A new window: these processes were busy, all others idle.
    Shares(Vec<Share>),
    /// No new sample is due yet: the last shares stand.
    Hold,
    /// A sample was due and none came: everybody was idle.
    Idle,
}

#[derive(Debug, Default)]
pub(crate) struct Window {
    /// Up to here everything is counted, in the driver's clock.
    counted_us: Option<u64>,
    /// Wall clock of the last call.
    called_us: Option<u64>,
    period_us: Option<u64>,
    wall_clock: bool,
}

impl Window {
    /// `lastSeenTimeStamp` of the next call.
    pub(crate) fn since_us(&self) -> u64 {
        self.counted_us.unwrap_or(0)
    }

    /// `now_us` is the wall clock when the call was made.
    pub(crate) fn take(&mut self, now_us: u64, samples: &mut [UtilizationSample]) -> Verdict {
        let called_us = self.called_us.replace(now_us);
        let Some(newest_us) = samples.iter().map(|sample| sample.time_us).max() else {
            return self.lull(now_us, called_us);
        };
        self.wall_clock = newest_us.abs_diff(now_us) < SAME_CLOCK_US;
        let begin_us = match self.counted_us {
            Some(counted) => counted,
            // Nothing was there at the last call, so what is new began after it.
            None if self.wall_clock && called_us.is_some_and(|called| called < newest_us) => {
                called_us.unwrap_or(newest_us)
            }
            // The very first answer reaches back to before we looked: show its level, count no time.
            None => {
                self.counted_us = Some(newest_us);
                return Verdict::Shares(levels(samples));
            }
        };
        if newest_us <= begin_us {
            return self.lull(now_us, called_us);
        }
        self.counted_us = Some(newest_us);
        let span_us = newest_us - begin_us;
        let period_us = self.period_us.map_or(span_us, |known| known.min(span_us));
        self.period_us = Some(period_us.min(LONGEST_PERIOD_US));
        Verdict::Shares(shares(samples, begin_us, span_us))
    }

    fn lull(&mut self, now_us: u64, called_us: Option<u64>) -> Verdict {
        let Some(counted_us) = self.counted_us else { return Verdict::Idle };
        let patience_us = 2 * self.period_us.unwrap_or(LONGEST_PERIOD_US);
        if !self.wall_clock || now_us < counted_us + patience_us {
            return Verdict::Hold;
        }
        // Idle time is settled up to the call before this one, so that a later sample is not stretched over
        // a pause that it says nothing of.
        if let Some(called_us) = called_us {
            self.counted_us = Some(counted_us.max(called_us));
        }
        Verdict::Idle
    }
}

fn shares(samples: &mut [UtilizationSample], begin_us: u64, span_us: u64) -> Vec<Share> {
    samples.sort_unstable_by_key(|sample| (sample.pid, sample.time_us));
    let mut result = Vec::new();
    for run in samples.chunk_by(|a, b| a.pid == b.pid) {
        let (mut at_us, mut sm, mut memory) = (begin_us, 0u64, 0u64);
        for sample in run.iter().filter(|sample| sample.time_us > begin_us) {
            let length_us = sample.time_us - at_us;
            sm += u64::from(sample.sm.min(100)) * length_us;
            memory += u64::from(sample.memory.min(100)) * length_us;
            at_us = sample.time_us;
        }
        if at_us > begin_us {
            result.push(Share {
                pid: run[0].pid as i32,
                busy_ns: sm * 10,
                busy_ppm: sm * 10_000 / span_us,
                memory_busy_ppm: memory * 10_000 / span_us,
            });
        }
    }
    result
}

fn levels(samples: &mut [UtilizationSample]) -> Vec<Share> {
    samples.sort_unstable_by_key(|sample| (sample.pid, sample.time_us));
    let newest = samples.chunk_by(|a, b| a.pid == b.pid).filter_map(|run| run.last());
    newest
        .map(|sample| Share {
            pid: sample.pid as i32,
            busy_ns: 0,
            busy_ppm: u64::from(sample.sm.min(100)) * 10_000,
            memory_busy_ppm: u64::from(sample.memory.min(100)) * 10_000,
        })
        .collect()
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
