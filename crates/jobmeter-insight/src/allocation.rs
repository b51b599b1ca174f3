//! Was the machine the job's alone, or did others use it too? Compares the machine's use with the job's.

use jobmeter_core::{Figures, Summary};
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
    /// Divides a figure into the unit of the sentence.
    unit: f64,
    unit_name: &'static str,
}

const MIB: f64 = (1u64 << 20) as f64;

const CHECKS: [Check; 4] = [
    Check {
        what: "CPU",
        job_key: "cores_used_mean",
        system_key: "cores_used_mean",
        ratio: 1.25,
        absolute: 0.25,
        unit: 1.0,
        unit_name: "cores",
    },
    Check {
        what: "memory",
        job_key: "rss_bytes_mean",
        system_key: "memory_used_bytes_mean",
        ratio: 1.5,
        absolute: 512.0 * MIB,
        unit: MIB,
        unit_name: "MiB",
    },
    Check {
        what: "GPU",
        job_key: "gpu_busy_ppm_mean",
        system_key: "gpu_busy_ppm_mean",
        ratio: 1.25,
        absolute: 0.2e6,
        unit: 1e6,
        unit_name: "GPUs",
    },
    Check {
        what: "GPU memory",
        job_key: "gpu_memory_bytes_mean",
        system_key: "gpu_memory_bytes_mean",
        ratio: 1.25,
        absolute: 512.0 * MIB,
        unit: MIB,
        unit_name: "MiB",
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
                "{}: the job used {:.2} of the {:.2} {} in use on average{}",
                check.what,
                job / check.unit,
                system / check.unit,
                check.unit_name,
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
