//! Rank by rank: what each used, how it ended, and how evenly the work was spread.

use super::{RankRun, end_unix_ns};
use jobmeter_model::{Metric, Stat, Summary, VerdictKind};
use serde::Serialize;

/// How a rank stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RankState {
    /// Ended with exit code 0.
    Finished,
    /// Ended with another exit code.
    Failed,
    /// Ended by a signal, by memory or by a time limit.
    Killed,
    /// Its record grows still.
    Running,
    /// Its record has no end, and nobody writes it any more: jobmeter itself was killed with it.
    Unfinished,
}

/// One rank.
#[derive(Debug, Clone, Serialize)]
pub struct Rank {
    /// Its number, where the launcher gave one.
    pub rank: Option<u32>,
    /// The machine that it ran on.
    pub node: String,
    /// The run of this rank.
    pub run_id: String,
    /// How far it has come.
    pub state: RankState,
    /// One sentence on how it ended.
    pub verdict: String,
    /// Of its main process.
    pub exit_code: Option<i32>,
    /// The signal that ended its main process.
    pub signal: Option<i32>,
    /// When it began.
    pub started_unix_ns: u64,
    /// How long it took; `None` while it runs.
    pub wall_ns: Option<u64>,
    /// CPU time of the rank.
    pub cpu_ns: Option<u64>,
    /// Peak memory of the rank.
    pub peak_rss_bytes: Option<u64>,
    /// GPUs that it used, where that is known of all that it saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus_used: Option<u64>,
    /// Its part of its node's energy: an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_joules: Option<f64>,
    #[serde(skip)]
    pub(super) end_unix_ns: u64,
}

impl Rank {
    /// It ended well, or has not ended yet.
    pub fn is_fine(&self) -> bool {
        matches!(self.state, RankState::Finished | RankState::Running)
    }

    pub(super) fn of(run: &RankRun) -> Rank {
        let Summary { run: info, verdict, combined, .. } = &run.summary;
        let state = match (&verdict.kind, verdict.exit_code) {
            (VerdictKind::Running, _) => RankState::Running,
            (VerdictKind::Crashed, _) if run.is_running => RankState::Running,
            (VerdictKind::Crashed, _) => RankState::Unfinished,
            (VerdictKind::Exited, Some(0)) | (VerdictKind::Detached, _) => RankState::Finished,
            (VerdictKind::Exited, _) => RankState::Failed,
            _ => RankState::Killed,
        };
        Rank {
            rank: info.job.as_ref().and_then(|job| job.rank),
            node: info.host.clone(),
            run_id: info.id.clone(),
            state,
            verdict: verdict.text.clone(),
            exit_code: verdict.exit_code,
            signal: verdict.signal,
            started_unix_ns: info.started_unix_ns,
            wall_ns: info.wall_ns,
            cpu_ns: combined.whole(Metric::CpuNs, Stat::Total),
            peak_rss_bytes: combined.whole(Metric::RssBytes, Stat::Max),
            gpus_used: gpus_used(&run.summary),
            energy_joules: None,
            end_unix_ns: end_unix_ns(info),
        }
    }
}

/// The numbers from 0 that nobody has.
pub(super) fn missing(ranks: &[Rank], world_size: Option<u32>) -> Vec<u32> {
    /// A number of ranks that nobody runs is a mistake of the file, not a list to print.
    const MOST: u32 = 10_000_000;
    let mut here: Vec<u32> = ranks.iter().filter_map(|rank| rank.rank).collect();
    here.sort_unstable();
    let world_size = world_size.filter(|size| *size <= MOST).unwrap_or(0);
    (0..world_size).filter(|rank| here.binary_search(rank).is_err()).collect()
}

/// How evenly the ranks worked.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Imbalance {
    /// CPU time of the busiest rank over the mean; 1 is even.
    pub cpu_max_over_mean: Option<f64>,
    /// The part of the ranks' time together that the busiest rank's pace would have left idle.
    pub idle_ratio: Option<f64>,
    /// The rank that ended last.
    pub slowest_rank: Option<u32>,
    /// How long the ranks, on average, had ended before the last one did.
    pub mean_wait_at_end_ns: Option<u64>,
    /// Peak memory of the largest rank over the mean.
    pub memory_max_over_mean: Option<f64>,
}

impl Imbalance {
    pub(super) fn of(ranks: &[Rank]) -> Imbalance {
        let over_mean = |values: Option<Vec<u64>>| {
            let values = values.filter(|values| values.len() > 1)?;
            let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
            let max = *values.iter().max()? as f64;
            (mean > 0.0).then_some(max / mean)
        };
        let cpu = over_mean(ranks.iter().map(|rank| rank.cpu_ns).collect());
        let is_over = |rank: &Rank| !matches!(rank.state, RankState::Running | RankState::Unfinished);
        let last = ranks.iter().filter(|rank| is_over(rank)).max_by_key(|rank| rank.end_unix_ns);
        let waits = last.filter(|_| ranks.len() > 1 && ranks.iter().all(is_over)).map(|last| {
            let waited = ranks.iter().map(|rank| u128::from(last.end_unix_ns - rank.end_unix_ns));
            (waited.sum::<u128>() / ranks.len() as u128) as u64
        });
        Imbalance {
            cpu_max_over_mean: cpu,
            idle_ratio: cpu.map(|over| 1.0 - 1.0 / over),
            slowest_rank: last.filter(|_| ranks.len() > 1).and_then(|rank| rank.rank),
            mean_wait_at_end_ns: waits,
            memory_max_over_mean: over_mean(ranks.iter().map(|rank| rank.peak_rss_bytes).collect()),
        }
    }
}

fn gpus_used(summary: &Summary) -> Option<u64> {
    let used: Option<Vec<bool>> = summary
        .gpus
        .iter()
        .map(|gpu| match gpu.facts.get("used").map(String::as_str) {
            Some("yes") => Some(true),
            Some("no") => Some(false),
            _ => None,
        })
        .collect();
    let used = used.filter(|used| !used.is_empty())?;
    Some(used.into_iter().filter(|is_used| *is_used).count() as u64)
}
