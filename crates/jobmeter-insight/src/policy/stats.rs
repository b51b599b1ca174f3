//! Distribution functions for one-sided tolerance bounds.

use libm::{erfc, lgamma};
use std::f64::consts::SQRT_2;

/// Chance that a standard normal value is below `z`.
pub(super) fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// The value a standard normal one stays below with chance `p`, by bisection: exact enough and never surprising.
pub(super) fn normal_quantile(p: f64) -> f64 {
    bisect(-40.0, 40.0, |z| normal_cdf(z) < p)
}

/// The `p` quantile of the non-central t distribution with `freedom` degrees of freedom.
pub(super) fn noncentral_t_quantile(p: f64, freedom: f64, shift: f64) -> f64 {
    let spreads = spread_weights(freedom);
    // Averages Φ(t s - shift) over the distribution of the estimated spread s.
    let cdf = |t: f64| spreads.iter().map(|(s, weight)| weight * normal_cdf(t * s - shift)).sum::<f64>();
    let mut high = (shift.abs() + 1.0) * 2.0;
    while cdf(high) < p && high < 1e9 {
        high *= 2.0;
    }
    bisect(-high, high, |t| cdf(t) < p)
}

/// The distribution of an estimated spread in units of the true one (a chi over the root of its degrees), as points
/// and weights that sum to one.
fn spread_weights(freedom: f64) -> Vec<(f64, f64)> {
    const STEPS: usize = 200;
    let width = 9.0 / (2.0 * freedom).sqrt();
    let (low, high) = ((1.0 - width).max(0.0), 1.0 + width);
    let half = freedom / 2.0;
    let log_constant = std::f64::consts::LN_2 + half * half.ln() - lgamma(half);
    let step = (high - low) / STEPS as f64;
    let mut points: Vec<(f64, f64)> = (0..=STEPS)
        .map(|index| {
            let s = low + step * index as f64;
            let density =
                if s > 0.0 { (log_constant + (freedom - 1.0) * s.ln() - half * s * s).exp() } else { 0.0 };
            // Simpson's weights 1 4 2 4 … 4 1.
            let weight = match index {
                0 | STEPS => 1.0,
                odd if odd % 2 == 1 => 4.0,
                _ => 2.0,
            };
            (s, density * weight)
        })
        .collect();
    // Dividing by the mass found cancels what the grid and the cut tails miss.
    let mass: f64 = points.iter().map(|(_, weight)| weight).sum();
    points.iter_mut().for_each(|(_, weight)| *weight /= mass);
    points
}

fn bisect(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..55 {
        let middle = 0.5 * (low + high);
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_published_tables() {
        assert!((normal_quantile(0.99) - 2.326_348).abs() < 1e-6);
        assert!((normal_quantile(0.5)).abs() < 1e-9);
        // Central t: 0.99 quantile with 9 degrees of freedom is 2.8214.
        assert!((noncentral_t_quantile(0.99, 9.0, 0.0) - 2.8214).abs() < 1e-3);
        // One-sided normal tolerance factors k(n, content 0.99, confidence), Natrella's handbook.
        let factor = |n: f64, confidence: f64| {
            noncentral_t_quantile(confidence, n - 1.0, normal_quantile(0.99) * n.sqrt()) / n.sqrt()
        };
        for (n, confidence, table) in
            [(10.0, 0.95, 3.981), (10.0, 0.90, 3.532), (50.0, 0.95, 2.862), (5.0, 0.90, 4.666)]
        {
            let found = factor(n, confidence);
            assert!((found - table).abs() < 0.004, "n {n} confidence {confidence}: {found} against {table}");
        }
    }
}
