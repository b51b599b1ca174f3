//! What the text summary says of GPUs and energy.

use super::units::Units;
use jobmeter_insight::gpus;
use jobmeter_model::summary::EntityFigures;
use jobmeter_model::text::printable;
use jobmeter_model::{Figure, Figures, Summary};

fn get(figures: &Figures, key: &str) -> Option<f64> {
    figures.get(key).and_then(Figure::as_f64)
}

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
    let (mean, max) = (get(figures, "gpu_busy_ppm_mean")?, get(figures, "gpu_busy_ppm_max")?);
    Some(format!("{:.0} % on average, {:.0} % at most", mean / 1e4, max / 1e4))
}

/// `peak 3.21 GB, mean 2.10 GB`.
fn ram(figures: &Figures, units: Units) -> Option<String> {
    let peak = units.gpu_ram(get(figures, "gpu_memory_bytes_max")? as u64);
    let of = get(figures, "gpu_memory_total_bytes_max")
        .map_or(String::new(), |total| format!(" of {}", units.gpu_ram(total as u64)));
    let mean = get(figures, "gpu_memory_bytes_mean")
        .map_or(String::new(), |mean| format!(", mean {}", units.gpu_ram(mean as u64)));
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
        let hardware = get(figures, "gpu_hardware_ratio_mean")
            .map_or(String::new(), |ratio| format!(" ({:.1} % of the hardware)", ratio * 100.0));
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
    parts.extend(get(figures, "gpu_power_mw_max").map(|mw| format!("up to {:.0} W", mw / 1e3)));
    parts.extend(get(figures, "gpu_energy_uj").map(|uj| match fact("energy_method") {
        Some(method) => format!("{:.1} J by {method}", uj / 1e6),
        None => format!("{:.1} J", uj / 1e6),
    }));
    parts.extend(get(figures, "gpu_temperature_mc_max").map(|mc| format!("up to {:.0} °C", mc / 1e3)));
    parts.extend(slowed(figures));
    parts.join("; ")
}

/// Heat and failing power slow a GPU down; a power cap in normal work, chosen clocks and idleness are no trouble.
fn slowed(figures: &Figures) -> Option<String> {
    let reasons = [
        ("hardware_slowdown", "the hardware"),
        ("software_thermal", "heat"),
        ("hardware_thermal", "heat (hardware)"),
        ("power_brake", "a power brake"),
    ];
    let parts: Vec<String> = reasons
        .iter()
        .filter_map(|(key, words)| {
            let ns = get(figures, &format!("gpu_clocks_held_{key}_ns")).filter(|ns| *ns > 0.0)?;
            Some(format!("{:.1} s by {words}", ns / 1e9))
        })
        .collect();
    (!parts.is_empty()).then(|| format!("slowed down {}", parts.join(", ")))
}

fn energy(summary: &Summary) -> Option<String> {
    let figure = summary.combined.get("energy_joules")?;
    let joules = figure.as_f64()?;
    let reason = figure.reason.as_deref().map_or(String::new(), |reason| format!(": {reason}"));
    let co2 =
        get(&summary.combined, "co2_grams").map_or(String::new(), |grams| format!("; {grams:.2} g of CO2"));
    let power = get(&summary.system, "gpu_power_mw_max")
        .map_or(String::new(), |mw| format!("; GPUs draw up to {:.0} W", mw / 1e3));
    Some(format!("{joules:.1} J (estimate{reason}){power}{co2}"))
}
