//! The machines of a job. Every rank's record describes its machine; of the ranks on one machine the one that looked the
//! longest is believed, so that nothing of a machine is counted twice.

use super::RankRun;
use jobmeter_model::{Figures, Metric, Stat};
use serde::Serialize;
use std::collections::BTreeMap;

/// One machine.
#[derive(Debug, Serialize)]
pub struct Node {
    /// Host name. Hostile text.
    pub name: String,
    /// Ranks that ran on it.
    pub ranks: usize,
    /// Cores of the machine.
    pub system_cores: u32,
    /// Cores that the ranks on it may use together.
    pub expected_cores: f64,
    /// CPU time of the job on it.
    pub cpu_ns: Option<u64>,
    /// Sum of the ranks' peaks: what they needed if all peaks came together.
    pub peak_rss_sum_bytes: Option<u64>,
    /// Of the machine as a whole.
    pub system: Figures,
    #[serde(skip)]
    pub(super) described_by: usize,
}

/// By name.
pub(super) fn of(runs: &[RankRun]) -> Vec<Node> {
    let mut by_host: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, run) in runs.iter().enumerate() {
        by_host.entry(&run.summary.run.host).or_default().push(index);
    }
    by_host.into_iter().map(|(name, members)| node(name, &members, runs)).collect()
}

fn node(name: &str, members: &[usize], runs: &[RankRun]) -> Node {
    let summaries = || members.iter().map(|index| &runs[*index].summary);
    let longest = members.iter().copied().max_by_key(|index| runs[*index].summary.run.wall_ns).unwrap_or(0);
    let system_cores = summaries().map(|summary| summary.run.system_cores).max().unwrap_or(0);
    let all = |metric, stat| {
        let values: Option<Vec<u64>> =
            summaries().map(|summary| summary.combined.whole(metric, stat)).collect();
        values.map(|values| values.into_iter().sum())
    };
    // Ranks that are bound have cores of their own; those that are not share all of the machine's.
    let wanted: f64 = summaries().map(|summary| summary.run.expected_cores).sum();
    let expected_cores = if system_cores > 0 { wanted.min(f64::from(system_cores)) } else { wanted };
    Node {
        name: name.to_owned(),
        ranks: members.len(),
        system_cores,
        expected_cores,
        cpu_ns: all(Metric::CpuNs, Stat::Total),
        peak_rss_sum_bytes: all(Metric::RssBytes, Stat::Max),
        system: runs[longest].summary.system.clone(),
        described_by: longest,
    }
}
