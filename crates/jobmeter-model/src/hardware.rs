//! The use of the expected GPUs as a share of them all, as for CPU cores. Expected are the selected devices; a
//! MIG GPU counts by its instances.

use crate::metric::{Metric, Scope};
use crate::stat::Stat;
use crate::summary::{Figure, Summary};

/// Adds `gpu_hardware_ratio_max` and `_mean` to each scope that knows the sum over the devices.
pub fn add_ratios(summary: &mut Summary) {
    let is_expected = |enabled: Option<&String>| enabled.is_none_or(|enabled| enabled != "yes");
    let expected = summary.gpus.iter().filter(|gpu| is_expected(gpu.facts.get("mig_enabled"))).count();
    if expected == 0 {
        return;
    }
    for scope in Scope::ALL {
        let figures = summary.scope_mut(scope);
        for (level, share) in [(Stat::Max, Stat::ShareMax), (Stat::Mean, Stat::ShareMean)] {
            let Some(sum) = figures.get(Metric::GpuBusyPpm, level) else { continue };
            if let Some(sum_ppm) = sum.as_f64() {
                let ratio = sum_ppm / (1e6 * expected as f64);
                let figure =
                    Figure::float(ratio, sum.quality).because(format!("of {expected} expected GPUs"));
                figures.set(Metric::GpuBusyPpm, share, figure);
            }
        }
    }
}
