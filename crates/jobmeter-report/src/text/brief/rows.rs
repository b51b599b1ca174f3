//! The figures of the first screen.

use super::super::lines::{at_least, counted};
use super::super::units::Units;
use super::Row;
use crate::format::rounded_up;
use jobmeter_insight::gpus::verdict;
use jobmeter_model::format::{Style, format};
use jobmeter_model::summary::EntityFigures;
use jobmeter_model::units::format_count;
use jobmeter_model::{Figure, Figures, Metric, Quality, Stat, Summary, Unit};

/// More GPUs are counted in one line.
const MOST_GPUS: usize = 4;
/// A bound this much above the figure may change what somebody asks for.
const DOUBT_SHARE: f64 = 1.1;
/// Less than this changes nobody's mind, whatever its share.
const DOUBT_BYTES: f64 = 32e6;
/// A bound this many times the figure is told whatever its size.
const FAR_APART: f64 = 2.0;
/// A shorter job is looked at a few times only.
const MOMENT_NS: u64 = 200_000_000;

pub(in crate::text) fn rows(summary: &Summary, units: Units) -> Vec<Row> {
    let combined = &summary.combined;
    let mut rows = Vec::new();
    rows.extend(cpu(summary, units));
    rows.extend(memory(summary, units));
    rows.extend(gpus(summary, units));
    rows.extend(disk(combined, units));
    rows.extend(processes(combined));
    rows
}

fn row(label: &str, value: String, detail: String, course: Option<Metric>) -> Row {
    Row { label: label.to_owned(), value, detail, course }
}

fn cpu(summary: &Summary, units: Units) -> Option<Row> {
    let figures = &summary.combined;
    let total = figures.whole(Metric::CpuNs, Stat::Total)?;
    let at_least = at_least(figures, Metric::CpuNs);
    if total == 0 && !at_least.is_empty() {
        return Some(row("CPU", "not known".to_owned(), String::new(), None));
    }
    let value = format!("{at_least}{}", units.time(total));
    Some(row("CPU", value, cores_words(summary).unwrap_or_default(), Some(Metric::CpuNs)))
}

/// `0.75 of 2 cores on average, 2.00 at most`.
pub(crate) fn cores_words(summary: &Summary) -> Option<String> {
    let cores = |stat| {
        summary.combined.value(Metric::CpuNs, stat).map(|cores| match cores > 0.0 && cores < 0.005 {
            true => "below 0.01".to_owned(),
            false => format(cores, Unit::Cores, Style::Bare),
        })
    };
    let mean = cores(Stat::RateMean)?;
    let expected = summary.run.expected_cores;
    let of = if expected > 0.0 {
        format!(" of {}", format(expected, Unit::Plain, Style::Short))
    } else {
        String::new()
    };
    let word = if expected == 1.0 { "core" } else { "cores" };
    let most = cores(Stat::RateMax).map_or_else(String::new, |most| format!(", {most} at most"));
    Some(format!("{mean}{of} {word} on average{most}"))
}

fn memory(summary: &Summary, units: Units) -> Option<Row> {
    let figure = summary.combined.get(Metric::RssBytes, Stat::Max)?;
    if let Some(upper) = only_bound(summary) {
        return Some(at_most(upper, units));
    }
    let bytes = figure.as_f64()?;
    let value = format!("{} peak", units.ram(bytes as u64));
    let machine = summary.system.value(Metric::MemoryTotalBytes, Stat::Max);
    let limit = summary.limits.cgroup_memory_bytes.map(|bytes| bytes as f64);
    let limit = limit.filter(|limit| machine.is_none_or(|machine| *limit < machine));
    let share = |of: f64| share_of(bytes, of);
    let mut parts = Vec::new();
    match (limit, machine) {
        (Some(limit), _) => parts.push(format!("{} of its limit, {}", share(limit), units.ram(limit as u64))),
        (None, Some(machine)) if machine > 0.0 => {
            parts.push(format!("{} of {}", share(machine), units.ram(machine as u64)));
        }
        _ => {}
    }
    parts.extend(doubt(figure, bytes, units));
    let swap = summary.combined.whole(Metric::SwapBytes, Stat::Max).filter(|swap| *swap > 0);
    parts.extend(swap.map(|swap| format!("swap {}", units.ram(swap))));
    Some(row("Memory", value, parts.join(", "), Some(Metric::RssBytes)))
}

/// A part in percent: a tenth of one changes nobody's mind.
pub(crate) fn share_of(part: f64, whole: f64) -> String {
    match part / whole {
        share if share < 0.01 => "below 1 %".to_owned(),
        share => format(share, Unit::Ratio, Style::Rounded),
    }
}

/// The row of a peak of which only the bound is worth telling.
fn at_most(upper: f64, units: Units) -> Row {
    let most = units.ram(upper as u64);
    row("Memory", format!("at most {most}"), String::new(), None)
}

/// The bound of the peak memory, rounded up, where there is no value or it tells nothing by itself: a job of a moment is
/// looked at once or twice, perhaps before it has read its libraries, or ended before it could be.
pub(crate) fn only_bound(summary: &Summary) -> Option<f64> {
    let figure = summary.combined.get(Metric::RssBytes, Stat::Max)?;
    let upper = figure.upper?.as_f64();
    let Some(bytes) = figure.as_f64() else { return Some(rounded_up(upper)) };
    let is_short = summary.run.wall_ns.is_some_and(|ns| ns < MOMENT_NS);
    (is_short && figure.quality != Quality::Exact && upper > bytes * FAR_APART).then(|| rounded_up(upper))
}

/// One bound, rounded up, where it is far enough from the figure to matter.
fn doubt(figure: &Figure, bytes: f64, units: Units) -> Option<String> {
    if figure.quality == Quality::Exact {
        return None;
    }
    match figure.upper {
        Some(upper) => {
            let upper = upper.as_f64();
            let is_large = upper > bytes * DOUBT_SHARE && upper > bytes + DOUBT_BYTES;
            let matters = is_large || upper > bytes * FAR_APART;
            matters.then(|| format!("perhaps up to {}", units.ram(rounded_up(upper) as u64)))
        }
        None if figure.quality == Quality::LowerBound => Some("perhaps more".to_owned()),
        None => None,
    }
}

/// The GPUs that the job could use, without those that are known to have been left alone.
pub(crate) fn used_gpus(summary: &Summary) -> Vec<&EntityFigures> {
    let has =
        |gpu: &EntityFigures, key: &str, value: &str| gpu.facts.get(key).is_some_and(|known| known == value);
    let visible = summary.gpus.iter().filter(|gpu| !has(gpu, "visible", "no"));
    visible.filter(|gpu| !has(gpu, "used", "no")).collect()
}

/// `GPU 0`.
pub(crate) fn gpu_name(gpu: &EntityFigures) -> String {
    let index = gpu.facts.get("index").map_or_else(String::new, |index| format!(" {index}"));
    format!("GPU{}", jobmeter_model::text::printable(&index))
}

fn gpus(summary: &Summary, units: Units) -> Vec<Row> {
    let used = used_gpus(summary);
    let mut rows: Vec<Row> = used
        .iter()
        .take(MOST_GPUS)
        .map(|gpu| {
            let (value, detail) = gpu_words(&gpu.figures, units);
            // The course is that of all GPUs together, so it belongs to one only where there is one.
            row(&gpu_name(gpu), value, detail, (used.len() == 1).then_some(Metric::GpuBusyPpm))
        })
        .collect();
    if used.len() > MOST_GPUS {
        let (value, _) = gpu_words(&summary.combined, units);
        let rest = used.len() - MOST_GPUS;
        rows.push(row(
            "GPUs",
            value,
            format!("all together; {rest} more were used"),
            Some(Metric::GpuBusyPpm),
        ));
    }
    rows.extend(verdict(summary).map(|verdict| row("GPU use", verdict.line(), String::new(), None)));
    rows
}

/// How busy, and how much memory and power at most.
pub(crate) fn gpu_words(figures: &Figures, units: Units) -> (String, String) {
    let busy = figures.value(Metric::GpuBusyPpm, Stat::Mean);
    let value = busy.map_or_else(
        || "use not known".to_owned(),
        |ppm| format!("{} mean", format(ppm, Unit::Ppm, Style::Rounded)),
    );
    let used = figures.whole(Metric::GpuMemoryBytes, Stat::Max).map(|bytes| units.gpu_ram(bytes));
    let total = figures.whole(Metric::GpuMemoryTotalBytes, Stat::Max).map(|bytes| units.gpu_ram(bytes));
    let memory = match (used, total) {
        (Some(used), Some(total)) => Some(format!("{used} of {total} at most")),
        (Some(used), None) => Some(format!("{used} at most")),
        _ => None,
    };
    let power = figures.value(Metric::GpuPowerMw, Stat::Max);
    let power = power.map(|mw| format!("up to {}", format(mw, Unit::Milliwatts, Style::Rounded)));
    let parts: Vec<String> = [memory, power].into_iter().flatten().collect();
    (value, parts.join(", "))
}

/// Left out where the job neither read nor wrote.
fn disk(figures: &Figures, units: Units) -> Option<Row> {
    let bytes = |metric| figures.whole(metric, Stat::Total);
    let (read, written) = (bytes(Metric::ReadStorageBytes)?, bytes(Metric::WriteStorageBytes)?);
    let at_least = at_least(figures, Metric::ReadStorageBytes);
    let text = format!("{at_least}{} read, {} written", units.traffic(read), units.traffic(written));
    (read + written > 0).then(|| row("Disk", text, String::new(), None))
}

/// Left out where there was one alone.
fn processes(figures: &Figures) -> Option<Row> {
    let total = figures.whole(Metric::Processes, Stat::Total).filter(|total| *total > 1)?;
    let most = figures.whole(Metric::Processes, Stat::Max)?;
    let is_whole = figures.get(Metric::Processes, Stat::Total)?.quality == Quality::Exact;
    let at_least = if is_whole { "" } else { "at least " };
    let threads = figures.whole(Metric::Threads, Stat::Max).filter(|threads| *threads > most);
    let threads = threads.map_or(String::new(), |threads| format!(", {}", counted(threads, "thread")));
    let value = format!("{at_least}{}, at most {} at once{threads}", format_count(total), format_count(most));
    Some(row("Processes", value, String::new(), None))
}
