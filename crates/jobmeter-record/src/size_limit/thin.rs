//! Rows of a record that is past half of its limit. The rows of a *gap* are gathered; at its end only those are written
//! that the figures rest on:
//!
//! - the last row: counters are cumulative, so it holds the totals;
//! - rows at which a level is higher or lower than in all rows before;
//! - rows at which a counter grew faster than ever, and the row before each;
//! - the first two rows of a column, and its last one where it ends within the gap.
//!
//! All are rows as they were measured.

use jobmeter_model::accumulate::{Growth, RATE_PEAKS_NOTE, RatePeak};
use jobmeter_model::{Column, Event, Kind};
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Row {
    number: u64,
    pub(crate) t_ns: u64,
    pub(crate) values: Vec<Option<u64>>,
}

impl Row {
    fn value(&self, index: usize) -> Option<u64> {
        self.values.get(index).copied().flatten()
    }
}

/// One column: its extremes in the whole run, and the rows of this gap that hold them.
#[derive(Debug, Default)]
struct Track {
    is_gauge: bool,
    samples: u64,
    high: Option<u64>,
    low: Option<u64>,
    rate: RatePeak,
    /// The highest rate that the file tells.
    said: Option<Growth>,
    high_row: Option<Arc<Row>>,
    low_row: Option<Arc<Row>>,
    rate_rows: [Option<Arc<Row>>; 2],
    end_row: Option<Arc<Row>>,
}

#[derive(Debug, Default)]
pub(crate) struct Thinner {
    tracks: Vec<Track>,
    /// Rows with the first values of some column.
    firsts: Vec<Arc<Row>>,
    last: Option<Arc<Row>>,
    rows_seen: u64,
    /// Rows in this gap.
    pub(crate) count: u64,
}

impl Thinner {
    pub(crate) fn define(&mut self, column: &Column) {
        let is_gauge = column.metric.info().kind == Kind::Gauge;
        self.tracks.push(Track { is_gauge, ..Track::default() });
    }

    /// A row that is written at once.
    pub(crate) fn pass(&mut self, t_ns: u64, values: &[Option<u64>]) {
        for (track, value) in self.tracks.iter_mut().zip(values) {
            if let Some(value) = *value {
                track.see(t_ns, value);
            }
        }
    }

    /// Takes a row into the gap.
    pub(crate) fn take(&mut self, t_ns: u64, values: &[Option<u64>]) {
        self.rows_seen += 1;
        self.count += 1;
        let row = Arc::new(Row { number: self.rows_seen, t_ns, values: values.to_vec() });
        let before = self.last.replace(Arc::clone(&row));
        let mut is_first = false;
        for (index, track) in self.tracks.iter_mut().enumerate() {
            match row.value(index) {
                Some(value) => {
                    is_first |= track.samples < 2;
                    track.keep(&row, before.as_ref(), value);
                }
                None => {
                    if let Some(before) = before.as_ref().filter(|before| before.value(index).is_some()) {
                        track.end_row = Some(Arc::clone(before));
                    }
                }
            }
        }
        self.firsts.extend(is_first.then_some(row));
    }

    /// The rows to write, in the order of time. The gap is empty afterwards.
    pub(crate) fn drain(&mut self) -> Vec<Arc<Row>> {
        let mut rows = std::mem::take(&mut self.firsts);
        let last = self.last.take();
        for (index, track) in self.tracks.iter_mut().enumerate() {
            rows.extend(track.high_row.take());
            rows.extend(track.low_row.take());
            rows.extend(track.rate_rows.iter_mut().filter_map(Option::take));
            let end_row = track.end_row.take();
            if last.as_ref().is_some_and(|last| last.value(index).is_none()) {
                rows.extend(end_row);
            }
        }
        rows.extend(last);
        rows.sort_by_key(|row| row.number);
        rows.dedup_by_key(|row| row.number);
        self.count = 0;
        rows
    }

    /// All rows so far are in the file, and with them the highest rates.
    pub(crate) fn rates_are_said(&mut self) {
        self.tracks.iter_mut().for_each(|track| track.said = track.rate.peak);
    }

    /// How many rates have risen above what the file tells.
    pub(crate) fn risen_rates(&self) -> u64 {
        self.tracks.iter().filter(|track| track.has_risen()).count() as u64
    }

    /// Says the rates that have risen.
    pub(crate) fn rates_note(&self, t_ns: u64) -> Event {
        let risen = self.tracks.iter().enumerate().filter(|(_, track)| track.has_risen());
        let list: Vec<_> = risen
            .filter_map(|(index, track)| Some((index, track.rate.peak?)))
            .map(|(index, peak)| serde_json::json!([index, peak.by, peak.span_ns]))
            .collect();
        Event::Note { t_ns, key: RATE_PEAKS_NOTE.to_owned(), value: list.into() }
    }
}

impl Track {
    fn has_risen(&self) -> bool {
        !self.is_gauge && self.rate.peak != self.said
    }

    /// Whether the value is a new highest, a new lowest, or ends the window of a new highest rate.
    fn see(&mut self, t_ns: u64, value: u64) -> (bool, bool, bool) {
        self.samples += 1;
        if !self.is_gauge {
            return (false, false, self.rate.see(t_ns, value));
        }
        let is_high = self.high.is_none_or(|high| value > high);
        let is_low = self.low.is_none_or(|low| value < low);
        if is_high {
            self.high = Some(value);
        }
        if is_low {
            self.low = Some(value);
        }
        (is_high, is_low, false)
    }

    fn keep(&mut self, row: &Arc<Row>, before: Option<&Arc<Row>>, value: u64) {
        let (is_high, is_low, is_fast) = self.see(row.t_ns, value);
        if is_high {
            self.high_row = Some(Arc::clone(row));
        }
        if is_low {
            self.low_row = Some(Arc::clone(row));
        }
        if is_fast {
            self.rate_rows = [before.cloned(), Some(Arc::clone(row))];
        }
    }
}
