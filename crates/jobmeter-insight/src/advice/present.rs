//! What the runs were given, and how much of it they used.

use super::evidence::Run;
use crate::units::show_bytes;
use jobmeter_model::format::grouped;
use jobmeter_model::{Metric, Stat, Summary};
use serde::Serialize;

/// What the runs were given, and how much of it they used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Present {
    /// The memory limit that they ran under, bytes.
    pub memory_bytes: Option<u64>,
    /// The cores that they were given.
    pub cores: Option<f64>,
    /// The limits are the job's own; otherwise they are what the machine has.
    pub is_asked_for: bool,
    /// The largest peak of memory, bytes.
    pub used_memory_bytes: Option<u64>,
    /// The highest mean of cores in use.
    pub used_cores: Option<f64>,
    /// How many times more than used was given: 5.8 means 5.8 times.
    pub memory_times_used: Option<f64>,
    /// How many times the cores that were used they were given.
    pub cores_times_used: Option<f64>,
    /// One sentence: asked for 68.7 GB and 16 cores, used 11.8 GB and 3.1 cores.
    pub text: String,
}

/// Limits of the latest run against the most that any run used.
pub(super) fn present(summaries: &[Summary], runs: &[Run]) -> Option<Present> {
    let latest = summaries.iter().max_by_key(|s| s.run.started_unix_ns)?;
    let limits = &latest.limits;
    let machine_memory = latest.system.whole(Metric::MemoryTotalBytes, Stat::Max);
    let machine_cores = f64::from(latest.run.system_cores);
    let asked_memory = limits.cgroup_memory_bytes.filter(|l| machine_memory.is_none_or(|m| *l < m));
    let asked_cores =
        [limits.cgroup_cores, limits.affinity_cores.map(f64::from), Some(latest.run.expected_cores)]
            .into_iter()
            .flatten()
            .filter(|cores| *cores > 0.0 && (machine_cores == 0.0 || *cores < machine_cores))
            .min_by(f64::total_cmp);
    let most = |value: fn(&Run) -> Option<f64>| runs.iter().filter_map(value).max_by(f64::total_cmp);
    let used_memory = most(|r| r.memory_sampled);
    let used_cores = most(|r| r.cores_mean);
    let memory_bytes = asked_memory.or(machine_memory);
    let cores = asked_cores.or(Some(machine_cores).filter(|c| *c > 0.0));
    if memory_bytes.is_none() && cores.is_none() {
        return None;
    }
    let times = |given: Option<f64>, used: Option<f64>| {
        given.zip(used).filter(|(_, used)| *used > 0.0).map(|(given, used)| given / used)
    };
    let is_asked_for = asked_memory.is_some() || asked_cores.is_some();
    let given = join(memory_bytes.map(|b| b as f64), cores);
    let used = join(used_memory, used_cores);
    Some(Present {
        memory_bytes,
        cores,
        is_asked_for,
        used_memory_bytes: used_memory.map(|b| b as u64),
        used_cores,
        memory_times_used: times(memory_bytes.map(|b| b as f64), used_memory),
        cores_times_used: times(cores, used_cores),
        text: format!("{} {given}, used {used}", if is_asked_for { "asked for" } else { "had a machine of" }),
    })
}

fn join(memory: Option<f64>, cores: Option<f64>) -> String {
    let memory = memory.map(show_bytes);
    let cores = cores.map(|c| match c.fract() == 0.0 || c >= 100.0 {
        true => format!("{} cores", grouped(c)),
        false => format!("{c:.1} cores"),
    });
    match (memory, cores) {
        (Some(memory), Some(cores)) => format!("{memory} and {cores}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => "an unknown amount".to_owned(),
    }
}
