//! Was the machine the job's alone, or did others use it too? Compares the machine's use with the job's.

use crate::units::show_bytes;
use jobmeter_model::{Figures, Summary};
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Dedicated,
    Shared,
    /// Neither CPU nor memory of job and machine are both known.
    Unknown,
}

impl Verdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Dedicated => "dedicated",
            Verdict::Shared => "shared",
            Verdict::Unknown => "unknown",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Allocation {
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
    job_key: &'static str,
    system_key: &'static str,
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
            Shown::Bytes => format!("{} of the {}", show_bytes(job), show_bytes(system)),
            Shown::Of(unit, name) => format!("{:.2} of the {:.2} {name}", job / unit, system / unit),
        }
    }
}

const MIB: f64 = (1u64 << 20) as f64;

const CHECKS: [Check; 4] = [
    Check {
        what: "CPU",
        job_key: "cores_used_mean",
        system_key: "cores_used_mean",
        ratio: 1.25,
        absolute: 0.25,
        shown: Shown::Of(1.0, "cores"),
    },
    Check {
        what: "memory",
        job_key: "rss_bytes_mean",
        system_key: "memory_used_bytes_mean",
        ratio: 1.5,
        absolute: 512.0 * MIB,
        shown: Shown::Bytes,
    },
    Check {
        what: "GPU",
        job_key: "gpu_busy_ppm_mean",
        system_key: "gpu_busy_ppm_mean",
        ratio: 1.25,
        absolute: 0.2e6,
        shown: Shown::Of(1e6, "GPUs"),
    },
    Check {
        what: "GPU memory",
        job_key: "gpu_memory_bytes_mean",
        system_key: "gpu_memory_bytes_mean",
        ratio: 1.25,
        absolute: 512.0 * MIB,
        shown: Shown::Bytes,
    },
];

/// Others hold memory on every machine (kernel, services), so by the sound rule they must also hold a tenth
/// of it before that counts.
const MEMORY_SHARE_OF_OTHERS: f64 = 0.10;

pub fn allocation(summary: &Summary, rule: Rule) -> Allocation {
    let mut evidence = Vec::new();
    let (mut compared, mut shared) = (false, false);
    for check in &CHECKS {
        let (Some(job), Some(system)) =
            (number(&summary.combined, check.job_key), number(&summary.system, check.system_key))
        else {
            continue;
        };
        let is_core = check.what == "CPU" || check.what == "memory";
        compared |= is_core;
        let exceeds = check.exceeded(job, system, rule, number(&summary.system, "memory_total_bytes_max"));
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

fn number(figures: &Figures, key: &str) -> Option<f64> {
    figures.get(key)?.as_f64().filter(|value| value.is_finite())
}
