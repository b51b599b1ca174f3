//! The table of processes: everyone that was seen, however shortly.

use super::style::Style;
use super::table::{self, Column, name, number, words};
use super::units::Units;
use jobmeter_model::units::format_count;
use jobmeter_model::{Figure, Metric, Quality, Stat, Summary};

/// One process, as the record knows it; unknown is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessLine {
    /// Its number.
    pub pid: i32,
    /// Of its parent, where that is known.
    pub parent_pid: Option<i32>,
    /// Hostile text.
    pub name: String,
    /// Since the run began.
    pub begin_ns: u64,
    /// `None`: it outlived the record.
    pub end_ns: Option<u64>,
    /// CPU time of its own.
    pub cpu_ns: Option<u64>,
    /// The most memory that it held.
    pub peak_rss_bytes: Option<u64>,
    /// Where it ended by itself and that is known.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

const COLUMNS: [Column; 8] = [
    number("pid"),
    number("parent"),
    name("command"),
    number("start"),
    number("end"),
    number("CPU"),
    number("peak RSS"),
    words("exit"),
];

/// The table and what to know about it. `width` is that of the terminal, if there is one.
pub fn processes(lines: &[ProcessLine], summary: &Summary, width: Option<usize>, style: Style) -> String {
    let rows: Vec<Vec<String>> = lines.iter().map(|line| row(line, style.units)).collect();
    let mut out = table::render(&COLUMNS, &rows, width, style);
    for note in notes(lines, summary) {
        out.push_str(&style.noted(&note, width));
    }
    out
}

fn row(line: &ProcessLine, units: Units) -> Vec<String> {
    vec![
        line.pid.to_string(),
        or_dash(line.parent_pid, |pid| pid.to_string()),
        line.name.clone(),
        units.time(line.begin_ns),
        or_dash(line.end_ns, |ns| units.time(ns)),
        or_dash(line.cpu_ns, |ns| units.time(ns)),
        or_dash(line.peak_rss_bytes, |bytes| units.ram(bytes)),
        exit(line),
    ]
}

/// Unknown is a dash, never 0.
pub(super) fn or_dash<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

pub(super) fn exit(line: &ProcessLine) -> String {
    match (line.exit_code, line.signal, line.end_ns) {
        (Some(code), _, _) => code.to_string(),
        (_, Some(signal), _) => format!("signal {signal}"),
        (_, _, None) => "lives on".to_owned(),
        _ => "-".to_owned(),
    }
}

pub(super) fn notes(lines: &[ProcessLine], summary: &Summary) -> Vec<String> {
    let mut notes = Vec::new();
    let unknown = lines.iter().filter(|line| exit(line) == "-").count();
    if unknown > 0 {
        notes.push(format!(
            "note: {} were waited for by their own parents: exit unknown, CPU and peak as last seen",
            format_count(unknown as u64)
        ));
    }
    let total = summary.combined.get(Metric::Processes, Stat::Total);
    if let Some(total) = total.filter(|total| total.quality != Quality::Exact) {
        let seen = lines.len() as u64;
        let missed = total.as_u64().map_or(0, |total| total.saturating_sub(seen));
        notes.push(match (missed, reason(total)) {
            (0, reason) => format!("note: {} processes were seen{reason}", format_count(seen)),
            (missed, reason) => {
                format!("note: {} more lived between two ticks{reason}", format_count(missed))
            }
        });
    }
    notes
}

fn reason(figure: &Figure) -> String {
    let reason = figure.reason.as_ref().map(|reason| jobmeter_model::text::printable(reason));
    reason.map_or(String::new(), |reason| format!("; {reason}"))
}
