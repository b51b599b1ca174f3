//! Budgets from earlier runs: what they used, and a tolerance on top.

use super::budget::{Budget, BudgetKind, Origin};
use super::figure;
use crate::compare::{RunView, median};

/// Figures that a baseline sets a budget for. Bytes read and written depend on what the page cache still
/// holds and processes on how the job was cut, so those are asked for one by one.
const KINDS: [BudgetKind; 4] = [BudgetKind::Time, BudgetKind::CpuTime, BudgetKind::Ram, BudgetKind::GpuRam];

/// The median of the baseline's runs plus the tolerance, for each figure that the baseline or the checked
/// run knows. What neither knows (GPU memory on a machine without one) has no budget.
pub fn baseline_budgets(baseline: &[RunView], checked: &[RunView], tolerance_ratio: f64) -> Vec<Budget> {
    KINDS
        .into_iter()
        .filter_map(|kind| {
            let known = |run: &RunView| figure(run, kind).as_f64().filter(|value| value.is_finite());
            let values: Vec<f64> = baseline.iter().filter_map(known).collect();
            if values.is_empty() && !checked.iter().any(|run| known(run).is_some()) {
                return None;
            }
            let median = median(&values);
            Some(Budget {
                kind,
                limit: median.map(|median| median * (1.0 + tolerance_ratio)),
                written: None,
                origin: Origin::Baseline { median, runs: values.len(), tolerance_ratio },
            })
        })
        .collect()
}
