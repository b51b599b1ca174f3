//! Amounts that must not be exceeded: memory, VRAM, time and disk, bounded by the policy and scaled by the input.

use super::Item;
use super::evidence::{Ending, Run};
use super::rules::{Family, count, percent};
use crate::error::clean;
use crate::policy::scale::{self, Curve, Fit};
use crate::policy::{Policy, SIMPLE_HEADROOM, risk, round_memory, round_seconds};
use crate::units::{show_bytes, show_seconds};
use jobmeter_model::units::format_bytes;

/// A run that was killed for want of something gets at least this much more of it.
const AFTER_KILL: f64 = 1.5;
/// Sums below this are noise to a scheduler; keeps the logarithm away from zero.
const SMALLEST_BYTES: f64 = (1u64 << 20) as f64;

/// How one amount is named, shown and rounded.
pub(super) struct Amount {
    noun: &'static str,
    show: fn(f64) -> String,
    round: fn(f64) -> u64,
    smallest: f64,
}

pub(super) const MEMORY: Amount =
    Amount { noun: "peak", show: show_bytes, round: round_memory, smallest: SMALLEST_BYTES };
pub(super) const TIME: Amount =
    Amount { noun: "time", show: show_seconds, round: round_seconds, smallest: 1e-3 };
pub(super) const DISK: Amount =
    Amount { noun: "bytes written", show: show_bytes, round: round_memory, smallest: SMALLEST_BYTES };

impl Family<'_> {
    /// The policy's bound for an amount that must not be exceeded.
    pub(super) fn bounded(&self, amount: &Amount, pick: fn(&Run) -> Option<f64>, values: &[f64]) -> Item {
        let values: Vec<f64> = values.iter().map(|v| v.max(amount.smallest)).collect();
        if values.is_empty() {
            return Item::unknown("no run has this figure");
        }
        let largest = values.iter().copied().fold(0.0, f64::max);
        let runs = count(values.len());
        let (mut need, mut why) = match self.options.policy {
            Policy::Simple => (
                largest * SIMPLE_HEADROOM,
                format!("largest {} of {runs} {} plus 20 %", amount.noun, (amount.show)(largest)),
            ),
            Policy::Risk { chance } => {
                // `values` is not empty and positive, so there is a bound.
                let bound = risk::upper_bound(&values, chance).map_or(largest, |b| b.value);
                (bound, risk_sentence(amount, values.len(), largest, bound, chance))
            }
        };
        let mut item = Item { value: None, need: None, why: String::new(), unknown: None, fit: None };
        if let Some(input) = self.options.input_bytes {
            match self.scaled(amount, pick, input) {
                Ok((scaled_need, sentence, fit)) => {
                    need = scaled_need;
                    why = sentence;
                    if fit.extrapolates(input) {
                        item.add_unknown(format!(
                            "{} lies outside the inputs seen ({} to {})",
                            format_bytes(input as u64),
                            format_bytes(fit.smallest_input as u64),
                            format_bytes(fit.largest_input as u64)
                        ));
                    }
                    item.fit = Some(fit);
                }
                Err((factor, sentence)) => {
                    need *= factor;
                    item.add_unknown(sentence);
                }
            }
        }
        item.value = Some((amount.round)(need));
        item.need = Some(need);
        item.why = why;
        item
    }

    /// The bound at a given input size, or a factor and what is not known.
    fn scaled(
        &self,
        amount: &Amount,
        pick: fn(&Run) -> Option<f64>,
        input: f64,
    ) -> Result<(f64, String, Fit), (f64, String)> {
        let points: Vec<(f64, f64)> = self
            .learned
            .iter()
            .filter_map(|r| Some((r.input_bytes?, pick(r)?.max(amount.smallest))))
            .collect();
        if points.is_empty() {
            let tag = clean(&self.options.input_tag);
            return Err((
                1.0,
                format!("no run carries a size in the tag `{tag}`: the input size was not considered"),
            ));
        }
        let Some(fit) = scale::fit(&points) else {
            let largest = points.iter().map(|p| p.0).fold(0.0, f64::max);
            let factor = (input / largest).max(1.0);
            let sentence =
                "too few different input sizes for a curve: taken as proportional to the input".to_owned();
            return Err((factor, sentence));
        };
        let predicted = fit.predict(input);
        let (need, tail) = match self.options.policy {
            Policy::Simple => (predicted * SIMPLE_HEADROOM, "plus 20 %".to_owned()),
            Policy::Risk { chance } => {
                let need = fit.upper_bound(input, chance);
                (need, format!("and {} of runs need more than {}", percent(chance), (amount.show)(need)))
            }
        };
        let curve = match fit.curve {
            Curve::Line { base, slope } if slope * input < 0.01 * base => {
                format!("no trend with the input, around {}", (amount.show)(base))
            }
            Curve::Line { base, slope } => match amount.noun {
                "time" => format!("{} + {} per GB of input", show_seconds(base), show_seconds(slope * 1e9)),
                _ => format!("{} + {slope:.3} × input", show_bytes(base)),
            },
            Curve::Power { exponent, .. } => format!("a power law, input^{exponent:.2}"),
        };
        let why = format!(
            "{} follow {curve} (R² {:.2}, typical error {:.0} %): {} predict {}, {tail}",
            count(fit.runs),
            fit.r_squared,
            100.0 * fit.prediction_error,
            format_bytes(input as u64),
            (amount.show)(predicted)
        );
        Ok((need, why, fit))
    }

    /// Runs that were killed for want of something needed more of it than they show.
    pub(super) fn raise_after_kill(
        &self,
        mut item: Item,
        amount: &Amount,
        ending: Ending,
        pick: fn(&Run) -> Option<f64>,
        verb: &str,
    ) -> Item {
        let killed: Vec<f64> = self.runs.iter().filter(|r| r.ending == ending).filter_map(pick).collect();
        let Some(most) = killed.iter().copied().max_by(f64::total_cmp) else { return item };
        let least = most * AFTER_KILL;
        if item.need.is_none_or(|need| need < least) {
            item.need = Some(least);
            item.value = Some((amount.round)(least));
            item.why =
                format!("{} {verb} at {}: half as much again", count(killed.len()), (amount.show)(most));
        }
        item.add_unknown(format!("{} {verb}: the true need is not known", count(killed.len())));
        item
    }
}

fn risk_sentence(amount: &Amount, runs: usize, largest: f64, bound: f64, chance: f64) -> String {
    let headroom = 100.0 * (bound / largest - 1.0);
    match runs {
        1 => format!(
            "{} of the one run {} plus {headroom:.0} %, because one run says nothing about the spread",
            amount.noun,
            (amount.show)(largest)
        ),
        _ => format!(
            "at most {} of runs need more than {}, with {:.0} % confidence from {} ({} up to {})",
            percent(chance),
            (amount.show)(bound),
            100.0 * risk::CONFIDENCE,
            count(runs),
            amount.noun,
            (amount.show)(largest)
        ),
    }
}
