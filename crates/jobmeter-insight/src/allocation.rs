//! Was the machine the job's alone, or did others use it too? Compares the machine's use with the job's.

use jobmeter_model::format::{Style, format};
use jobmeter_model::{Metric, Scope, Stat, Summary, Unit};
use serde::Serialize;

/// Whether the machine was the job's alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Others used next to nothing.
    Dedicated,
    /// Others used a good part of it.
    Shared,
    /// Neither CPU nor memory of job and machine are both known.
    Unknown,
}

impl Verdict {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Dedicated => "dedicated",
            Verdict::Shared => "shared",
            Verdict::Unknown => "unknown",
        }
    }
}

/// How the machine was shared, and what that rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Allocation {
    /// The verdict.
    pub allocation: Verdict,
    /// What was compared, one sentence each.
    pub evidence: Vec<String>,
}

/// How the two thresholds of a check combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Others count once they exceed a share of the job's use and also an absolute amount: a background
    /// daemon does not make a machine shared.
    Both,
    /// The rule of the reference tracker: either threshold is enough.
    Either,
}

struct Check {
    what: &'static str,
    job: (Metric, Stat),
    system: (Metric, Stat),
    ratio: f64,
    absolute: f64,
    shown: Shown,
}

/// How a figure stands in the sentence.
#[derive(Clone, Copy)]
enum Shown {
    Bytes,
    /// Divided by the number, then named.
    Of(f64, &'static str),
}

impl Shown {
    fn pair(self, job: f64, system: f64) -> String {
        match self {
            Shown::Bytes => {
                let bytes = |value| format(value, Unit::Bytes, Style::Full);
                format!("{} of the {}", bytes(job), bytes(system))
            }
            Shown::Of(unit, name) => format!("{:.2} of the {:.2} {name}", job / unit, system / unit),
        }
    }
}

const MIB: f64 = (1u64 << 20) as f64;

const CHECKS: [Check; 4] = [
    Check {
        what: "CPU",
        job: (Metric::CpuNs, Stat::RateMean),
        system: (Metric::CpuNs, Stat::RateMean),
        ratio: 1.25,
        absolute: 0.25,
        shown: Shown::Of(1.0, "cores"),
    },
    Check {
        what: "memory",
        job: (Metric::RssBytes, Stat::Mean),
        system: (Metric::MemoryUsedBytes, Stat::Mean),
        ratio: 1.5,
        absolute: 512.0 * MIB,
        shown: Shown::Bytes,
    },
    Check {
        what: "GPU",
        job: (Metric::GpuBusyPpm, Stat::Mean),
        system: (Metric::GpuBusyPpm, Stat::Mean),
        ratio: 1.25,
        absolute: 0.2e6,
        shown: Shown::Of(1e6, "GPUs"),
    },
    Check {
        what: "GPU memory",
        job: (Metric::GpuMemoryBytes, Stat::Mean),
        system: (Metric::GpuMemoryBytes, Stat::Mean),
        ratio: 1.25,
        absolute: 512.0 * MIB,
        shown: Shown::Bytes,
    },
];

/// Others hold memory on every machine (kernel, services), so by the sound rule they must also hold a tenth
/// of it before that counts.
const MEMORY_SHARE_OF_OTHERS: f64 = 0.10;

/// Judges by the job's part in what the machine used.
pub fn allocation(summary: &Summary, rule: Rule) -> Allocation {
    let mut evidence = Vec::new();
    let (mut compared, mut shared) = (false, false);
    for check in &CHECKS {
        let (Some(job), Some(system)) =
            (number(summary, Scope::Combined, check.job), number(summary, Scope::System, check.system))
        else {
            continue;
        };
        let is_core = check.what == "CPU" || check.what == "memory";
        compared |= is_core;
        let memory_total = number(summary, Scope::System, (Metric::MemoryTotalBytes, Stat::Max));
        let exceeds = check.exceeded(job, system, rule, memory_total);
        shared |= exceeds;
        if is_core || system > 0.0 {
            evidence.push(format!(
                "{}: the job used {} in use on average{}",
                check.what,
                check.shown.pair(job, system),
                if exceeds { "; others used the rest" } else { "" }
            ));
        }
    }
    let allocation = match (shared, compared) {
        (true, _) => Verdict::Shared,
        (false, true) => Verdict::Dedicated,
        (false, false) => Verdict::Unknown,
    };
    if allocation == Verdict::Unknown {
        evidence.push("the summary has no use of the whole machine to compare with".to_owned());
    }
    Allocation { allocation, evidence }
}

impl Check {
    fn exceeded(&self, job: f64, system: f64, rule: Rule, memory_total: Option<f64>) -> bool {
        let over_ratio = system > job * self.ratio;
        let over_absolute = system > job + self.absolute;
        match rule {
            Rule::Either => over_ratio || over_absolute,
            Rule::Both => {
                let others_matter = self.what != "memory"
                    || memory_total.is_none_or(|total| system - job > total * MEMORY_SHARE_OF_OTHERS);
                over_ratio && over_absolute && others_matter
            }
        }
    }
}

fn number(summary: &Summary, scope: Scope, (metric, stat): (Metric, Stat)) -> Option<f64> {
    summary.get(scope, metric, stat)?.as_f64().filter(|value| value.is_finite())
}
