//! The data of the charts as one JSON block, small enough for a mail: values are scaled to 100,000 steps
//! (finer than any screen; exact figures are in the tables) and written as packed differences.

use super::groups::Groups;
use super::pack::{pack, pack_differences};
use super::rank_map::{self, Ranks};
use crate::data::{Point, ProcessRow, RunData, Series};
use crate::format::visible;
use crate::panels::{self, Role};
use jobmeter_model::Unit;
use serde::Serialize;
use std::collections::HashMap;

/// Steps between zero and the largest value of a line.
const STEPS: f64 = 1e5;
/// Columns of the heat map of cores.
const HEAT_COLUMNS: usize = 400;
const NAME_LIMIT: usize = 200;
/// Points of a line over all runs of the page: a dozen runs share it, so that the page can still be mailed.
const POINTS: usize = 8_192;
const LEAST_POINTS: usize = 256;

#[derive(Serialize)]
struct Payload<'a> {
    runs: Vec<Run<'a>>,
}

#[derive(Serialize)]
struct Run<'a> {
    label: String,
    /// Runs of one name have the same number.
    group: usize,
    /// What tells it from others of its name; may be empty.
    note: String,
    end_s: f64,
    /// Microseconds, packed differences.
    t_us: String,
    panels: Vec<Panel<'a>>,
    cores: Option<Cores>,
    spans: Vec<Span>,
    marks: Vec<Mark>,
    processes: Processes,
    ranks: Option<Ranks>,
}

#[derive(Serialize)]
struct Panel<'a> {
    id: &'a str,
    title: &'a str,
    measure: Unit,
    limits: Vec<(&'a str, f64)>,
    /// What the peak of the leading line cannot exceed.
    bound: Option<(&'a str, f64)>,
    /// Whether the first line stands for the panel among several runs.
    has_lead: bool,
    lines: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    label: String,
    /// Colour slot 0–5, or `system` or `bound`.
    role: String,
    shown: bool,
    /// What one step is worth.
    step: f64,
    /// Packed differences of the means, in steps; gaps where nothing was measured.
    mean: String,
    /// How far the minimum lies below and the maximum above the mean; absent where they are the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    below: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    above: Option<String>,
    /// Seconds and value, unrounded.
    peak: Option<(f64, f64)>,
}

#[derive(Serialize)]
struct Cores {
    names: Vec<String>,
    columns: usize,
    /// One letter per cell: `-` for unknown, else ASCII 48 (`0`) to 112 (`p`) for 0 to 64 64ths busy.
    rows: Vec<String>,
}

#[derive(Serialize)]
struct Span {
    name: String,
    from_s: f64,
    to_s: f64,
    lane: u32,
}

#[derive(Serialize)]
struct Mark {
    name: String,
    t_s: f64,
}

/// Packed columns, gaps where unknown; thousands of processes share few names.
#[derive(Serialize)]
struct Processes {
    names: Vec<String>,
    /// Index into `names`.
    name: String,
    pid: String,
    /// The parent's pid.
    parent: String,
    /// Differences, in microseconds.
    start_us: String,
    /// How long it lived; a gap for one that outlived the record.
    life_us: String,
    cpu_us: String,
    rss_kib: String,
    status: String,
}

/// JSON that can stand inside a script element: no `<`, and none of the line ends that JavaScript adds.
pub(super) fn json(runs: &[RunData], groups: &Groups) -> String {
    let points = (POINTS / runs.len().max(1)).max(LEAST_POINTS);
    let runs = runs.iter().enumerate();
    let payload = Payload {
        runs: runs.map(|(index, data)| run(data, points, groups.of[index], &groups.notes[index])).collect(),
    };
    // These types hold only strings, numbers and lists of them, which always serialise.
    let text = serde_json::to_string(&payload).unwrap_or_else(|_| "{\"runs\":[]}".to_owned());
    text.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn seconds(ns: u64) -> f64 {
    (ns as f64 / 1e3).round() / 1e6
}

fn micros(ns: u64) -> i64 {
    (ns / 1_000) as i64
}

fn run<'a>(run: &'a RunData, points: usize, group: usize, note: &str) -> Run<'a> {
    let axis = run.series.first().map_or(Vec::new(), |series| series.thinned(points));
    let t_us = pack_differences(axis.iter().map(|(t_ns, _)| Some(micros(*t_ns))));
    let panels = panels::panels(run)
        .into_iter()
        .map(|panel| Panel {
            id: panel.id,
            title: panel.title,
            measure: panel.measure,
            limits: panel.limits.iter().map(|limit| (limit.label, limit.value)).collect(),
            bound: panel.bound.as_ref().map(|bound| (bound.label, bound.value)),
            has_lead: panel.lead().is_some(),
            lines: panel.lines.iter().map(|of| line(of, points)).collect(),
        })
        .collect();
    let spans = run.spans.iter().map(|span| Span {
        name: visible(&span.name, NAME_LIMIT),
        from_s: seconds(span.begin_ns),
        to_s: seconds(span.end_ns),
        lane: span.lane,
    });
    let marks =
        run.marks.iter().map(|mark| Mark { name: visible(&mark.name, NAME_LIMIT), t_s: seconds(mark.t_ns) });
    Run {
        label: visible(&run.label, NAME_LIMIT),
        group,
        note: note.to_owned(),
        end_s: seconds(run.end_ns()),
        t_us,
        panels,
        cores: cores(run),
        spans: spans.collect(),
        marks: marks.collect(),
        processes: processes(run),
        ranks: run.job.as_deref().and_then(rank_map::packed),
    }
}

fn line(line: &panels::Line<'_>, limit: usize) -> Line {
    let series = line.series;
    let thinned = series.thinned(limit);
    let highest = series.peak.map_or(0.0, |peak| peak.value.abs());
    let step = if highest > 0.0 { highest / STEPS } else { 1.0 };
    let steps = |value: f64| (value / step).round() as i64;
    let points = || thinned.iter().map(|(_, point)| point.as_ref());
    let mean = pack_differences(points().map(|point| Some(steps(point?.mean))));
    let spread = points().flatten().any(|point| steps(point.max) != steps(point.min));
    let away =
        |edge: fn(&Point) -> f64| {
            pack(points().map(|point| {
                point.map_or(Some(0), |point| Some((steps(edge(point)) - steps(point.mean)).abs()))
            }))
        };
    Line {
        label: visible(&line.label, NAME_LIMIT),
        role: role(line.role),
        shown: line.shown,
        step,
        mean,
        below: spread.then(|| away(|point| point.min)),
        above: spread.then(|| away(|point| point.max)),
        peak: series.peak.map(|peak| (seconds(peak.t_ns), peak.value)),
    }
}

/// The same slots as the palette of the plots.
fn role(role: Role) -> String {
    match role {
        Role::Job => "0".to_owned(),
        Role::Main => "2".to_owned(),
        Role::Descendants => "3".to_owned(),
        Role::System => "system".to_owned(),
        Role::Bound => "bound".to_owned(),
        Role::Other(index) => (1 + index % 5).to_string(),
    }
}

fn cores(run: &RunData) -> Option<Cores> {
    let series = panels::cores(run);
    let (first, end_ns) = (series.first()?, run.end_ns().max(1));
    let columns = HEAT_COLUMNS.min(first.t_ns.len().max(1));
    let names =
        series.iter().map(|core| core.column.entity.as_ref().map_or(String::new(), |e| visible(&e.name, 20)));
    let rows = series.iter().map(|core| heat_row(core, columns, end_ns)).collect();
    Some(Cores { names: names.collect(), columns, rows })
}

/// A cell shows the mean over its share of the run; the table gives the extremes.
fn heat_row(core: &Series, columns: usize, end_ns: u64) -> String {
    let mut sums = vec![(0.0f64, 0u32); columns];
    let mut covered = 0;
    for (t_ns, point) in core.t_ns.iter().zip(&core.points) {
        let column = (((*t_ns as f64 / end_ns as f64) * columns as f64) as usize).min(columns - 1);
        if let Some(point) = point {
            // A rate speaks of the time since the tick before it.
            for cell in &mut sums[covered.min(column)..=column] {
                *cell = (cell.0 + point.mean, cell.1 + 1);
            }
        }
        covered = column + 1;
    }
    let letter = |(sum, count): (f64, u32)| match count {
        0 => '-',
        count => (48 + (sum / f64::from(count) * 64.0).round().clamp(0.0, 64.0) as u8) as char,
    };
    sums.into_iter().map(letter).collect()
}

fn processes(run: &RunData) -> Processes {
    let mut names = Vec::new();
    let mut known: HashMap<&str, i64> = HashMap::new();
    let name: Vec<i64> = run
        .processes
        .iter()
        .map(|row| {
            let shown = row.command.as_deref().unwrap_or(&row.name);
            *known.entry(shown).or_insert_with(|| {
                names.push(visible(shown, NAME_LIMIT));
                names.len() as i64 - 1
            })
        })
        .collect();
    let column = |value: fn(&ProcessRow) -> Option<i64>| pack(run.processes.iter().map(value));
    let differences =
        |value: fn(&ProcessRow) -> Option<i64>| pack_differences(run.processes.iter().map(value));
    Processes {
        names,
        name: pack(name.into_iter().map(Some)),
        pid: differences(|row| Some(i64::from(row.pid))),
        parent: differences(|row| Some(i64::from(row.parent_pid))),
        start_us: differences(|row| Some(micros(row.start_ns))),
        life_us: column(|row| Some(micros(row.end_ns?.saturating_sub(row.start_ns)))),
        cpu_us: column(|row| row.cpu_ns.map(micros)),
        rss_kib: differences(|row| row.peak_rss_bytes.map(|bytes| (bytes / 1024) as i64)),
        status: column(|row| row.wait_status.map(i64::from)),
    }
}
