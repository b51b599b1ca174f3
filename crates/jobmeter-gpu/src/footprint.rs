//! What the job's energy was, as far as the counters of the machine allow to say, and its carbon dioxide when
//! the user gives an intensity. Estimates, and named so.

use jobmeter_model::metric::Metric;
use jobmeter_model::summary::{Figure, Quality, Summary};

const MICROJOULES_PER_JOULE: f64 = 1e6;
const JOULES_PER_KWH: f64 = 3.6e6;

/// Adds to `combined`: `energy_package_uj` and `energy_dram_uj` (the machine's, by the job's share of CPU
/// time), `gpu_energy_uj` (the whole energy of the devices that the job used), `energy_joules` (their sum) and,
/// with an intensity, `co2_grams`. Adds nothing where there is no counter at all.
pub fn estimate(summary: &mut Summary, carbon_g_per_kwh: Option<f64>) {
    let of = |scope: &jobmeter_model::Figures, key: &str| scope.get(key).and_then(Figure::as_f64);
    let share = match (of(&summary.combined, "cpu_ns"), of(&summary.system, "cpu_ns")) {
        (Some(job_ns), Some(machine_ns)) if machine_ns > 0.0 => Some((job_ns / machine_ns).min(1.0)),
        _ => None,
    };
    let mut parts = Vec::new();
    let mut total_uj = 0.0;
    for (metric, name) in [(Metric::EnergyPackageUj, "CPU package"), (Metric::EnergyDramUj, "DRAM")] {
        if let (Some(machine_uj), Some(share)) = (of(&summary.system, metric.key()), share) {
            let uj = machine_uj * share;
            let reason = format!("the machine's {name} energy by the job's share of CPU time");
            summary
                .combined
                .insert(metric.key().to_owned(), Figure::int(uj as u64, Quality::Estimate).because(reason));
            total_uj += uj;
            parts.push(format!("{name} by share of CPU time"));
        }
    }
    let key = Metric::GpuEnergyUj.key();
    let used = summary.gpus.iter().filter(|gpu| uses(gpu));
    let gpus: Vec<f64> = used.filter_map(|gpu| of(&gpu.figures, key)).collect();
    if summary.gpus.iter().any(|gpu| of(&gpu.figures, key).is_some()) {
        let uj: f64 = gpus.iter().sum();
        let reason = "whole energy of the GPUs that the job used, others' work on them included";
        summary.combined.insert(key.to_owned(), Figure::int(uj as u64, Quality::Estimate).because(reason));
        total_uj += uj;
        parts.push("GPUs used by the job in full".to_owned());
    }
    if parts.is_empty() {
        return;
    }
    let joules = total_uj / MICROJOULES_PER_JOULE;
    let reason = parts.join(", ");
    let figure = Figure::float(joules, Quality::Estimate).because(reason);
    summary.combined.insert("energy_joules".to_owned(), figure);
    if let Some(intensity) = carbon_g_per_kwh {
        let reason = format!("energy_joules at {intensity} g/kWh, as given");
        let figure = Figure::float(joules / JOULES_PER_KWH * intensity, Quality::Estimate).because(reason);
        summary.combined.insert("co2_grams".to_owned(), figure);
    }
}

/// A MIG GPU counts when one of its instances was used; only the whole GPU has energy.
fn uses(gpu: &jobmeter_model::summary::EntityFigures) -> bool {
    gpu.facts.get("used").is_some_and(|used| used == "yes")
        || gpu.facts.get("mig_enabled").is_some_and(|enabled| enabled == "yes")
}
