//! What the text summary says of GPUs and energy.

use super::units::Units;
use jobmeter_insight::gpus;
use jobmeter_model::format::{Style, format};
use jobmeter_model::summary::EntityFigures;
use jobmeter_model::text::printable;
use jobmeter_model::{Figures, Metric, Stat, Summary, Unit};

/// Devices beyond this are in the JSON only.
const MOST_DEVICES: usize = 16;

/// Nothing without a GPU.
pub(super) fn lines(summary: &Summary, units: Units) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if !summary.gpus.is_empty() {
        lines.extend(busy(summary).map(|text| ("GPU", text)));
        lines.extend(gpus::verdict(summary).map(|verdict| ("GPU use", verdict.line())));
        lines.extend(memory(summary, units).map(|text| ("GPU RAM", text)));
        lines.extend(devices(summary, units));
    }
    lines.extend(energy(summary).map(|text| ("energy", text)));
    lines
}

/// What main or the descendants had of the GPUs, to stand behind their other figures.
pub(super) fn part(figures: &Figures, units: Units) -> String {
    let parts = [
        share(figures).map(|text| format!("GPU {text}")),
        ram(figures, units).map(|text| format!("GPU RAM {text}")),
    ];
    parts.into_iter().flatten().map(|text| format!("; {text}")).collect()
}

/// `31 % on average, 60 % at most`.
fn share(figures: &Figures) -> Option<String> {
    let share = |stat| Some(format(figures.value(Metric::GpuBusyPpm, stat)?, Unit::Ppm, Style::Rounded));
    Some(format!("{} on average, {} at most", share(Stat::Mean)?, share(Stat::Max)?))
}

/// `peak 3.21 GB, mean 2.10 GB`.
fn ram(figures: &Figures, units: Units) -> Option<String> {
    let peak = units.gpu_ram(figures.whole(Metric::GpuMemoryBytes, Stat::Max)?);
    let of = figures
        .whole(Metric::GpuMemoryTotalBytes, Stat::Max)
        .map_or(String::new(), |total| format!(" of {}", units.gpu_ram(total)));
    let mean = figures
        .whole(Metric::GpuMemoryBytes, Stat::Mean)
        .map_or(String::new(), |mean| format!(", mean {}", units.gpu_ram(mean)));
    Some(format!("peak {peak}{of}{mean}"))
}

fn has(gpu: &EntityFigures, key: &str, value: &str) -> bool {
    gpu.facts.get(key).is_some_and(|known| known == value)
}

fn busy(summary: &Summary) -> Option<String> {
    let count = summary.gpus.iter().filter(|gpu| !has(gpu, "mig_enabled", "yes")).count();
    let mut parts = Vec::new();
    for (label, figures) in [("job", &summary.combined), ("machine", &summary.system)] {
        let Some(text) = share(figures) else { continue };
        let hardware = figures.value(Metric::GpuBusyPpm, Stat::ShareMean).map_or(String::new(), |ratio| {
            format!(" ({} of the hardware)", format(ratio, Unit::Ratio, Style::Full))
        });
        parts.push(format!("{label} {text}{hardware}"));
    }
    let seen = |gpu: &&EntityFigures| !has(gpu, "visible", "no") && !has(gpu, "mig_enabled", "yes");
    let visible = summary.gpus.iter().filter(seen).count();
    let idle = summary.gpus.iter().filter(seen).filter(|gpu| has(gpu, "used", "no")).count();
    if idle > 0 {
        parts.push(format!("{idle} of {visible} visible GPUs were never used"));
    }
    (!parts.is_empty()).then(|| format!("{count} in all; {}", parts.join("; ")))
}

fn memory(summary: &Summary, units: Units) -> Option<String> {
    let scopes = [("job", &summary.combined), ("machine", &summary.system)];
    let parts =
        scopes.iter().filter_map(|(label, figures)| Some(format!("{label} {}", ram(figures, units)?)));
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn devices(summary: &Summary, units: Units) -> Vec<(&'static str, String)> {
    let mut lines: Vec<_> =
        summary.gpus.iter().take(MOST_DEVICES).map(|gpu| ("device", device(gpu, units))).collect();
    if let Some(more) = summary.gpus.len().checked_sub(MOST_DEVICES).filter(|more| *more > 0) {
        lines.push(("device", format!("{more} more are in the JSON")));
    }
    lines
}

fn device(gpu: &EntityFigures, units: Units) -> String {
    let fact = |key: &str| gpu.facts.get(key).map(String::as_str);
    let figures = &gpu.figures;
    let index = fact("index").map_or(String::new(), |index| format!("GPU {index}: "));
    let mut parts = vec![printable(&format!("{index}{} ({})", fact("name").unwrap_or("GPU"), gpu.name))];
    parts.extend(share(figures));
    parts.extend(ram(figures, units).map(|text| format!("RAM {text}")));
    parts.extend(figures.value(Metric::GpuPowerMw, Stat::Max).map(|mw| up_to(mw, Unit::Milliwatts)));
    parts.extend(figures.value(Metric::GpuEnergyUj, Stat::Total).map(|uj| {
        let by = fact("energy_method").map_or(String::new(), |method| format!(" by {method}"));
        format!("{}{by}", format(uj, Unit::Microjoules, Style::Full))
    }));
    parts.extend(figures.value(Metric::GpuTemperatureMc, Stat::Max).map(|mc| up_to(mc, Unit::Millicelsius)));
    parts.extend(slowed(figures));
    parts.join("; ")
}

/// Heat and failing power slow a GPU down; a power cap in normal work, chosen clocks and idleness are no trouble.
fn slowed(figures: &Figures) -> Option<String> {
    let reasons = [
        (Metric::GpuClocksHeldHardwareSlowdownNs, "the hardware"),
        (Metric::GpuClocksHeldSoftwareThermalNs, "heat"),
        (Metric::GpuClocksHeldHardwareThermalNs, "heat (hardware)"),
        (Metric::GpuClocksHeldPowerBrakeNs, "a power brake"),
    ];
    let parts: Vec<String> = reasons
        .iter()
        .filter_map(|(metric, words)| {
            let ns = figures.value(*metric, Stat::Total).filter(|ns| *ns > 0.0)?;
            Some(format!("{:.1} s by {words}", ns / 1e9))
        })
        .collect();
    (!parts.is_empty()).then(|| format!("slowed down {}", parts.join(", ")))
}

fn energy(summary: &Summary) -> Option<String> {
    let figure = summary.combined.get(Metric::EnergyJoules, Stat::Total)?;
    let joules = figure.as_f64()?;
    let reason = figure.reason.as_deref().map_or(String::new(), |reason| format!(": {reason}"));
    let co2 = summary.combined.value(Metric::Co2Grams, Stat::Total);
    let co2 =
        co2.map_or(String::new(), |grams| format!("; {} of CO2", format(grams, Unit::Grams, Style::Full)));
    let power = summary.system.value(Metric::GpuPowerMw, Stat::Max);
    let power = power.map_or(String::new(), |mw| format!("; GPUs draw {}", up_to(mw, Unit::Milliwatts)));
    let energy = format(joules, Unit::Joules, Style::Full);
    Some(format!("{energy} (estimate{reason}){power}{co2}"))
}

fn up_to(value: f64, unit: Unit) -> String {
    format!("up to {}", format(value, unit, Style::Rounded))
}
