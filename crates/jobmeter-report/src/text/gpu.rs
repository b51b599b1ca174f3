//! What the text summary says of GPUs and energy.

use super::units::Units;
use jobmeter_core::{Figure, Figures, Summary};

fn get(figures: &Figures, key: &str) -> Option<f64> {
    figures.get(key).and_then(Figure::as_f64)
}

/// Nothing without a GPU.
pub(super) fn lines(summary: &Summary, units: Units) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if !summary.gpus.is_empty() {
        lines.extend(busy(summary).map(|text| ("GPU", text)));
        lines.extend(memory(summary, units).map(|text| ("GPU RAM", text)));
    }
    lines.extend(energy(summary).map(|text| ("energy", text)));
    lines
}

fn busy(summary: &Summary) -> Option<String> {
    let count = summary.gpus.iter().filter(|gpu| !gpu.facts.contains_key("mig_enabled")).count();
    let mut parts = Vec::new();
    for (label, figures) in [("job", &summary.combined), ("machine", &summary.system)] {
        if let (Some(mean), Some(max)) = (get(figures, "gpu_busy_ppm_mean"), get(figures, "gpu_busy_ppm_max"))
        {
            parts.push(format!("{label} {:.0} % on average, {:.0} % at most", mean / 1e4, max / 1e4));
        }
    }
    let fact = |gpu: &jobmeter_core::summary::EntityFigures, key: &str, value: &str| {
        gpu.facts.get(key).is_some_and(|known| known == value)
    };
    let seen = |gpu: &&jobmeter_core::summary::EntityFigures| {
        !fact(gpu, "visible", "no") && !fact(gpu, "mig_enabled", "yes")
    };
    let visible = summary.gpus.iter().filter(seen).count();
    let idle = summary.gpus.iter().filter(seen).filter(|gpu| fact(gpu, "used", "no")).count();
    if idle > 0 {
        parts.push(format!("{idle} of {visible} visible GPUs were never used"));
    }
    let throttled = summary
        .gpus
        .iter()
        .filter(|gpu| get(&gpu.figures, "gpu_throttle_bits_max").is_some_and(slows))
        .count();
    if throttled > 0 {
        parts.push(format!("{throttled} throttled"));
    }
    let hottest = summary.gpus.iter().filter_map(|gpu| get(&gpu.figures, "gpu_temperature_mc_max"));
    if let Some(hottest) = hottest.reduce(f64::max) {
        parts.push(format!("up to {:.0} °C", hottest / 1e3));
    }
    (!parts.is_empty()).then(|| format!("{count} in all; {}", parts.join("; ")))
}

/// Bit 0 (idle) and bit 1 (clocks set by an application) slow nobody down.
fn slows(bits: f64) -> bool {
    bits as u64 & !0b11 != 0
}

fn memory(summary: &Summary, units: Units) -> Option<String> {
    let mut parts = Vec::new();
    for (label, figures) in
        [("job", &summary.combined), ("main", &summary.main), ("descendants", &summary.descendants)]
    {
        if let Some(bytes) = get(figures, "gpu_memory_bytes_max") {
            parts.push(format!("{label} {}", units.gpu_ram(bytes as u64)));
        }
    }
    let system = &summary.system;
    if let (Some(used), Some(total)) =
        (get(system, "gpu_memory_bytes_max"), get(system, "gpu_memory_total_bytes_max"))
    {
        parts.push(format!("machine {} of {}", units.gpu_ram(used as u64), units.gpu_ram(total as u64)));
    }
    (!parts.is_empty()).then(|| format!("peak {}", parts.join("; ")))
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
