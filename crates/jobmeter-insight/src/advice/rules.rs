//! From the evidence of the runs to amounts, by the chosen policy.

use super::amount::{DISK, MEMORY, TIME};
use super::evidence::{Ending, Run};
use super::{Advice, Item, Options, present};
use crate::policy::{self, Policy, scale};
use crate::units::show_bytes;
use crate::{Error, error::clean};
use jobmeter_model::format::{Style, format};
use jobmeter_model::{Summary, Unit};

pub(super) fn advise(summaries: &[Summary], runs: &[Run], options: &Options) -> Result<Advice, Error> {
    let complete: Vec<&Run> = runs.iter().filter(|r| r.ending == Ending::Complete).collect();
    let mut notes = Vec::new();
    let broken = runs.iter().filter(|r| r.ending == Ending::Broken).count();
    let is_floor = complete.is_empty();
    let learned = if is_floor {
        notes.push(floor_note(runs));
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
    notes.extend(spare_gpus(summaries, &gpus));
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
        is_floor,
        notes,
    };
    let nothing = [&advice.cores, &advice.memory_bytes, &advice.time_s].iter().all(|i| i.value.is_none());
    if nothing {
        return Err(Error::NoRuns { reason: "no run has CPU, memory or time figures".to_owned() });
    }
    Ok(advice)
}

/// Cores where the word stands beside the number.
fn bare(cores: f64) -> String {
    format(cores, Unit::Cores, Style::Bare)
}

/// No run ended well: what they used is the least that a whole one needs.
fn floor_note(runs: &[Run]) -> String {
    let how = match runs {
        [only] => format!("the run {}", only.trouble.as_deref().unwrap_or("did not end well")),
        _ => format!("none of {} runs ended well", runs.len()),
    };
    format!("{how}: a whole run may need more, each amount is a floor")
}

fn common_name(summaries: &[Summary]) -> Option<String> {
    let first = summaries.first()?.run.name.clone()?;
    summaries.iter().all(|s| s.run.name.as_ref() == Some(&first)).then_some(first)
}

/// The runs of one job.
pub(super) struct Family<'a> {
    pub(super) runs: &'a [Run],
    /// Those that say what a whole run needs.
    pub(super) learned: Vec<&'a Run>,
    pub(super) options: &'a Options,
}

impl Family<'_> {
    fn values(&self, pick: fn(&Run) -> Option<f64>) -> Vec<f64> {
        self.learned.iter().filter_map(|r| pick(r)).collect()
    }

    fn cores(&self, summaries: &[Summary]) -> Item {
        let Some(average) = mean(self.values(|r| r.cores_mean)) else {
            return Item::unknown("the summaries hold no CPU use");
        };
        let busy = mean(self.values(|r| r.cores_busy)).filter(|busy| *busy > average);
        let (value, rounding) = match (self.options.policy, busy) {
            (Policy::Simple, _) => ((average.round_ties_even() as u64).max(1), "rounded"),
            // What the job fills while it works, not what is left of it over pauses. Small bursts are not worth a core.
            (Policy::Risk { .. }, Some(busy)) => (((busy - 0.2).ceil() as u64).max(1), "rounded up"),
            // A twentieth of a core more is not worth a whole one.
            (Policy::Risk { .. }, None) => (((average - 0.05).ceil() as u64).max(1), "rounded up"),
        };
        let value = match self.options.policy {
            Policy::Simple => value,
            Policy::Risk { .. } => value.max(((average - 0.05).ceil() as u64).max(1)),
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
            why: match busy.filter(|_| self.options.policy != Policy::Simple) {
                Some(busy) => format!(
                    "{} cores were in use when the job was busy ({} on average over {}), {rounding}",
                    bare(busy),
                    bare(average),
                    count(self.learned.len())
                ),
                None => format!(
                    "{} cores were busy on average over {}, {rounding}",
                    bare(average),
                    count(self.learned.len())
                ),
            },
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
            let widest = self
                .learned
                .iter()
                .max_by(|a, b| a.memory_peak.unwrap_or(0.0).total_cmp(&b.memory_peak.unwrap_or(0.0)));
            if let Some(source) = widest.and_then(|run| run.memory_source.as_deref()) {
                item.why += &format!("; {}", clean(source));
            }
            let unmapped = widest.map_or(0.0, |run| run.memory_unmapped);
            if unmapped > 0.02 * bound {
                item.why += &format!(
                    "; {} of it in tmpfs, memfd or shared segments that no process maps",
                    show_bytes(unmapped)
                );
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
            return Item::exactly(0, "no run wrote to a file that was there for long");
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
            (false, Some(2..))
                if self.options.policy != Policy::Simple && self.runs.iter().any(|run| run.vram_is_sum) =>
            {
                Item::unknown("the summaries hold the GPU memory of all cards together, not of one")
            }
            (false, _) => self.bounded(&MEMORY, |r| r.vram_peak.filter(|v| *v > 0.0), &used),
        }
    }
}

impl Item {
    pub(super) fn unknown(reason: &str) -> Item {
        let why = "not known".to_owned();
        Item { value: None, need: None, why, unknown: Some(reason.to_owned()), fit: None }
    }

    pub(super) fn exactly(value: u64, why: &str) -> Item {
        Item { value: Some(value), need: Some(value as f64), why: why.to_owned(), unknown: None, fit: None }
    }

    pub(super) fn add_unknown(&mut self, text: String) {
        self.unknown = Some(match self.unknown.take() {
            Some(before) if before != text => format!("{before}; {text}"),
            _ => text,
        });
    }
}

fn mean(values: Vec<f64>) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

pub(super) fn count(runs: usize) -> String {
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
    /// The rules of thumb of the simple policy, over these runs.
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

/// What became of the GPUs in the run that used the most of them, where that agrees with the advice.
fn spare_gpus(summaries: &[Summary], gpus: &Item) -> Option<String> {
    let verdicts = summaries.iter().filter_map(crate::gpus::verdict);
    let verdict = verdicts.max_by_key(|verdict| verdict.used + verdict.untold)?;
    let agrees = verdict.ask_for.map(|count| count as u64) == gpus.value;
    (agrees || verdict.ask_for.is_none()).then(|| verdict.line())
}
