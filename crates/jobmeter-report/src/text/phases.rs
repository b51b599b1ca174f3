//! The table of phases: calls, times, and what the job used meanwhile.

use super::processes::or_dash;
use super::style::Style;
use super::table::{self, Column, name, number};
use super::units::Units;
use jobmeter_core::units::format_count;

/// All calls of one phase; unknown is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseLine {
    /// Hostile text.
    pub name: String,
    pub calls: u64,
    /// Calls that never ended and were counted up to the end of the run.
    pub open_calls: u64,
    pub time_total_ns: u64,
    pub time_min_ns: u64,
    pub time_mean_ns: f64,
    pub time_max_ns: u64,
    pub time_std_ns: f64,
    pub cpu_ns: Option<u64>,
    pub peak_rss_bytes: Option<u64>,
    pub read_storage_bytes: Option<u64>,
    pub write_storage_bytes: Option<u64>,
    pub peak_gpu_memory_bytes: Option<u64>,
}

const COLUMNS: [Column; 12] = [
    name("phase"),
    number("calls"),
    number("time"),
    number("min"),
    number("mean"),
    number("max"),
    number("std"),
    number("CPU"),
    number("peak RAM"),
    number("read"),
    number("written"),
    number("GPU RAM"),
];

/// The table and what to know about it. `width` is that of the terminal, if there is one.
pub fn phases(lines: &[PhaseLine], width: Option<usize>, style: Style) -> String {
    if lines.is_empty() {
        let text = "note: the job named no phases; jobmeter mark --begin NAME and --end NAME do so";
        return format!("{}\n", style.note(text));
    }
    // Columns in which nothing is known only cost room.
    let has_gpu = lines.iter().any(|line| line.peak_gpu_memory_bytes.is_some());
    let columns = &COLUMNS[..COLUMNS.len() - usize::from(!has_gpu)];
    let rows: Vec<Vec<String>> = lines.iter().map(|line| row(line, style.units)).collect();
    let mut out = table::render(columns, &rows, width, style);
    for note in notes(lines) {
        out.push_str(&style.note(&note));
        out.push('\n');
    }
    out
}

fn row(line: &PhaseLine, units: Units) -> Vec<String> {
    let spread = |ns: f64| if line.calls > 1 { units.time(ns.round() as u64) } else { "-".to_owned() };
    vec![
        line.name.clone(),
        format_count(line.calls),
        units.time(line.time_total_ns),
        units.time(line.time_min_ns),
        units.time(line.time_mean_ns.round() as u64),
        units.time(line.time_max_ns),
        spread(line.time_std_ns),
        or_dash(line.cpu_ns, |ns| units.time(ns)),
        or_dash(line.peak_rss_bytes, |bytes| units.ram(bytes)),
        or_dash(line.read_storage_bytes, |bytes| units.traffic(bytes)),
        or_dash(line.write_storage_bytes, |bytes| units.traffic(bytes)),
        or_dash(line.peak_gpu_memory_bytes, |bytes| units.gpu_ram(bytes)),
    ]
}

fn notes(lines: &[PhaseLine]) -> Vec<String> {
    let open: u64 = lines.iter().map(|line| line.open_calls).sum();
    let mut notes = vec![
        "note: CPU and bytes are those of the whole job while the phase was open; phases that overlap share them"
            .to_owned(),
    ];
    if open > 0 {
        let calls = format_count(open);
        notes.push(format!("note: {calls} calls never ended and count up to the end of the run"));
    }
    notes
}
