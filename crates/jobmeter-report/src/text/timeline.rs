//! The run over time in a few lines: sparklines of what was used, with the phases below them on the same axis.

use super::style::Style;
use super::table::cut;
use super::units::Units;
use crate::data::{PhaseSpan, Point, RunData, Series};
use jobmeter_model::Unit;
use jobmeter_model::format::{Style as Writing, format};
use jobmeter_model::text::printable;
use jobmeter_model::units::format_count;
use jobmeter_model::{Column, Kind, Metric, Scope};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Phases nested or concurrent beyond this are counted, not drawn.
const MOST_LANES: u32 = 8;
const LABEL_WIDTH: usize = 12;
/// Room behind a sparkline for its peak.
const PEAK_WIDTH: usize = 18;

/// One sparkline. Each cell is the largest value of its share of the time.
#[derive(Debug, Clone, Serialize)]
pub struct TimelineRow {
    /// What it shows.
    pub label: String,
    /// As exports call the column.
    pub column: String,
    /// What its values count.
    pub measure: Unit,
    /// The highest value.
    pub peak: Option<f64>,
    /// When that was, since the run began.
    pub peak_t_ns: Option<u64>,
    /// By column of the terminal; `None` where nothing was read.
    pub cells: Vec<Option<f64>>,
}

const GPU_RAM: &str = "GPU RAM";

const ROWS: [(&str, Scope, Metric); 8] = [
    ("CPU cores", Scope::Combined, Metric::CpuNs),
    ("RAM", Scope::Combined, Metric::RssBytes),
    ("disk read", Scope::Combined, Metric::ReadStorageBytes),
    ("written", Scope::Combined, Metric::WriteStorageBytes),
    ("net in", Scope::System, Metric::NetReceiveBytes),
    ("net out", Scope::System, Metric::NetTransmitBytes),
    ("GPU", Scope::Combined, Metric::GpuBusyPpm),
    (GPU_RAM, Scope::Combined, Metric::GpuMemoryBytes),
];

/// The sparklines of a run, `cells` wide.
pub fn timeline_rows(run: &RunData, cells: usize) -> Vec<TimelineRow> {
    let end_ns = run.end_ns().max(1);
    let wanted = ROWS.iter().filter_map(|(label, scope, metric)| {
        let column = Column::of(*scope, *metric);
        let series = run.series.iter().find(|series| series.column == column && series.peak.is_some())?;
        Some(TimelineRow {
            label: (*label).to_owned(),
            column: column.name(),
            measure: series.measure,
            peak: series.peak.map(|peak| peak.value),
            peak_t_ns: series.peak.map(|peak| peak.t_ns),
            cells: spread(series, end_ns, cells.max(1)),
        })
    });
    wanted.collect()
}

/// The course of one metric of the whole job, `cells` wide; `None` where nothing was recorded of it.
pub(super) fn strip(run: &RunData, metric: Metric, cells: usize) -> Option<String> {
    let column = Column::of(Scope::Combined, metric);
    let series = run.series.iter().find(|series| series.column == column && series.peak.is_some())?;
    let peak = series.peak.map(|peak| peak.value);
    Some(sparkline(&spread(series, run.end_ns().max(1), cells.max(1)), peak))
}

/// The same as numbers: the highest value of each cell, `None` before anything was known; empty where nothing was recorded.
pub(crate) fn course(run: &RunData, metric: Metric, cells: usize) -> Vec<Option<f64>> {
    let column = Column::of(Scope::Combined, metric);
    let series = run.series.iter().find(|series| series.column == column && series.peak.is_some());
    series.map_or(Vec::new(), |series| spread(series, run.end_ns().max(1), cells.max(1)))
}

/// The whole picture, newline at the end. `width` is that of the terminal.
pub fn timeline(run: &RunData, width: usize, style: Style) -> String {
    let cells = width.saturating_sub(LABEL_WIDTH + 2 + PEAK_WIDTH).clamp(10, 400);
    let rows = timeline_rows(run, cells);
    let mut out = String::new();
    let mut line = |label: &str, text: &str| {
        out.push_str(&style.label(&format!("{label:>LABEL_WIDTH$}")));
        out.push_str("  ");
        out.push_str(text.trim_end());
        out.push('\n');
    };
    for row in &rows {
        let peak = row.peak.map_or(String::new(), |peak| show(row, peak, style.units));
        line(&row.label, &format!("{}  {peak}", sparkline(&row.cells, row.peak)));
    }
    line("", &axis(run.end_ns(), cells, style.units));
    let lanes = run.spans.iter().map(|span| span.lane + 1).max().unwrap_or(0);
    for lane in 0..lanes.min(MOST_LANES) {
        let label = if lane == 0 { "phases" } else { "" };
        line(label, &bands(run.spans.iter().filter(|span| span.lane == lane), run.end_ns(), cells));
    }
    if !run.marks.is_empty() {
        line("marks", &marks(run, cells));
    }
    let hidden = run.spans.iter().filter(|span| span.lane >= MOST_LANES).count();
    if hidden > 0 {
        let text = format!("note: {} more phases lie below these", format_count(hidden as u64));
        out.push_str(&style.note(&text));
        out.push('\n');
    }
    out
}

fn cell_of(t_ns: u64, end_ns: u64, cells: usize) -> usize {
    let at = u128::from(t_ns) * cells as u128 / u128::from(end_ns.max(1));
    (at as usize).min(cells - 1)
}

/// Buckets onto cells of equal time. A cell without a tick has the level of the last one, or the rate of the
/// next, which was taken over it.
fn spread(series: &Series, end_ns: u64, cells: usize) -> Vec<Option<f64>> {
    let mut out: Vec<Option<f64>> = vec![None; cells];
    let known = series.t_ns.iter().zip(&series.points).filter_map(|(t_ns, point)| Some((*t_ns, (*point)?)));
    let known: Vec<(u64, Point)> = known.collect();
    for (t_ns, point) in &known {
        let cell = &mut out[cell_of(*t_ns, end_ns, cells)];
        *cell = Some(cell.map_or(point.max, |value| value.max(point.max)));
    }
    // A run shorter than a bucket still shows its peak.
    if let Some(peak) = series.peak {
        let cell = &mut out[cell_of(peak.t_ns, end_ns, cells)];
        *cell = Some(cell.map_or(peak.value, |value| value.max(peak.value)));
    }
    let is_rate = series.column.metric.info().kind == Kind::Counter;
    let mut carried = None;
    let mut carry = |cell: &mut Option<f64>| {
        carried = cell.or(carried);
        *cell = carried;
    };
    if is_rate {
        out.iter_mut().rev().for_each(&mut carry);
    } else {
        out.iter_mut().for_each(&mut carry);
    }
    out
}

fn sparkline(cells: &[Option<f64>], peak: Option<f64>) -> String {
    let top = peak.filter(|peak| *peak > 0.0);
    cells
        .iter()
        .map(|cell| match (cell, top) {
            (None, _) => ' ',
            (Some(value), Some(top)) => {
                let level = (value / top * LEVELS.len() as f64).ceil() as usize;
                LEVELS[level.clamp(1, LEVELS.len()) - 1]
            }
            (Some(_), None) => LEVELS[0],
        })
        .collect()
}

fn axis(end_ns: u64, cells: usize, units: Units) -> String {
    let (left, right) = ("0 s", units.time(end_ns));
    let room = cells.saturating_sub(left.len() + right.width());
    format!("{left}{}{right}", " ".repeat(room.max(1)))
}

/// `├load──┤├train────────┤`, the names inside as far as they fit.
fn bands<'a>(spans: impl Iterator<Item = &'a PhaseSpan>, end_ns: u64, cells: usize) -> String {
    // By column of the terminal; a wide letter takes one cell and empties the next.
    let mut out: Vec<String> = vec![" ".to_owned(); cells];
    for span in spans {
        let first = cell_of(span.begin_ns, end_ns, cells);
        let last = cell_of(span.end_ns, end_ns, cells).max(first);
        if first == last {
            out[first] = "│".to_owned();
            continue;
        }
        out[first] = "├".to_owned();
        out[last] = "┤".to_owned();
        let room = last - first - 1;
        let name = if room >= 2 { cut(&printable(&span.name), room) } else { String::new() };
        let mut at = first + 1;
        for letter in name.chars() {
            let wide = unicode_width::UnicodeWidthChar::width(letter).unwrap_or(0);
            if wide == 0 {
                continue;
            }
            out[at] = letter.to_string();
            out[at + 1..(at + wide).min(last)].iter_mut().for_each(String::clear);
            at += wide;
        }
        out[at..last].iter_mut().for_each(|cell| *cell = "─".to_owned());
    }
    out.concat()
}

fn marks(run: &RunData, cells: usize) -> String {
    let mut out = vec![' '; cells];
    for mark in &run.marks {
        out[cell_of(mark.t_ns, run.end_ns(), cells)] = '▾';
    }
    out.into_iter().collect()
}

fn show(row: &TimelineRow, value: f64, units: Units) -> String {
    match row.measure {
        Unit::Cores => format!("max {}", format(value, Unit::Cores, Writing::Bare)),
        Unit::Bytes if row.label == GPU_RAM => format!("max {}", units.gpu_ram(value as u64)),
        Unit::Bytes => format!("max {}", units.ram(value as u64)),
        Unit::BytesPerSecond => format!("max {}", units.rate(value)),
        unit => format!("max {}", format(value, unit, Writing::Rounded)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Peak;

    fn span(name: &str, begin_ns: u64, end_ns: u64) -> PhaseSpan {
        PhaseSpan { name: name.to_owned(), begin_ns, end_ns, lane: 0 }
    }

    #[test]
    fn bands_fill_their_width_whatever_the_name() {
        let names = [
            "load",
            "",
            "日本語日本語日本語",
            "\u{1b}[31m\n",
            "e\u{301}e\u{301}e\u{301}",
            &"x".repeat(9_999),
        ];
        for name in names {
            for (begin_ns, end_ns) in [(0, 100), (0, 0), (100, 100), (99, 100), (10, 35), (98, 900)] {
                let text = bands([span(name, begin_ns, end_ns)].iter(), 100, 30);
                assert_eq!(text.width(), 30, "{name:?} {begin_ns} {end_ns}: {text:?}");
                assert!(!text.contains(char::is_control), "{text:?}");
            }
        }
        assert_eq!(
            bands([span("ab", 0, 50), span("cd", 50, 100)].iter(), 100, 12).trim_end(),
            "├ab───├cd──┤"
        );
    }

    #[test]
    fn a_cell_keeps_the_peak_and_gaps_take_the_neighbour_that_speaks_of_them() {
        let series = |metric, points: &[(u64, f64)]| Series {
            column: Column::of(Scope::Combined, metric),
            measure: metric.info().series().0,
            t_ns: points.iter().map(|(t_ns, _)| *t_ns).collect(),
            points: points
                .iter()
                .map(|(_, value)| Some(Point { mean: *value, min: *value, max: *value }))
                .collect(),
            peak: points
                .iter()
                .max_by(|a, b| a.1.total_cmp(&b.1))
                .map(|(t_ns, value)| Peak { t_ns: *t_ns, value: *value }),
        };
        let level = spread(&series(Metric::RssBytes, &[(0, 5.0), (9, 7.0), (60, 2.0)]), 100, 10);
        assert_eq!(level[..7], [Some(7.0), Some(7.0), Some(7.0), Some(7.0), Some(7.0), Some(7.0), Some(2.0)]);
        let rate = spread(&series(Metric::CpuNs, &[(15, 1.0), (60, 0.5)]), 100, 10);
        assert_eq!(rate[..4], [Some(1.0), Some(1.0), Some(0.5), Some(0.5)]);
        assert_eq!(rate[7..], [None, None, None], "nothing is known behind the last difference");
        assert_eq!(sparkline(&[Some(0.0), None, Some(4.0), Some(8.0)], Some(8.0)), "▁ ▄█");
        assert_eq!(sparkline(&[Some(0.0)], Some(0.0)), "▁");
    }
}
