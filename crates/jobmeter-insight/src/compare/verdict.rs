//! Regression, improvement or noise, with one false-alarm budget for the whole comparison.

use super::stats::{least_p, rank_sum_p};
use super::table::Drawn;
use super::{Options, Row};
use serde::Serialize;

/// What a difference between two groups means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Worse than the baseline, beyond chance and the least effect.
    Regression,
    /// Better than the baseline, beyond chance and the least effect.
    Improvement,
    /// No difference that these runs could tell from noise.
    Noise,
    /// Even complete separation of the sets would not be proof.
    NotEnoughRuns,
    /// One of the sets does not know the figure.
    Unknown,
    /// Shown, but not among the figures that are put to the test.
    NotTested,
}

impl Verdict {
    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Verdict::Regression => "regression",
            Verdict::Improvement => "improvement",
            Verdict::Noise => "noise",
            Verdict::NotEnoughRuns => "not enough runs",
            Verdict::Unknown => "unknown",
            Verdict::NotTested => "",
        }
    }
}

/// Of the budget, where there are phases: the figures of the whole run keep most of it.
const PHASE_SHARE: f64 = 0.2;

/// Fills in p-values and verdicts. Each set against the base gets an equal part of the budget, and within it
/// whole-run figures and phases are two families, each under Holm's method.
pub(super) fn decide(rows: &mut [Drawn], groups: usize, options: &Options) {
    let alpha = options.alpha / (groups - 1) as f64;
    let has_phases = rows.iter().any(|drawn| drawn.row.scope == "phase");
    for new in 1..groups {
        let (run_alpha, phase_alpha) =
            if has_phases { (alpha * (1.0 - PHASE_SHARE), alpha * PHASE_SHARE) } else { (alpha, 0.0) };
        decide_family(rows, new, run_alpha, options, |row| row.scope != "phase");
        decide_family(rows, new, phase_alpha, options, |row| row.scope == "phase");
    }
}

fn decide_family(rows: &mut [Drawn], new: usize, alpha: f64, options: &Options, belongs: fn(&Row) -> bool) {
    // A figure that never varies in either set, or that so few runs could not decide even alone, is no
    // test. Both are told without looking at which run is in which set, so leaving them out is honest.
    let mut family: Vec<(usize, f64)> = Vec::new();
    for (index, drawn) in rows.iter_mut().enumerate() {
        let (base, other) = (&drawn.values[0], &drawn.values[new]);
        if !drawn.row.headline || !belongs(&drawn.row) || base.is_empty() || other.is_empty() {
            continue;
        }
        let contrast = &mut drawn.row.contrasts[new - 1];
        contrast.p_value = rank_sum_p(base, other);
        let varies = base.iter().chain(other).any(|value| *value != base[0]);
        contrast.verdict =
            if least_p(base.len(), other.len()) > alpha { Verdict::NotEnoughRuns } else { Verdict::Noise };
        if varies && contrast.verdict == Verdict::Noise {
            family.extend(contrast.p_value.map(|p| (index, p)));
        }
    }
    let count = family.len();
    family.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut adjusted = 0.0f64;
    for (place, (index, p)) in family.into_iter().enumerate() {
        // Scaled to the whole comparison's budget, so that it reads against one number everywhere.
        adjusted = adjusted.max((p * (count - place) as f64 * options.alpha / alpha).min(1.0));
        let drawn = &mut rows[index];
        let sizes = (drawn.values[0].len(), drawn.values[new].len());
        let contrast = &mut drawn.row.contrasts[new - 1];
        contrast.p_adjusted = Some(adjusted);
        let large = match (contrast.ratio, contrast.difference) {
            (Some(ratio), _) => (ratio - 1.0).abs() >= options.min_effect_ratio,
            (None, Some(difference)) => difference != 0.0,
            (None, None) => false,
        };
        contrast.verdict = if adjusted <= options.alpha && large {
            if contrast.difference.is_some_and(|difference| difference > 0.0) {
                Verdict::Regression
            } else {
                Verdict::Improvement
            }
        } else if least_p(sizes.0, sizes.1) > alpha / count as f64 {
            Verdict::NotEnoughRuns
        } else {
            Verdict::Noise
        };
    }
}
