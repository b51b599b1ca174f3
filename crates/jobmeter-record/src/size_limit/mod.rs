//! The size of a run file has a limit, which a run of any length and with any number of processes keeps.
//!
//! | share of the limit | for |
//! |---|---|
//! | a quarter | process events and marks, see [`events`] |
//! | a sixteenth, at least 64 KiB, and a part for each column | header and trailer, warnings, settled figures |
//! | the rest | rows: all of them until the file has half of its limit, then thinned, see [`thin`] |
//!
//! Whenever a sixteenth of the room for rows is used up, the gap between thinned rows doubles, so the room never quite
//! ends. Where extremes alone would use it up, the limit is kept, extremes are lost, and a warning says so.

mod events;
mod thin;

use crate::encoder::Encoder;
use events::{EventQuota, LeftOut};
use jobmeter_model::summary::Warning;
use jobmeter_model::{Column, Event, WarningKind};
use thin::Thinner;

/// What a record may take where nobody says otherwise.
pub const USUAL_LIMIT_BYTES: u64 = 256 << 20;

/// Less would leave no room for rows beside the trailer.
pub const LEAST_LIMIT_BYTES: u64 = 1 << 20;

const LEAST_RESERVE_BYTES: u64 = 64 << 10;
/// What a column takes in the summary, in the last row and in the last note of rates.
const RESERVE_PER_COLUMN_BYTES: u64 = 480;
/// What the highest rate of one counter takes in a note.
const RATE_BYTES: u64 = 50;
const STAGE_SHARE: u64 = 16;
const FIRST_GAP_ROWS: u64 = 2;
const EXTREMES_TEXT: &str = "the peaks alone do not fit into the record's limit: some may be missing from the record; \
     the summary has them";

#[derive(Debug)]
pub(crate) struct Limit {
    limit_bytes: u64,
    header_bytes: u64,
    rows: Thinner,
    events: EventQuota,
    /// Rows in a gap; 0 before the thinning begins.
    gap_rows: u64,
    /// Bytes until the gap doubles.
    stage_bytes: u64,
    /// The next tick belongs to a mark that is listed.
    is_boundary: bool,
    extremes_lost: bool,
    last_t_ns: u64,
}

impl Limit {
    pub(crate) fn new(limit_bytes: u64, header_bytes: u64) -> Limit {
        Limit {
            limit_bytes,
            header_bytes,
            rows: Thinner::default(),
            events: EventQuota::new(limit_bytes),
            gap_rows: 0,
            stage_bytes: 0,
            is_boundary: false,
            extremes_lost: false,
            last_t_ns: 0,
        }
    }

    pub(crate) fn define(&mut self, column: &Column) {
        self.rows.define(column);
    }

    pub(crate) fn tick(&mut self, t_ns: u64, values: &[Option<u64>], out: &mut Encoder) {
        self.last_t_ns = t_ns;
        let is_boundary = std::mem::take(&mut self.is_boundary);
        if !self.is_thinning() {
            if out.file_bytes() < self.whole_bytes(out) {
                self.rows.pass(t_ns, values);
                out.row(t_ns, values);
                return;
            }
            self.begin(t_ns, out);
        }
        self.rows.take(t_ns, values);
        if is_boundary {
            self.write_beside_mark(out);
        } else if self.rows.count >= self.gap_rows {
            self.end_gap(out);
        }
    }

    pub(crate) fn event(&mut self, event: &Event, out: &mut Encoder) {
        let bytes = out.prepare(event);
        let before = self.events.left_out;
        if !self.events.admits(event, bytes) {
            self.say_first_left_out(before, out);
            return;
        }
        match event {
            Event::Mark { .. } => self.is_boundary = true,
            Event::Settle { .. } => {}
            _ => return out.add_prepared(),
        }
        if !self.is_thinning() {
            return out.add_prepared();
        }
        match event {
            Event::Settle { .. } => self.write_last_rows(out),
            _ => self.write_beside_mark(out),
        }
        out.event(event);
    }

    /// Writes what is held back and says what is missing, in the file and for the summary.
    pub(crate) fn end(&mut self, out: &mut Encoder) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if self.is_thinning() {
            self.write_last_rows(out);
            if self.rows.risen_rates() > 0 {
                out.event(&self.rows.rates_note(self.last_t_ns));
                self.rows.rates_are_said();
            }
            warnings.push(self.thinning_text());
        }
        if self.extremes_lost {
            warnings.push(EXTREMES_TEXT.to_owned());
        }
        let LeftOut { process_events, marks } = self.events.left_out;
        if process_events + marks > 0 {
            let text = format!(
                "{process_events} starts, names and ends of processes and {marks} marks were left out of the \
                 record: they may take a quarter of its limit of {}",
                shown(self.limit_bytes)
            );
            warnings.push(self.warn(text, out));
        }
        warnings.into_iter().map(|text| Warning { kind: WarningKind::RecordLimit, text }).collect()
    }

    fn is_thinning(&self) -> bool {
        self.gap_rows > 0
    }

    /// Where rows and events end, so that the trailer fits behind them.
    fn body_bytes(&self, out: &Encoder) -> u64 {
        let reserve = (self.limit_bytes / 16).max(LEAST_RESERVE_BYTES)
            + self.header_bytes
            + out.definitions.len() as u64
            + out.columns() * RESERVE_PER_COLUMN_BYTES;
        self.limit_bytes.saturating_sub(reserve)
    }

    /// Up to here all rows are written.
    fn whole_bytes(&self, out: &Encoder) -> u64 {
        let rows_bytes = self.body_bytes(out).saturating_sub(self.limit_bytes / 4);
        (self.limit_bytes / 2).min(rows_bytes / 8 * 7)
    }

    fn room_bytes(&self, out: &Encoder) -> u64 {
        self.body_bytes(out).saturating_sub(out.file_bytes() + self.events.room_bytes())
    }

    fn begin(&mut self, t_ns: u64, out: &mut Encoder) {
        self.warn(self.thinning_text(), out);
        // All rates up to here are in the rows; those to come will be in notes.
        self.rows.rates_are_said();
        out.event(&self.rows.rates_note(t_ns));
        self.gap_rows = FIRST_GAP_ROWS;
        self.stage_bytes = self.room_bytes(out) / STAGE_SHARE;
    }

    fn end_gap(&mut self, out: &mut Encoder) {
        let before = out.file_bytes();
        self.write_rows(self.room_bytes(out), out);
        let bytes = out.file_bytes() - before;
        if bytes < self.stage_bytes {
            self.stage_bytes -= bytes;
        } else {
            self.gap_rows = self.gap_rows.saturating_mul(2);
            self.stage_bytes = self.room_bytes(out) / STAGE_SHARE;
        }
    }

    /// Rows around a mark are written whatever the gap, at the expense of the marks.
    fn write_beside_mark(&mut self, out: &mut Encoder) {
        let before = out.file_bytes();
        self.write_rows(self.events.marks_room_bytes(), out);
        self.events.charge_mark(out.file_bytes() - before);
    }

    /// Writes the rows of the gap that count, as far as they fit. Where not even one does, they are held back.
    fn write_rows(&mut self, room_bytes: u64, out: &mut Encoder) {
        let fitting = room_bytes / out.largest_row_bytes();
        if fitting == 0 {
            self.rows.count = 0;
            return;
        }
        let rows = self.rows.drain();
        let Some((last, extremes)) = rows.split_last() else { return };
        let (extremes, lost) = extremes.split_at(extremes.len().min(fitting as usize - 1));
        for row in extremes {
            out.row(row.t_ns, &row.values);
        }
        out.row(last.t_ns, &last.values);
        if !lost.is_empty() && !self.extremes_lost {
            self.extremes_lost = true;
            self.warn(EXTREMES_TEXT.to_owned(), out);
        }
        let risen = self.rows.risen_rates();
        if risen > 0 && (risen + 1) * RATE_BYTES <= self.room_bytes(out) {
            out.event(&self.rows.rates_note(self.last_t_ns));
            self.rows.rates_are_said();
        }
    }

    /// At the end of the run: the room of the last row is in the reserve.
    fn write_last_rows(&mut self, out: &mut Encoder) {
        self.write_rows(self.room_bytes(out).max(out.largest_row_bytes()), out);
    }

    fn warn(&self, text: String, out: &mut Encoder) -> String {
        out.event(&Event::Warning {
            t_ns: self.last_t_ns,
            kind: WarningKind::RecordLimit,
            text: text.clone(),
        });
        text
    }

    fn say_first_left_out(&mut self, before: LeftOut, out: &mut Encoder) {
        let what = match before {
            LeftOut { process_events: 0, .. } if self.events.left_out.process_events > 0 => {
                "starts, names and ends of processes"
            }
            LeftOut { marks: 0, .. } if self.events.left_out.marks > 0 => "marks",
            _ => return,
        };
        let limit = shown(self.limit_bytes);
        self.warn(
            format!("{what} fill an eighth of the record's limit of {limit}: from here on they are counted"),
            out,
        );
    }

    fn thinning_text(&self) -> String {
        format!(
            "the record came near its limit of {}: from then on it has only some of the rows, with every peak and total",
            shown(self.limit_bytes)
        )
    }
}

fn shown(bytes: u64) -> String {
    jobmeter_model::units::format_bytes(bytes)
}
