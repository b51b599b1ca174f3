//! How much the next run needs at most, with a stated chance of being wrong.
//!
//! Peaks of a job family are taken as lognormal. The bound is a one-sided tolerance bound on the logarithm:
//! with 90 % confidence, at most `chance` of all runs lie above it. From few runs the spread is hardly known, so a
//! typical run-to-run spread counts as a few runs more: a single run gets a headroom of about a half,
//! and what was assumed fades as runs accumulate. Families with a heavier tail are caught by the order
//! statistics: the bound is never below what the runs themselves show at that chance.

use super::stats::{noncentral_t_quantile, normal_quantile};

/// How sure the bound is to hold.
pub const CONFIDENCE: f64 = 0.90;
/// Assumed standard deviation of the logarithm between runs of one job before anything is known.
const ASSUMED_SPREAD: f64 = 0.07;
/// How many runs that assumption is worth.
const ASSUMED_RUNS: f64 = 3.0;

/// A value that the next run stays below with the chance that was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The value.
    pub value: f64,
    /// The bound came from the order of the values, not from the lognormal curve.
    pub is_empirical: bool,
    /// Estimated spread of the logarithm between runs; `None` from a single run.
    pub spread: Option<f64>,
}

/// An upper bound for the next value of the family. `None` without any positive value.
pub fn upper_bound(values: &[f64], chance: f64) -> Option<Bound> {
    let logs: Vec<f64> = values.iter().filter(|v| v.is_finite() && **v > 0.0).map(|v| v.ln()).collect();
    if logs.is_empty() {
        return None;
    }
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let squares: f64 = logs.iter().map(|x| (x - mean).powi(2)).sum();
    let curve = mean + margin(squares, n - 1.0, 1.0 / n, chance);
    let seen = empirical_bound(logs, chance);
    Some(Bound {
        value: curve.max(seen).exp(),
        is_empirical: seen > curve,
        spread: (n > 1.0).then(|| (squares / (n - 1.0)).sqrt()),
    })
}

/// What to add to a predicted logarithm. `squares` is the sum of squared residuals with `freedom` degrees
/// of freedom, `leverage` the variance of the prediction in units of the residuals' variance (1/n for a mean).
pub(super) fn margin(squares: f64, freedom: f64, leverage: f64, chance: f64) -> f64 {
    let pooled_freedom = freedom + ASSUMED_RUNS;
    let spread = ((squares + ASSUMED_RUNS * ASSUMED_SPREAD.powi(2)) / pooled_freedom).sqrt();
    let root = leverage.sqrt();
    let factor =
        noncentral_t_quantile(CONFIDENCE, pooled_freedom, normal_quantile(1.0 - chance) / root) * root;
    factor * spread
}

/// The value that the runs themselves name. With enough runs: the order statistic that bounds the quantile
/// with the stated confidence whatever the distribution. With at least one run per `chance`: the plain quantile.
/// With fewer: the largest value seen.
pub(super) fn empirical_bound(mut sorted: Vec<f64>, chance: f64) -> f64 {
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    if let Some(above) = allowed_above(n, chance) {
        return sorted[n - 1 - above];
    }
    let rank = if n as f64 * chance >= 1.0 { (n - 1) as f64 * (1.0 - chance) } else { (n - 1) as f64 };
    let below = rank.floor() as usize;
    let next = (below + 1).min(n - 1);
    sorted[below] + (sorted[next] - sorted[below]) * rank.fract()
}

/// The most values `k` that may lie above an order statistic so that it still bounds the quantile with the stated
/// confidence: the largest k with P(Binomial(n, chance) <= k) <= 1 - confidence. `None`: not even k = 0.
fn allowed_above(n: usize, chance: f64) -> Option<usize> {
    let mut term = (1.0 - chance).powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut sum = term;
    let mut allowed = None;
    let mut k = 0;
    while sum <= 1.0 - CONFIDENCE && k < n && term > 0.0 {
        allowed = Some(k);
        term *= (n - k) as f64 / (k + 1) as f64 * chance / (1.0 - chance);
        sum += term;
        k += 1;
    }
    allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_gets_a_stated_headroom_and_more_runs_less() {
        let headroom = |n: usize| upper_bound(&vec![100.0; n], 0.01).unwrap().value / 100.0;
        let one = headroom(1);
        assert!((1.4..1.6).contains(&one), "{one}");
        let series: Vec<f64> = [1, 2, 3, 5, 10, 30, 100, 1000].map(headroom).to_vec();
        assert!(series.windows(2).all(|w| w[1] < w[0]), "{series:?}");
        assert!(*series.last().unwrap() < 1.01, "{series:?}");
    }

    #[test]
    fn a_smaller_chance_asks_for_more() {
        let values = [10.0, 12.0, 9.0, 15.0, 11.0, 13.0];
        let at = |chance: f64| upper_bound(&values, chance).unwrap().value;
        assert!(at(0.001) > at(0.01) && at(0.01) > at(0.1) && at(0.1) > 15.0 * 0.9);
        assert!(upper_bound(&[], 0.01).is_none());
        assert!(upper_bound(&[0.0, f64::NAN], 0.01).is_none());
    }

    #[test]
    fn order_statistics_have_their_confidence() {
        // ln(0.1) / ln(0.99) = 229.1: from 230 values on, the largest is a 99 %/90 % bound.
        assert_eq!(allowed_above(229, 0.01), None);
        assert_eq!(allowed_above(230, 0.01), Some(0));
        assert_eq!(allowed_above(1000, 0.01), Some(5));
        let mut values = vec![1.0; 97];
        values.extend([50.0, 50.0, 50.0]);
        let bound = upper_bound(&values, 0.01).unwrap();
        assert!(bound.is_empirical && (bound.value - 50.0).abs() < 1e-9, "{bound:?}");
    }
}
