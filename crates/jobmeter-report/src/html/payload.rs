//! The data of the charts as one JSON block, small enough for a mail: values are scaled to a million steps
//! (finer than any screen; exact figures are in the tables) and written as differences.

use crate::data::{Measure, RunData, Series};
use crate::format::visible;
use crate::panels::{self, Role};
use serde::Serialize;
use std::collections::HashMap;

/// Steps between zero and the largest value of a line.
const STEPS: f64 = 1e6;
/// Columns of the heat map of cores.
const HEAT_COLUMNS: usize = 400;
const NAME_LIMIT: usize = 200;

#[derive(Serialize)]
struct Payload<'a> {
    runs: Vec<Run<'a>>,
}

#[derive(Serialize)]
struct Run<'a> {
    label: String,
    end_s: f64,
    /// Microseconds, each minus the one before.
    t_us: Vec<i64>,
    panels: Vec<Panel<'a>>,
    cores: Option<Cores>,
    spans: Vec<Span>,
    marks: Vec<Mark>,
    processes: Processes,
}

#[derive(Serialize)]
struct Panel<'a> {
    id: &'a str,
    title: &'a str,
    measure: Measure,
    limits: Vec<(&'a str, f64)>,
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
    /// Differences of the means, in steps; null where nothing was measured.
    mean: Vec<Option<i64>>,
    /// How far the minimum lies below and the maximum above the mean; absent where they are the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    below: Option<Vec<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    above: Option<Vec<i64>>,
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
    depth: u32,
}

#[derive(Serialize)]
struct Mark {
    name: String,
    t_s: f64,
}

/// Columns of numbers; thousands of processes share few names.
#[derive(Serialize, Default)]
struct Processes {
    names: Vec<String>,
    name: Vec<usize>,
    pid: Vec<i32>,
    parent: Vec<i32>,
    /// Microseconds; the end is -1 for one that outlived the record.
    start_us: Vec<i64>,
    end_us: Vec<i64>,
    /// -1 where unknown.
    cpu_us: Vec<i64>,
    rss_kib: Vec<i64>,
    status: Vec<i64>,
    omitted: u64,
}

/// JSON that can stand inside a script element: no `<`, and none of the line ends that JavaScript adds.
pub(super) fn json(runs: &[RunData]) -> String {
    let payload = Payload { runs: runs.iter().map(run).collect() };
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

fn run(run: &RunData) -> Run<'_> {
    let mut before = 0;
    let axis = run.series.first().map_or(&[][..], |series| &series.t_ns);
    let t_us = axis
        .iter()
        .map(|t| {
            let now = micros(*t);
            std::mem::replace(&mut before, now).wrapping_sub(now).wrapping_neg()
        })
        .collect();
    let panels = panels::panels(run)
        .into_iter()
        .map(|panel| Panel {
            id: panel.id,
            title: panel.title,
            measure: panel.measure,
            limits: panel.limits.iter().map(|limit| (limit.label, limit.value)).collect(),
            lines: panel.lines.iter().map(line).collect(),
        })
        .collect();
    let spans = run.spans.iter().map(|span| Span {
        name: visible(&span.name, NAME_LIMIT),
        from_s: seconds(span.begin_ns),
        to_s: seconds(span.end_ns),
        depth: span.depth,
    });
    let marks = run.marks.iter().map(|mark| Mark { name: visible(&mark.name, NAME_LIMIT), t_s: seconds(mark.t_ns) });
    Run {
        label: visible(&run.label, NAME_LIMIT),
        end_s: seconds(run.end_ns()),
        t_us,
        panels,
        cores: cores(run),
        spans: spans.collect(),
        marks: marks.collect(),
        processes: processes(run),
    }
}

fn line(line: &panels::Line<'_>) -> Line {
    let series = line.series;
    let highest = series.peak.map_or(0.0, |peak| peak.value.abs());
    let step = if highest > 0.0 { highest / STEPS } else { 1.0 };
    let steps = |value: f64| (value / step).round() as i64;
    let mut before = 0;
    let mut mean = Vec::with_capacity(series.points.len());
    let (mut below, mut above) = (Vec::new(), Vec::new());
    for point in &series.points {
        let Some(point) = point else {
            mean.push(None);
            below.push(0);
            above.push(0);
            continue;
        };
        let now = steps(point.mean);
        mean.push(Some(now - before));
        before = now;
        below.push(now - steps(point.min));
        above.push(steps(point.max) - now);
    }
    let spread = below.iter().chain(&above).any(|distance| *distance != 0);
    Line {
        label: visible(&line.label, NAME_LIMIT),
        role: role(line.role),
        shown: line.shown,
        step,
        mean,
        below: spread.then_some(below),
        above: spread.then_some(above),
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
    let names = series.iter().map(|core| core.column.entity.as_ref().map_or(String::new(), |e| visible(&e.name, 20)));
    let rows = series.iter().map(|core| heat_row(core, columns, end_ns)).collect();
    Some(Cores { names: names.collect(), columns, rows })
}

/// A cell shows the mean over its share of the run; the lines of `top` and the tables give the extremes.
fn heat_row(core: &Series, columns: usize, end_ns: u64) -> String {
    let mut sums = vec![(0.0f64, 0u32); columns];
    for (t_ns, point) in core.t_ns.iter().zip(&core.points) {
        if let Some(point) = point {
            let column = ((*t_ns as f64 / end_ns as f64) * columns as f64) as usize;
            let cell = &mut sums[column.min(columns - 1)];
            *cell = (cell.0 + point.mean, cell.1 + 1);
        }
    }
    let letter = |(sum, count): (f64, u32)| match count {
        0 => '-',
        count => (48 + (sum / f64::from(count) * 64.0).round().clamp(0.0, 64.0) as u8) as char,
    };
    sums.into_iter().map(letter).collect()
}

fn processes(run: &RunData) -> Processes {
    let mut out = Processes { omitted: run.processes_omitted, ..Processes::default() };
    let mut known: HashMap<&str, usize> = HashMap::new();
    for row in &run.processes {
        let index = *known.entry(&row.name).or_insert_with(|| {
            out.names.push(visible(&row.name, NAME_LIMIT));
            out.names.len() - 1
        });
        out.name.push(index);
        out.pid.push(row.pid);
        out.parent.push(row.parent_pid);
        out.start_us.push(micros(row.start_ns));
        out.end_us.push(row.end_ns.map_or(-1, micros));
        out.cpu_us.push(row.cpu_ns.map_or(-1, micros));
        out.rss_kib.push(row.peak_rss_bytes.map_or(-1, |bytes| (bytes / 1024) as i64));
        out.status.push(row.wait_status.map_or(-1, i64::from));
    }
    out
}
