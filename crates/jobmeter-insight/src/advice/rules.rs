//! From the evidence of the runs to amounts, by the chosen policy.

use super::evidence::{Ending, Run};
use super::{Advice, Item, Options, present};
use crate::policy::scale::{self, Curve, Fit};
use crate::policy::{self, Policy, SIMPLE_HEADROOM, risk, round_memory, round_seconds};
use crate::units::{show_bytes, show_seconds};
use crate::{Error, error::clean};
use jobmeter_core::Summary;
use jobmeter_core::units::format_bytes;

/// A run that was killed for want of something gets at least this much more of it.
const AFTER_KILL: f64 = 1.5;
/// Sums below this are noise to a scheduler; keeps the logarithm away from zero.
const SMALLEST_BYTES: f64 = (1u64 << 20) as f64;

pub(super) fn advise(summaries: &[Summary], runs: &[Run], options: &Options) -> Result<Advice, Error> {
    let complete: Vec<&Run> = runs.iter().filter(|r| r.ending == Ending::Complete).collect();
    let mut notes = Vec::new();
    let broken = runs.iter().filter(|r| r.ending == Ending::Broken).count();
    let learned = if complete.is_empty() {
        notes.push("no run ended well: the figures come from broken runs and may be too low".to_owned());
        runs.iter().collect()
    } else {
        if broken > 0 {
            notes.push(format!("{broken} of {} runs failed and were not learned from", runs.len()));
        }
        complete
    };
    let sizes: std::collections::BTreeSet<u64> =
        learned.iter().filter_map(|r| r.input_bytes).map(|bytes| bytes as u64).collect();
    if options.input_bytes.is_none() && sizes.len() >= scale::FEWEST_SIZES {
        notes.push("the runs carry different input sizes: `--input SIZE` narrows the advice".to_owned());
    }
    let family = Family { runs, learned, options };
    let gpus = family.gpus();
    let advice = Advice {
        policy: options.policy,
        name: common_name(summaries),
        runs: runs.len(),
        runs_used: family.learned.len(),
        mean_wall_s: mean(family.values(|r| r.wall_s)),
        cores: family.cores(summaries),
        memory_bytes: family.memory(),
        vram_bytes: family.vram(&gpus),
        gpus,
        time_s: family.time(summaries),
        disk_bytes: family.disk(),
        present: present::present(summaries, runs),
        notes,
    };
    let nothing = [&advice.cores, &advice.memory_bytes, &advice.time_s].iter().all(|i| i.value.is_none());
    if nothing {
        return Err(Error::NoRuns { reason: "no run has CPU, memory or time figures".to_owned() });
    }
    Ok(advice)
}

fn common_name(summaries: &[Summary]) -> Option<String> {
    let first = summaries.first()?.run.name.clone()?;
    summaries.iter().all(|s| s.run.name.as_ref() == Some(&first)).then_some(first)
}

struct Family<'a> {
    runs: &'a [Run],
    learned: Vec<&'a Run>,
    options: &'a Options,
}

/// How one amount is named, shown and rounded.
struct Amount {
    noun: &'static str,
    show: fn(f64) -> String,
    round: fn(f64) -> u64,
    smallest: f64,
}

const MEMORY: Amount =
    Amount { noun: "peak", show: show_bytes, round: round_memory, smallest: SMALLEST_BYTES };
const TIME: Amount = Amount { noun: "time", show: show_seconds, round: round_seconds, smallest: 1e-3 };
const DISK: Amount =
    Amount { noun: "bytes written", show: show_bytes, round: round_memory, smallest: SMALLEST_BYTES };

impl Family<'_> {
    fn values(&self, pick: fn(&Run) -> Option<f64>) -> Vec<f64> {
        self.learned.iter().filter_map(|r| pick(r)).collect()
    }

    fn cores(&self, summaries: &[Summary]) -> Item {
        let Some(average) = mean(self.values(|r| r.cores_mean)) else {
            return Item::unknown("the summaries hold no CPU use");
        };
        let (value, rounding) = match self.options.policy {
            Policy::Simple => ((average.round_ties_even() as u64).max(1), "rounded"),
            // A twentieth of a core more is not worth a whole one.
            Policy::Risk { .. } => (((average - 0.05).ceil() as u64).max(1), "rounded up"),
        };
        let given = summaries.iter().map(|s| s.run.expected_cores).fold(0.0, f64::max);
        let bound = given > 0.0 && average >= 0.85 * given;
        let peak = self.values(|r| r.cores_max).into_iter().fold(0.0, f64::max);
        let unknown = if bound {
            Some(format!(
                "the runs kept all {given:.0} cores they had busy; whether they could use more is not known"
            ))
        } else if peak > value as f64 + 0.5 {
            Some(format!("bursts of up to {peak:.1} cores will take longer with {value}"))
        } else {
            None
        };
        Item {
            value: Some(value),
            need: Some(average),
            why: format!(
                "{average:.2} cores were busy on average over {}, {rounding}",
                count(self.learned.len())
            ),
            unknown,
            fit: None,
        }
    }

    fn memory(&self) -> Item {
        let values = self.values(|r| r.memory_peak);
        let mut item = self.bounded(&MEMORY, |r| r.memory_peak, &values);
        let reason = self.learned.iter().find_map(|r| r.memory_reason.clone());
        if values.is_empty() {
            item.unknown = Some(reason.map_or("the summaries hold no memory peak".to_owned(), |r| clean(&r)));
        } else {
            let sampled = self.values(|r| r.memory_sampled).into_iter().fold(0.0, f64::max);
            let bound = values.iter().copied().fold(0.0, f64::max);
            if bound > 1.25 * sampled {
                item.add_unknown(format!(
                    "between samples memory may have reached {} instead of the {} seen; the advice covers it",
                    show_bytes(bound),
                    show_bytes(sampled)
                ));
            }
            if let Some(reason) = reason {
                item.add_unknown(clean(&reason));
            }
        }
        self.raise_after_kill(
            item,
            &MEMORY,
            Ending::OutOfMemory,
            |r| r.memory_peak,
            "killed for want of memory",
        )
    }

    fn time(&self, summaries: &[Summary]) -> Item {
        let mut item = self.bounded(&TIME, |r| r.wall_s, &self.values(|r| r.wall_s));
        let hosts: std::collections::BTreeSet<&str> = summaries.iter().map(|s| s.run.host.as_str()).collect();
        item.add_unknown(match hosts.len() {
            0 | 1 => "another machine or another number of cores takes another time".to_owned(),
            many => format!("the runs come from {many} hosts; the spread includes their difference"),
        });
        self.raise_after_kill(item, &TIME, Ending::OutOfTime, |r| r.wall_s, "stopped by a time limit")
    }

    fn disk(&self) -> Item {
        let values = self.values(|r| r.disk_bytes);
        if !values.is_empty() && values.iter().all(|v| *v == 0.0) {
            return Item::exactly(0, "no run wrote to a file");
        }
        let mut item = self.bounded(&DISK, |r| r.disk_bytes, &values);
        if values.is_empty() {
            item.unknown = Some("the summaries do not say how much was written".to_owned());
        } else {
            item.add_unknown(
                "bytes written are an upper bound: what is rewritten, deleted or sent elsewhere needs less"
                    .to_owned(),
            );
        }
        item
    }

    fn gpus(&self) -> Item {
        let average = mean(self.values(|r| r.gpus_mean));
        let most = self.values(|r| r.gpus_max).into_iter().fold(0.0, f64::max);
        if self.learned.iter().any(|r| r.used_gpu()) {
            let touched = self.values(|r| r.gpus_touched).into_iter().fold(0.0, f64::max);
            // Devices in use cannot be merged: a job spread over four stays spread over four.
            let value = match self.options.policy {
                Policy::Simple => most.round_ties_even(),
                Policy::Risk { .. } => (most - 0.05).ceil().max(touched),
            };
            let why =
                format!("up to {most:.2} GPUs were busy at once, {:.2} on average", average.unwrap_or(0.0));
            return Item { need: Some(most), ..Item::exactly((value as u64).max(1), &why) };
        }
        match self.learned.iter().find_map(|r| r.gpu_reason.clone()) {
            Some(reason) => Item::unknown(&clean(&reason)),
            None if average.is_some() => Item::exactly(0, "no run used a GPU"),
            None => {
                let mut item = Item::exactly(0, "the runs saw no GPU");
                item.add_unknown("if GPUs were not measured, this is not known".to_owned());
                item
            }
        }
    }

    fn vram(&self, gpus: &Item) -> Item {
        let used: Vec<f64> = self.values(|r| r.vram_peak).into_iter().filter(|v| *v > 0.0).collect();
        match (used.is_empty(), gpus.value) {
            (true, Some(0)) => Item::exactly(0, "no run used a GPU"),
            (true, _) => Item::unknown("the summaries hold no GPU memory of the job"),
            (false, _) => self.bounded(&MEMORY, |r| r.vram_peak.filter(|v| *v > 0.0), &used),
        }
    }

    /// The policy's bound for an amount that must not be exceeded.
    fn bounded(&self, amount: &Amount, pick: fn(&Run) -> Option<f64>, values: &[f64]) -> Item {
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
    fn raise_after_kill(
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

impl Item {
    fn unknown(reason: &str) -> Item {
        let why = "not known".to_owned();
        Item { value: None, need: None, why, unknown: Some(reason.to_owned()), fit: None }
    }

    fn exactly(value: u64, why: &str) -> Item {
        Item { value: Some(value), need: Some(value as f64), why: why.to_owned(), unknown: None, fit: None }
    }

    fn add_unknown(&mut self, text: String) {
        self.unknown = Some(match self.unknown.take() {
            Some(before) if before != text => format!("{before}; {text}"),
            _ => text,
        });
    }
}

fn mean(values: Vec<f64>) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn count(runs: usize) -> String {
    if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") }
}

pub(super) fn percent(chance: f64) -> String {
    let percent = chance * 100.0;
    // As few digits as the number itself has: 1 %, 0.1 %, 2.5 %.
    let text = format!("{percent:.4}");
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The simple rules over the runs, for interfaces that speak the reference's language.
impl Advice {
    pub fn simple_rules(runs: &[Run]) -> policy::SimpleAdvice {
        let most = |pick: fn(&Run) -> Option<f64>| runs.iter().filter_map(pick).fold(0.0, f64::max);
        let average =
            |pick: fn(&Run) -> Option<f64>| mean(runs.iter().filter_map(pick).collect()).unwrap_or(0.0);
        policy::simple(policy::SimpleInput {
            cores_mean: average(|r| r.cores_mean),
            memory_peak_bytes: most(|r| r.memory_sampled),
            gpus_mean: average(|r| r.gpus_mean),
            gpus_max: most(|r| r.gpus_max),
            vram_peak_bytes: most(|r| r.vram_peak),
        })
    }
}
