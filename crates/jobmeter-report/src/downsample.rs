//! Reduces the stream of a run to a bounded number of buckets, in one pass and constant memory, so that every
//! peak survives: a bucket keeps the mean, the minimum and the maximum of its ticks.
//!
//! Buckets are aligned to powers of two nanoseconds. A new bucket opens while there is room; when there are
//! too many, the width doubles and neighbours fall together. A short run therefore keeps every tick, and a
//! long one is divided evenly in time, whatever the tick distance was.

mod events;
mod phases;
mod stats;
#[cfg(test)]
pub(crate) mod tests;

use crate::data::{Peak, Point, RunData, Series};
use events::EventLog;
use jobmeter_model::Unit;
use jobmeter_model::accumulate::{RATE_WINDOW_NS, most_per_s};
use jobmeter_model::{Column, Event, Kind, Sink, Summary};
use jobmeter_record::table::PhaseBuilder;
use phases::PhaseLog;
use stats::Cell;
use std::sync::Arc;

/// Buckets of a series unless asked otherwise: between half and all of these are in use after a merge, about
/// one per pixel of a wide screen.
pub const DEFAULT_BUCKETS: usize = 2048;

/// Buckets of all columns together, 64 bytes each while they are being filled and read: a run with more than 512
/// columns is drawn with fewer buckets each.
const CELLS_MAX: usize = 512 * DEFAULT_BUCKETS;
/// However many columns there are.
const BUCKETS_MIN: usize = 32;

/// Takes the stream of a run (live or replayed) and gives the series, processes, phases and marks to draw.
pub struct SeriesBuilder {
    max_buckets: usize,
    /// Two ticks share a bucket when their times agree above this many bits.
    shift: u32,
    buckets: Vec<Span>,
    tracks: Vec<Track>,
    last_tick_ns: Option<u64>,
    events: EventLog,
    phases: PhaseBuilder<PhaseLog>,
}

/// First and last tick of a bucket.
#[derive(Clone, Copy)]
struct Span {
    first_ns: u64,
    last_ns: u64,
}

#[derive(Clone, Copy)]
struct Reading {
    t_ns: u64,
    value: u64,
    bucket: usize,
}

struct Track {
    column: Column,
    measure: Unit,
    factor: f64,
    counter: bool,
    /// The reading that the next difference is taken from.
    previous: Option<Reading>,
    last: Option<Reading>,
    cells: Vec<Cell>,
    peak: Option<Peak>,
}

impl SeriesBuilder {
    /// A series of at most this many buckets.
    pub fn new(max_buckets: usize) -> SeriesBuilder {
        SeriesBuilder {
            max_buckets: max_buckets.max(2),
            shift: 0,
            buckets: Vec::new(),
            tracks: Vec::new(),
            last_tick_ns: None,
            events: EventLog::default(),
            phases: PhaseBuilder::new(PhaseLog::default()),
        }
    }

    /// The data of the run, without advice.
    pub fn finish(mut self, label: impl Into<String>, summary: Summary) -> RunData {
        let end_ns = summary.run.wall_ns.or(self.last_tick_ns).unwrap_or(0);
        let t_ns: Arc<[u64]> =
            self.buckets.iter().map(|span| span.first_ns + (span.last_ns - span.first_ns) / 2).collect();
        let count = t_ns.len();
        let series = {
            let cores = summary.run.system_cores;
            self.tracks.into_iter().map(|track| track.finish(count, &t_ns, cores)).collect()
        };
        let (spans, phases) = self.phases.finish(Some(end_ns)).finish();
        let marks = std::mem::take(&mut self.events.marks);
        let (processes, processes_omitted) = self.events.processes(&summary);
        RunData {
            label: label.into(),
            summary,
            series,
            spans,
            phases,
            marks,
            processes,
            processes_omitted,
            advice: None,
            job: None,
        }
    }

    /// Opens the bucket of this time, merging neighbours until there is room for it.
    fn bucket_at(&mut self, t_ns: u64) -> usize {
        // Columns that came late leave less room than there was.
        while self.buckets.len() > self.most_buckets() {
            self.widen();
        }
        loop {
            if let Some(last) = self.buckets.last_mut()
                && (last.last_ns >> self.shift == t_ns >> self.shift || t_ns <= last.last_ns)
            {
                last.last_ns = last.last_ns.max(t_ns);
                return self.buckets.len() - 1;
            }
            if self.buckets.len() < self.most_buckets() {
                self.buckets.push(Span { first_ns: t_ns, last_ns: t_ns });
                return self.buckets.len() - 1;
            }
            self.widen();
        }
    }

    fn most_buckets(&self) -> usize {
        let shared = CELLS_MAX / self.tracks.len().max(1);
        self.max_buckets.min(shared.max(BUCKETS_MIN))
    }

    /// Doubles the width until at least one pair of neighbours fell together.
    fn widen(&mut self) {
        let before = self.buckets.len();
        while self.buckets.len() == before && self.shift < 63 {
            self.shift += 1;
            let mut target = Vec::with_capacity(before);
            let mut kept: Vec<Span> = Vec::with_capacity(before);
            for span in &self.buckets {
                match kept.last_mut() {
                    Some(last) if last.last_ns >> self.shift == span.first_ns >> self.shift => {
                        last.last_ns = span.last_ns;
                    }
                    _ => kept.push(*span),
                }
                target.push(kept.len() - 1);
            }
            if kept.len() < before {
                for track in &mut self.tracks {
                    track.merge(&target);
                }
                self.buckets = kept;
            }
        }
    }
}

impl Sink for SeriesBuilder {
    fn define(&mut self, column: &Column) {
        let (measure, factor) = column.metric.info().series();
        self.phases.define(column);
        self.tracks.push(Track {
            column: column.clone(),
            measure,
            factor,
            counter: column.metric.info().kind == Kind::Counter,
            previous: None,
            last: None,
            cells: Vec::new(),
            peak: None,
        });
    }

    fn event(&mut self, event: &Event) {
        self.phases.event(event);
        self.events.take(event);
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        let weight_ns = self.last_tick_ns.map_or(1, |last| t_ns.saturating_sub(last).max(1));
        self.last_tick_ns = Some(self.last_tick_ns.map_or(t_ns, |last| last.max(t_ns)));
        self.phases.tick(t_ns, values);
        let bucket = self.bucket_at(t_ns);
        for (track, value) in self.tracks.iter_mut().zip(values) {
            if let Some(value) = *value {
                track.take(bucket, t_ns, weight_ns, value);
            }
        }
    }
}

impl Track {
    fn take(&mut self, bucket: usize, t_ns: u64, weight_ns: u64, value: u64) {
        if !self.counter {
            self.add(bucket, t_ns, weight_ns, value as f64 * self.factor);
            return;
        }
        let now = Reading { t_ns, value, bucket };
        let Some(before) = self.previous else {
            self.previous = Some(now);
            return;
        };
        self.last = Some(now);
        let passed_ns = t_ns.saturating_sub(before.t_ns);
        if value < before.value {
            // A counter that runs backwards is a gap, not a negative rate.
            self.previous = Some(now);
        } else if passed_ns >= RATE_WINDOW_NS {
            // The same window as the engine's, so that the peak of a chart is the peak of the summary. What is
            // younger than that is carried over to the next tick; nothing is lost.
            let rate = (value - before.value) as f64 * 1e9 / passed_ns as f64 * self.factor;
            self.previous = Some(now);
            self.add(bucket, t_ns, passed_ns, rate);
            // The difference says what happened on average in the buckets between, too.
            if let Some(between) = self.cells.get_mut(before.bucket + 1..bucket) {
                between.iter_mut().for_each(|cell| cell.fill(rate));
            }
        }
    }

    /// A run that was over within the window has the one rate that it had on the whole.
    fn take_short_run(&mut self) {
        if let (None, Some(first), Some(last)) = (self.peak, self.previous, self.last)
            && last.t_ns.saturating_sub(first.t_ns) >= RATE_WINDOW_NS / 4
        {
            let rate = last.value.saturating_sub(first.value) as f64 * 1e9 / (last.t_ns - first.t_ns) as f64
                * self.factor;
            for bucket in first.bucket..=last.bucket {
                self.add(bucket, last.t_ns, 1, rate);
            }
        }
    }

    #[inline]
    fn add(&mut self, bucket: usize, t_ns: u64, weight_ns: u64, value: f64) {
        if self.cells.len() <= bucket {
            self.cells.resize(bucket + 1, Cell::EMPTY);
        }
        self.cells[bucket].add(value, weight_ns);
        if self.peak.is_none_or(|peak| value > peak.value) {
            self.peak = Some(Peak { t_ns, value });
        }
    }

    /// `target[i]` is the bucket that bucket `i` became part of; never beyond `i`.
    fn merge(&mut self, target: &[usize]) {
        for (index, into) in target.iter().enumerate().take(self.cells.len()) {
            let cell = std::mem::replace(&mut self.cells[index], Cell::EMPTY);
            self.cells[*into].merge(cell);
        }
        for reading in [&mut self.previous, &mut self.last].into_iter().flatten() {
            reading.bucket = target[reading.bucket];
        }
        let used = self.cells.len().checked_sub(1).map_or(0, |last| target[last] + 1);
        self.cells.truncate(used);
    }

    /// As in the summary, no rate is more than the hardware allows.
    fn finish(mut self, count: usize, t_ns: &Arc<[u64]>, system_cores: u32) -> Series {
        self.take_short_run();
        let most = most_per_s(self.column.metric, system_cores).filter(|_| self.counter);
        let most = most.map_or(f64::INFINITY, |most| most * self.factor);
        let capped = |cell: Cell| {
            cell.point().map(|point| Point {
                min: point.min.min(most),
                mean: point.mean.min(most),
                max: point.max.min(most),
            })
        };
        let mut points: Vec<Option<Point>> = self.cells.into_iter().map(capped).collect();
        if let Some(peak) = &mut self.peak {
            peak.value = peak.value.min(most);
        }
        points.resize(count, None);
        Series { column: self.column, measure: self.measure, t_ns: t_ns.clone(), points, peak: self.peak }
    }
}
