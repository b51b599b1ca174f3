//! The machines of a job. At each moment the record of one rank is believed, so that nothing of a machine is counted
//! twice: where ranks agreed who records it, there is only one; otherwise as few of them as cover the time.

use super::energy::Energy;
use super::joined::Recorder;
use super::{Grid, RankRun};
use jobmeter_model::summary::EntityFigures;
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
    /// The job's part of the machine's energy: an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_joules: Option<f64>,
    /// Whose records the figures of the machine are from, one after the other.
    pub recorders: Vec<Recorder>,
    /// The longest time between the last row of a recorder and the first of the next. Counters do not miss it.
    pub longest_gap_ns: u64,
    /// Of the machine as a whole.
    pub system: Figures,
    #[serde(skip)]
    pub(super) members: Vec<usize>,
    #[serde(skip)]
    pub(super) described_by: usize,
    /// Device figures that are better than those of the rank that describes it.
    #[serde(skip)]
    pub(super) gpus: Vec<EntityFigures>,
    #[serde(skip)]
    pub(super) energy: Energy,
}

/// By name.
pub(super) fn of(runs: &[RankRun], grid: &Grid) -> Vec<Node> {
    let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, name) in names(runs).into_iter().enumerate() {
        by_name.entry(name).or_default().push(index);
    }
    let mut nodes: Vec<Node> =
        by_name.into_iter().map(|(name, members)| node(name, members, runs, grid)).collect();
    for (index, node) in nodes.iter_mut().enumerate() {
        let joined = grid.joined.iter().find(|joined| joined.node == index);
        node.energy = match joined {
            Some(joined) => Energy::split(joined, &node.members, runs, grid),
            None => Energy::of_gpus(&runs[node.described_by].summary.gpus, &node.members, runs),
        };
        node.energy_joules = node.energy.joules();
        if let Some(joined) = joined {
            node.system = joined.system.clone();
            node.gpus = joined.gpus.clone();
        }
    }
    nodes
}

/// The node of each run: its host, unless that is the name of a container. Containers of one machine are one node, by
/// the boot that they share, and so is a rank beside them that is in none.
fn names(runs: &[RankRun]) -> Vec<String> {
    let machine = |run: &RankRun| run.summary.run.job.as_ref()?.machine.clone();
    let mut hosts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (run, machine) in runs.iter().filter_map(|run| Some((run, machine(run)?))) {
        let (host, is_contained) = (run.summary.run.host.as_str(), machine.is_contained);
        let known = hosts.entry(machine.boot).or_default();
        match is_contained {
            false if !known.contains(&host) => known.push(host),
            _ => {}
        }
    }
    // By boot and by the scheduler's word: it may have several nodes on one machine.
    let mut containers: BTreeMap<(String, Option<String>), String> = BTreeMap::new();
    let name = |run: &RankRun| {
        let host = run.summary.run.host.clone();
        match machine(run).filter(|machine| machine.is_contained && !machine.boot.is_empty()) {
            None => host,
            Some(machine) => match hosts[&machine.boot].as_slice() {
                [only] => (*only).to_owned(),
                _ => {
                    let given = run.summary.run.job.as_ref().and_then(|job| job.node.clone());
                    let first = given.clone().unwrap_or(host);
                    containers.entry((machine.boot, given)).or_insert(first).clone()
                }
            },
        }
    };
    runs.iter().map(name).collect()
}

fn node(name: String, members: Vec<usize>, runs: &[RankRun], grid: &Grid) -> Node {
    let summaries = || members.iter().map(|index| &runs[*index].summary);
    let recorders = recorders(&members, runs, grid);
    let gaps = recorders.windows(2).map(|pair| pair[1].from_unix_ns.saturating_sub(pair[0].to_unix_ns));
    let longest_gap_ns = gaps.max().unwrap_or(0);
    let length_ns = |recorder: &&Recorder| recorder.to_unix_ns - recorder.from_unix_ns;
    // A run too short for two rows describes its machine as well.
    let longest = recorders.iter().max_by_key(length_ns).map(|recorder| recorder.run);
    let longest = longest
        .or_else(|| members.iter().copied().max_by_key(|index| runs[*index].summary.run.wall_ns))
        .unwrap_or(0);
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
        name,
        ranks: members.len(),
        system_cores,
        expected_cores,
        cpu_ns: all(Metric::CpuNs, Stat::Total),
        peak_rss_sum_bytes: all(Metric::RssBytes, Stat::Max),
        energy_joules: None,
        recorders,
        longest_gap_ns,
        system: runs[longest].summary.system.clone(),
        members,
        described_by: longest,
        gpus: Vec::new(),
        energy: Energy::default(),
    }
}

/// As few ranks as cover the time in which any of them recorded the machine, in order of time.
fn recorders(members: &[usize], runs: &[RankRun], grid: &Grid) -> Vec<Recorder> {
    let mut spans: Vec<Recorder> = members
        .iter()
        .filter_map(|index| {
            let run = &runs[*index];
            let (first_ns, last_ns) = grid.part(run)?.machine_ns?;
            let info = &run.summary.run;
            let at = |t_ns: u64| info.started_unix_ns.saturating_add(t_ns);
            Some(Recorder {
                rank: info.job.as_ref().and_then(|job| job.rank),
                run_id: info.id.clone(),
                from_unix_ns: at(first_ns),
                to_unix_ns: at(last_ns),
                run: *index,
            })
        })
        .collect();
    spans.sort_by_key(|span| span.from_unix_ns);
    let mut chosen: Vec<Recorder> = Vec::new();
    let mut spans = spans.into_iter().peekable();
    while let Some(first) = spans.next() {
        let until_ns = chosen.last().map_or(first.from_unix_ns, |last| last.to_unix_ns);
        // Of those that were there at that moment, the one that went on the longest.
        let mut best = first;
        while let Some(next) = spans.next_if(|next| next.from_unix_ns <= until_ns.max(best.from_unix_ns)) {
            if next.to_unix_ns > best.to_unix_ns {
                best = next;
            }
        }
        if chosen.last().is_none_or(|last| best.to_unix_ns > last.to_unix_ns) {
            chosen.push(best);
        }
    }
    chosen
}
