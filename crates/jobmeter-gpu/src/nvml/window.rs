//! From the driver's utilisation samples to the level of each process of the job. The driver gives one entry per
//! process: the mean over its samples since the time that the caller names, with the time stamp of the newest. Entries
//! of different processes carry different stamps, strangers' entries say nothing of the job's processes, and some
//! entries are garbage. So every process is followed by its own stamps, and its silence is timed by our own clock.

use super::sys::UtilizationSample;
use crate::hash::PidMap;
use jobmeter_model::ProcessId;

/// The longest sample period that drivers use.
const LONGEST_PERIOD_US: u64 = 1_000_000;
/// How far back the first question reaches.
const FIRST_REACH_US: u64 = 5_000_000;
/// A stamp may be this much ahead of our wall clock, not more.
const AHEAD_US: u64 = 2_000_000;
/// No driver keeps samples for so long.
const BEHIND_US: u64 = 60_000_000;

/// When the driver was asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// Wall clock, which is the clock of the stamps.
    pub(crate) wall_us: u64,
    /// A clock that nobody sets.
    pub(crate) steady_us: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) busy_ppm: u64,
    pub(crate) memory_busy_ppm: u64,
}

/// What the driver's entries said of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    News,
    Nothing,
    /// Above 100 per cent, or of a time that cannot be.
    Garbage,
}

#[derive(Debug)]
struct Track {
    stamp_us: u64,
    /// Our own clock when the stamp was new.
    renewed_us: u64,
    /// The shortest distance of two stamps.
    period_us: u64,
    level: Level,
    is_idle: bool,
}

impl Track {
    fn is_silent(&self, look: Look) -> bool {
        look.steady_us.saturating_sub(self.renewed_us) > 2 * self.period_us
    }
}

#[derive(Debug, Default)]
pub(crate) struct Window {
    tracks: PidMap<ProcessId, Track>,
    looked_us: Option<u64>,
}

impl Window {
    /// `lastSeenTimeStamp` of the next call: no sample of a busy process of the job is older and unknown to us.
    pub(crate) fn since_us(&self, look: Look) -> u64 {
        let busy = self.tracks.values().filter(|track| !track.is_idle).map(|track| track.stamp_us).min();
        let reach = match self.looked_us {
            Some(looked_us) => looked_us.saturating_sub(LONGEST_PERIOD_US),
            None => look.wall_us.saturating_sub(FIRST_REACH_US),
        };
        busy.unwrap_or(reach).min(look.wall_us)
    }

    /// Takes the entries of one process of the job, ordered by time.
    pub(crate) fn take(&mut self, id: ProcessId, look: Look, entries: &[UtilizationSample]) -> Heard {
        let oldest_us = look.wall_us.saturating_sub(BEHIND_US);
        let is_true = |entry: &&UtilizationSample| {
            entry.sm <= 100
                && entry.memory <= 100
                && (oldest_us..=look.wall_us + AHEAD_US).contains(&entry.time_us)
        };
        // A clock that was set back would make every later entry an old one.
        let track = self.tracks.get(&id).filter(|track| track.stamp_us <= look.wall_us + AHEAD_US);
        let reach_us = look.wall_us.saturating_sub(FIRST_REACH_US);
        let seen_us = track.map_or(reach_us, |track| track.stamp_us);
        let news: Vec<&UtilizationSample> =
            entries.iter().filter(is_true).filter(|entry| entry.time_us > seen_us).collect();
        let Some(newest) = news.last() else {
            return if entries.iter().all(|entry| is_true(&entry)) { Heard::Nothing } else { Heard::Garbage };
        };
        let stamp_us = newest.time_us;
        let period_us =
            track.map_or(LONGEST_PERIOD_US, |track| track.period_us.min(stamp_us - track.stamp_us));
        let level = mean(&news, track.map(|track| track.stamp_us));
        let track = Track { stamp_us, renewed_us: look.steady_us, period_us, level, is_idle: false };
        self.tracks.insert(id, track);
        Heard::News
    }

    /// After all entries were taken: a process of which two periods have told nothing is idle.
    pub(crate) fn settle(&mut self, look: Look, is_member: impl Fn(ProcessId) -> bool) {
        self.looked_us = Some(look.wall_us);
        self.tracks.retain(|id, _| is_member(*id));
        for track in self.tracks.values_mut() {
            track.is_idle |= track.is_silent(look);
        }
    }

    /// `None`: idle, or never heard of.
    pub(crate) fn level(&self, id: ProcessId) -> Option<Level> {
        self.tracks.get(&id).filter(|track| !track.is_idle).map(|track| track.level)
    }

    pub(crate) fn busy(&self) -> impl Iterator<Item = ProcessId> + '_ {
        self.tracks.iter().filter(|(_, track)| !track.is_idle).map(|(id, _)| *id)
    }

    pub(crate) fn clear(&mut self) {
        self.tracks.clear();
    }
}

/// Each entry counts for the time since the one before it; the first of all has nothing before it.
fn mean(news: &[&UtilizationSample], before_us: Option<u64>) -> Level {
    let first_us = before_us.unwrap_or_else(|| news[0].time_us.saturating_sub(1));
    let (mut at_us, mut sm, mut memory) = (first_us, 0, 0);
    for entry in news {
        let length_us = entry.time_us - at_us;
        sm += u64::from(entry.sm) * length_us;
        memory += u64::from(entry.memory) * length_us;
        at_us = entry.time_us;
    }
    let span_us = (at_us - first_us).max(1);
    Level { busy_ppm: sm * 10_000 / span_us, memory_busy_ppm: memory * 10_000 / span_us }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
