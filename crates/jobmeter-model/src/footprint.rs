//! What the job's energy was, as far as the counters of the machine allow to say, and its carbon dioxide when
//! the user gives an intensity. Estimates, and named so.

use crate::metric::{Metric, Scope};
use crate::stat::Stat;
use crate::summary::{EntityFigures, Figure, Quality, Summary};

const MICROJOULES_PER_JOULE: f64 = 1e6;
const JOULES_PER_KWH: f64 = 3.6e6;

/// Adds to `combined`: `energy_package_uj` and `energy_dram_uj` (the machine's, by the job's share of CPU
/// time), `gpu_energy_uj` (the whole energy of the devices that the job used), `energy_joules` (their sum) and,
/// with an intensity, `co2_grams`. Adds nothing where there is no counter at all.
pub fn estimate(summary: &mut Summary, carbon_g_per_kwh: Option<f64>) {
    let total = |scope, metric| summary.get(scope, metric, Stat::Total).and_then(Figure::as_f64);
    let share = match (total(Scope::Combined, Metric::CpuNs), total(Scope::System, Metric::CpuNs)) {
        // The machine counts in clock ticks: of a short job on an idle machine it may have seen less than there was, or nothing.
        (Some(job_ns), Some(machine_ns)) if job_ns > 0.0 => Some(job_ns / machine_ns.max(job_ns)),
        _ => None,
    };
    let mut parts = Vec::new();
    let mut total_uj = 0.0;
    for (metric, name) in [(Metric::EnergyPackageUj, "CPU package"), (Metric::EnergyDramUj, "DRAM")] {
        if let (Some(machine_uj), Some(share)) = (summary.system.value(metric, Stat::Total), share) {
            let uj = machine_uj * share;
            let reason = format!("the machine's {name} energy by the job's share of CPU time");
            let figure = Figure::int(uj as u64, Quality::Estimate).because(reason);
            summary.combined.set(metric, Stat::Total, figure);
            total_uj += uj;
            parts.push(format!("{name} by share of CPU time"));
        }
    }
    let is_certain = match gpu_energy(&summary.gpus) {
        None => true,
        Some((uj, untold)) => {
            total_uj += uj;
            let reason = "whole energy of the GPUs that the job used, others' work on them included";
            match &untold {
                None => parts.push("GPUs used by the job in full".to_owned()),
                Some(untold) => parts.push(format!("GPUs used by the job in full, but {untold}")),
            }
            let figure = match untold {
                None => Figure::int(uj as u64, Quality::Estimate).because(reason),
                Some(untold) if uj > 0.0 => {
                    Figure::int(uj as u64, Quality::LowerBound).because(format!("{reason}; {untold}"))
                }
                Some(untold) => Figure::unavailable(untold),
            };
            let is_certain = figure.quality == Quality::Estimate;
            summary.combined.set(Metric::GpuEnergyUj, Stat::Total, figure);
            is_certain
        }
    };
    if parts.is_empty() {
        return;
    }
    let joules = total_uj / MICROJOULES_PER_JOULE;
    let reason = parts.join(", ");
    let quality = if is_certain { Quality::Estimate } else { Quality::LowerBound };
    if !is_certain && total_uj == 0.0 {
        summary.combined.set(Metric::EnergyJoules, Stat::Total, Figure::unavailable(reason));
        return;
    }
    let figure = Figure::float(joules, quality).because(reason);
    summary.combined.set(Metric::EnergyJoules, Stat::Total, figure);
    if let Some(intensity) = carbon_g_per_kwh {
        let reason = format!("energy_joules at {intensity} g/kWh, as given");
        let figure = Figure::float(joules / JOULES_PER_KWH * intensity, quality).because(reason);
        summary.combined.set(Metric::Co2Grams, Stat::Total, figure);
    }
}

/// Energy of the devices that the job used, and which others it may have used. `None` without any counter. A MIG GPU
/// is used when one of its instances is; only the whole GPU has energy.
fn gpu_energy(gpus: &[EntityFigures]) -> Option<(f64, Option<String>)> {
    let energy = |gpu: &EntityFigures| gpu.figures.value(Metric::GpuEnergyUj, Stat::Total);
    let mut sum_uj = None;
    let mut untold = None;
    for (gpu, uj) in gpus.iter().filter_map(|gpu| Some((gpu, energy(gpu)?))) {
        let sum_uj = sum_uj.get_or_insert(0.0);
        let is_visible = gpu.facts.get("visible").is_none_or(|visible| visible != "no");
        match gpu.facts.get("used").map(String::as_str) {
            Some("yes") => *sum_uj += uj,
            Some("no") => {}
            _ if !is_visible => {}
            _ => untold = Some(format!("whether the job used {} is not known", gpu.name)),
        }
    }
    Some((sum_uj?, untold))
}
