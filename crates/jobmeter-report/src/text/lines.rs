//! The lines of the text summary, each a label and what there is to say; a line with nothing to say is left
//! out.

use super::units::Units;
use jobmeter_model::format::{Style, format};
use jobmeter_model::text::printable;
use jobmeter_model::units::{format_bytes, format_count, format_duration_ns};
use jobmeter_model::{Figure, Figures, Metric, Quality, Stat, Summary, Unit};

pub(super) fn lines(summary: &Summary, units: Units) -> Vec<(&'static str, String)> {
    let combined = &summary.combined;
    let mut lines = vec![("job", job(summary)), ("verdict", printable(&summary.verdict.text))];
    lines.extend(summary.run.wall_ns.map(|ns| ("time", units.time(ns))));
    lines.extend(cpu(combined, Some(summary.run.expected_cores), units).map(|text| ("CPU", text)));
    lines.extend(ram(combined, units).map(|text| ("RAM", text)));
    lines.extend(super::gpu::lines(summary, units));
    lines.extend(processes(combined).map(|text| ("processes", text)));
    lines.extend(bytes(combined, units).map(|text| ("disk", text)));
    lines.extend(faults(combined).map(|text| ("kernel", text)));
    if has_descendants(summary) {
        lines.extend(part(&summary.main, units).map(|text| ("main", text)));
        lines.extend(part(&summary.descendants, units).map(|text| ("descendants", text)));
    }
    lines.extend(containers(&summary.containers, units).map(|text| ("containers", text)));
    lines.extend(machine(summary, units).map(|text| ("machine", text)));
    lines.extend(limits(summary, units).map(|text| ("limits", text)));
    lines.push(("overhead", overhead(summary)));
    lines
}

/// Quality notes and warnings.
pub(super) fn notes(summary: &Summary) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, metric, stat) in [
        ("CPU", Metric::CpuNs, Stat::Total),
        ("disk bytes", Metric::ReadStorageBytes, Stat::Total),
        ("RAM peak", Metric::RssBytes, Stat::Max),
    ] {
        if let Some(figure) = summary.combined.get(metric, stat)
            && matches!(figure.quality, Quality::LowerBound | Quality::Unavailable)
            && let Some(reason) = &figure.reason
        {
            let grade = if figure.value.is_some() { "at least" } else { "missing" };
            notes.push(format!("note: {name} {grade}: {}", printable(reason)));
        }
    }
    if summary.run.late_ticks > 0 || summary.run.skipped_ticks > 0 {
        let (late, skipped) = (summary.run.late_ticks, summary.run.skipped_ticks);
        if late + skipped > summary.run.ticks / 20 {
            notes.push(format!(
                "note: {} of {} ticks came late and {} {} skipped; peaks between them may be missed",
                format_count(late),
                format_count(summary.run.ticks),
                format_count(skipped),
                if skipped == 1 { "was" } else { "were" }
            ));
        }
    }
    for warning in &summary.warnings {
        notes.push(format!("warning: {}", printable(&warning.text)));
    }
    notes
}

fn has_descendants(summary: &Summary) -> bool {
    let any = |metric, stat| summary.descendants.whole(metric, stat).is_some_and(|value| value > 0);
    any(Metric::Processes, Stat::Max) || any(Metric::CpuNs, Stat::Total)
}

fn job(summary: &Summary) -> String {
    let command = summary.run.command.join(" ");
    let mut text = printable(&command);
    if text.chars().count() > 100 {
        text = text.chars().take(99).chain(['…']).collect();
    }
    match &summary.run.name {
        Some(name) => format!("{} ({text})", printable(name)),
        None if text.is_empty() => format!("process {}", summary.run.pid),
        None => text,
    }
}

pub(super) fn at_least(figures: &Figures, counter: Metric) -> &'static str {
    match figures.get(counter, Stat::Total).map(|figure| figure.quality) {
        Some(Quality::LowerBound) => "at least ",
        _ => "",
    }
}

fn cpu(figures: &Figures, expected_cores: Option<f64>, units: Units) -> Option<String> {
    let total = figures.whole(Metric::CpuNs, Stat::Total)?;
    let mut text = format!("{}{}", at_least(figures, Metric::CpuNs), units.time(total));
    if let (Some(user), Some(system)) =
        (figures.whole(Metric::CpuUserNs, Stat::Total), figures.whole(Metric::CpuSystemNs, Stat::Total))
    {
        text += &format!(" (user {}, system {})", units.time(user), units.time(system));
    }
    if let (Some(mean), Some(max)) =
        (figures.value(Metric::CpuNs, Stat::RateMean), figures.value(Metric::CpuNs, Stat::RateMax))
    {
        text += &format!("; {} on average, {} at most", cores(mean, Style::Full), cores(max, Style::Bare));
    }
    if let (Some(cores), Some(ratio)) = (expected_cores, figures.value(Metric::CpuNs, Stat::ShareMean)) {
        let plural = if cores == 1.0 { "core" } else { "cores" };
        text += &format!("; {} of {} {plural}", format(ratio, Unit::Ratio, Style::Full), trim(cores));
    }
    Some(text)
}

fn cores(value: f64, style: Style) -> String {
    format(value, Unit::Cores, style)
}

fn trim(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// `peak 3.21 GB (sampled, at most 3.30 GB)`.
fn peak(figure: &Figure, units: Units) -> Option<String> {
    let value = figure.as_u64()?;
    let shown = units.ram(value);
    let upper = figure.upper.map(|upper| upper.as_f64() as u64);
    Some(match (figure.quality, upper) {
        (Quality::Exact, _) => shown,
        // Bounds that meet within one per cent are as good as one number.
        (_, Some(upper)) if upper > value + value / 100 + (1 << 20) => {
            format!("{shown} (sampled, at most {})", units.ram(upper))
        }
        (_, Some(_)) => shown,
        (_, None) => format!("{shown} (sampled)"),
    })
}

fn ram(figures: &Figures, units: Units) -> Option<String> {
    let mut text = format!("peak {}", peak(figures.get(Metric::RssBytes, Stat::Max)?, units)?);
    if let Some(mean) = figures.value(Metric::RssBytes, Stat::Mean) {
        text += &format!("; mean {}", units.ram(mean as u64));
    }
    if let (Some(private), Some(shared)) =
        (figures.whole(Metric::RssPrivateBytes, Stat::Max), figures.whole(Metric::RssSharedBytes, Stat::Max))
    {
        text += &format!("; private {}, shared {}", units.ram(private), units.ram(shared));
    }
    if let Some(swap) = figures.whole(Metric::SwapBytes, Stat::Max).filter(|swap| *swap > 0) {
        text += &format!("; swap {}", units.ram(swap));
    }
    Some(text)
}

fn processes(figures: &Figures) -> Option<String> {
    let most = figures.whole(Metric::Processes, Stat::Max)?;
    let total = figures.whole(Metric::Processes, Stat::Total)?;
    let seen = match figures.get(Metric::Processes, Stat::Total).map(|figure| figure.quality) {
        Some(Quality::Exact) => format!("{} in all", format_count(total)),
        _ => format!("{} seen", format_count(total)),
    };
    let threads = figures
        .whole(Metric::Threads, Stat::Max)
        .map_or(String::new(), |threads| format!("; {} at most", counted(threads, "thread")));
    Some(format!("{} at most, {seen}{threads}", format_count(most)))
}

fn bytes(figures: &Figures, units: Units) -> Option<String> {
    let read = figures.whole(Metric::ReadStorageBytes, Stat::Total)?;
    let written = figures.whole(Metric::WriteStorageBytes, Stat::Total)?;
    let mut text = format!("read {}, written {}", units.traffic(read), units.traffic(written));
    if let (Some(read), Some(written)) = (
        figures.whole(Metric::ReadCharsBytes, Stat::Total),
        figures.whole(Metric::WriteCharsBytes, Stat::Total),
    ) {
        text += &format!("; by calls {} and {}", units.traffic(read), units.traffic(written));
    }
    Some(text)
}

fn faults(figures: &Figures) -> Option<String> {
    let count = |metric| figures.whole(metric, Stat::Total).map(format_count);
    Some(format!(
        "page faults {} minor, {} major; switches {} voluntary, {} involuntary",
        count(Metric::FaultsMinor)?,
        count(Metric::FaultsMajor)?,
        count(Metric::SwitchesVoluntary)?,
        count(Metric::SwitchesInvoluntary)?
    ))
}

/// Main or descendants in one line.
fn part(figures: &Figures, units: Units) -> Option<String> {
    let cpu = figures.whole(Metric::CpuNs, Stat::Total)?;
    let ram = peak(figures.get(Metric::RssBytes, Stat::Max)?, units)?;
    let cores = figures
        .value(Metric::CpuNs, Stat::RateMax)
        .map_or(String::new(), |max| format!(", {} at most", cores(max, Style::Full)));
    let gpu = super::gpu::part(figures, units);
    Some(format!("CPU {}{cores}; RAM peak {ram}{gpu}", units.time(cpu)))
}

/// What ran in containers, in one line.
fn containers(figures: &Figures, units: Units) -> Option<String> {
    let cpu = figures.get(Metric::CpuNs, Stat::Total)?;
    let mut parts = vec![match (cpu.as_u64(), &cpu.reason) {
        (Some(ns), _) => format!("CPU {}", units.time(ns)),
        (None, reason) => printable(reason.as_deref().unwrap_or("not known")),
    }];
    if let Some(bytes) = figures.whole(Metric::RssSumBytes, Stat::Max) {
        parts.push(format!("RAM of their processes {}", units.ram(bytes)));
    }
    if let Some(count) = figures.whole(Metric::Processes, Stat::Max) {
        parts.push(format!("at most {} processes at once", format_count(count)));
    }
    Some(parts.join("; "))
}

fn machine(summary: &Summary, units: Units) -> Option<String> {
    let figures = &summary.system;
    let mut parts = Vec::new();
    if let Some(cores) = figures.value(Metric::CpuNs, Stat::RateMean) {
        parts.push(format!("CPU {} of {} cores", self::cores(cores, Style::Bare), summary.run.system_cores));
    }
    if let (Some(used), Some(total)) = (
        figures.whole(Metric::MemoryUsedBytes, Stat::Max),
        figures.whole(Metric::MemoryTotalBytes, Stat::Max),
    ) {
        parts.push(format!("RAM {} of {}", units.ram(used), units.ram(total)));
    }
    for (label, metric) in [("network in", Metric::NetReceiveBytes), ("out", Metric::NetTransmitBytes)] {
        if let Some(bytes) = figures.whole(metric, Stat::Total).filter(|bytes| *bytes > 0) {
            let rate = figures
                .value(metric, Stat::RateMax)
                .map_or(String::new(), |rate| format!(" (up to {})", units.rate(rate)));
            parts.push(format!("{label} {}{rate}", units.traffic(bytes)));
        }
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn limits(summary: &Summary, units: Units) -> Option<String> {
    let limits = &summary.limits;
    let mut parts = Vec::new();
    if let Some(bytes) = limits.cgroup_memory_bytes {
        parts.push(format!("memory {}", units.ram(bytes)));
    }
    if let Some(cores) = limits.cgroup_cores {
        parts.push(format!("{} cores by quota", trim(cores)));
    }
    if let Some(cores) = limits.affinity_cores.filter(|cores| *cores < summary.run.system_cores) {
        parts.push(format!("{cores} cores by affinity"));
    }
    if let Some(bytes) = limits.address_space_bytes {
        parts.push(format!("address space {}", units.ram(bytes)));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn overhead(summary: &Summary) -> String {
    let overhead = &summary.overhead;
    let Some(cpu_ns) = overhead.cpu_ns else {
        return format!("not recorded, {}", counted(summary.run.ticks, "tick"));
    };
    let mut text = format!("jobmeter used {} of CPU", format_duration_ns(cpu_ns));
    if let Some(rss) = overhead.peak_rss_bytes {
        text += &format!(" and {} of RAM", format_bytes(rss));
    }
    text + &format!(" for {}", counted(summary.run.ticks, "tick"))
}

/// `1 thread`, `2 threads`.
pub(super) fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", format_count(count), if count == 1 { "" } else { "s" })
}
