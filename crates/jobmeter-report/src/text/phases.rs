//! The table of phases: calls, times, and what the job used meanwhile.

use super::processes::or_dash;
use super::style::Style;
use super::table::{self, Column, name, number};
use super::units::Units;
use jobmeter_model::format::{Style as Writing, format};
use jobmeter_model::units::format_count;
use jobmeter_model::{Metric, Quality, Unit};
use jobmeter_record::table::{Course, Phase, Used};

const COLUMNS: [Column; 11] = [
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
];
const GPU_COLUMNS: [Column; 4] =
    [number("GPU RAM"), number("GPU job"), number("GPU all"), number("GPU energy")];
/// Left out on a narrow terminal, in this order.
const LESS_WANTED: [&str; 8] = ["std", "min", "max", "mean", "GPU energy", "GPU all", "read", "written"];

/// The table and what to know about it. `width` is that of the terminal, if there is one.
pub fn phases(phases: &[Phase], width: Option<usize>, style: Style) -> String {
    if phases.is_empty() {
        let text = "note: the job named no phases; jobmeter mark --begin NAME and --end NAME do so";
        return style.noted(text, width);
    }
    // Columns in which nothing is known only cost room.
    let gpu_rows: Vec<[Option<String>; 4]> =
        phases.iter().map(|phase| gpu_cells(&phase.used, style.units)).collect();
    let has = [0, 1, 2, 3].map(|column| gpu_rows.iter().any(|cells| cells[column].is_some()));
    let is_shown = |(column, _): &(usize, Column)| has[*column];
    let mut columns = COLUMNS.to_vec();
    columns.extend(GPU_COLUMNS.into_iter().enumerate().filter(is_shown).map(|(_, column)| column));
    let mut rows: Vec<Vec<String>> = phases
        .iter()
        .zip(gpu_rows)
        .map(|(phase, gpu)| {
            let shown = gpu.into_iter().enumerate().filter(|(column, _)| has[*column]);
            let gpu = shown.map(|(_, cell)| cell.unwrap_or_else(|| "-".to_owned()));
            row(phase, style.units).into_iter().chain(gpu).collect()
        })
        .collect();
    table::leave_out(&mut columns, &mut rows, width, &LESS_WANTED);
    let mut out = table::render(&columns, &rows, width, style);
    for note in notes(phases, has) {
        out.push_str(&style.noted(&note, width));
    }
    out
}

fn row(phase: &Phase, units: Units) -> Vec<String> {
    let spread = |ns: f64| if phase.calls > 1 { units.time(ns.round() as u64) } else { "-".to_owned() };
    // Interpolated between ticks, and marked as such.
    let about = |text: String| if is_sampled(phase) && text != "-" { format!("~{text}") } else { text };
    let used = &phase.used;
    vec![
        phase.name.clone(),
        format_count(phase.calls),
        units.time(phase.time_total_ns),
        units.time(phase.time_min_ns),
        units.time(phase.time_mean_ns.round() as u64),
        units.time(phase.time_max_ns),
        spread(phase.time_std_ns),
        about(or_dash(used.total(Metric::CpuNs), |ns| units.time(ns))),
        or_dash(used.peak_rss_bytes, |bytes| units.ram(bytes)),
        about(or_dash(used.total(Metric::ReadStorageBytes), |bytes| units.traffic(bytes))),
        about(or_dash(used.total(Metric::WriteStorageBytes), |bytes| units.traffic(bytes))),
    ]
}

fn is_sampled(phase: &Phase) -> bool {
    phase.used.quality != Quality::Exact
}

/// Memory, use by the job, use by anyone (mean, highest), energy.
fn gpu_cells(used: &Used, units: Units) -> [Option<String>; 4] {
    let course = |busy: &Course| {
        let percent = |ppm: f64| format(ppm, Unit::Ppm, Writing::Short);
        let max = percent(busy.max()? as f64);
        Some(match busy.mean() {
            Some(mean) => format!("{} (max {max})", percent(mean)),
            None => format!("max {max}"),
        })
    };
    [
        used.peak_gpu_memory_bytes.map(|bytes| units.gpu_ram(bytes)),
        course(&used.gpu_busy_ppm),
        course(&used.system_gpu_busy_ppm),
        used.total(Metric::GpuEnergyUj).map(|uj| format(uj as f64, Unit::Microjoules, Writing::Short)),
    ]
}

fn notes(phases: &[Phase], has_gpu: [bool; 4]) -> Vec<String> {
    let open: u64 = phases.iter().map(|phase| phase.open_calls).sum();
    let mut notes = vec![
        "note: CPU and bytes are those of the whole job while the phase was open; phases that overlap share them"
            .to_owned(),
    ];
    if has_gpu[2] || has_gpu[3] {
        let text = "note: GPU all and energy are those of all GPUs together, others' work on them included";
        notes.push(text.to_owned());
    }
    if phases.iter().any(is_sampled) {
        let text = "note: figures after ~ are sampled: interpolated between ticks; times are exact";
        notes.push(text.to_owned());
    }
    if open > 0 {
        let calls = format_count(open);
        notes.push(format!("note: {calls} calls never ended and count up to the end of the run"));
    }
    notes
}
