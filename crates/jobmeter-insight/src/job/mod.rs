//! Many ranks as one job: totals are sums over the ranks, peaks are taken at the same moment across nodes, a node is
//! counted once however many ranks run on it, and who is missing, was killed or held the others up is named.
//!
//! Moments of different nodes are compared by their wall clocks, corrected as far as those are known: see [`Clocks`].

mod clocks;
mod energy;
mod grid;
mod joined;
mod map;
mod nodes;
mod parts;
mod ranks;
mod request;
mod text;
mod total;

pub use clocks::{ClockMethod, Clocks, NodeClock, align};
pub use grid::{Grid, RankSeries};
pub use joined::{JoinPlan, JoinedNode, Recorder};
pub use map::{MAPPED, MapRow, MapRowBuilder, MapScale, RankMap};
pub use nodes::Node;
pub use ranks::{Imbalance, Rank, RankState};
pub use request::{AT_LEAST, Request};
pub use text::{balance, end, job_text, seff};

use jobmeter_model::{Figures, RunInfo, Sink, Summary};
use serde::Serialize;

/// One rank's part, as it was read.
#[derive(Debug, Clone)]
pub struct RankRun {
    /// Of the rank.
    pub summary: Summary,
    /// The record has no end yet, and its writer is alive here.
    pub is_running: bool,
}

impl RankRun {
    /// Keeps what merging needs: a thousand ranks' lists of cores and disks are let go.
    pub fn new(mut summary: Summary, is_running: bool) -> RankRun {
        for list in [&mut summary.cores, &mut summary.disks, &mut summary.mounts, &mut summary.networks] {
            *list = Vec::new();
        }
        summary.main = Figures::new();
        summary.descendants = Figures::new();
        RankRun { summary, is_running }
    }
}

/// The job as one.
#[derive(Debug, Serialize)]
pub struct Job {
    /// In the form of any run's summary: `combined` is the sum over all ranks.
    pub summary: Summary,
    /// The machines that it ran on.
    pub nodes: Vec<Node>,
    /// By rank.
    pub ranks: Vec<Rank>,
    /// Ranks that must have been there and left no record.
    pub missing_ranks: Vec<u32>,
    /// How unevenly the work was spread.
    pub imbalance: Imbalance,
    /// What each rank used over time, where it was read for that.
    #[serde(skip)]
    pub map: Option<RankMap>,
    /// How the clocks of the nodes were put together.
    pub clocks: Clocks,
    #[serde(skip)]
    grid: Grid,
}

impl Job {
    /// From the ranks' summaries and the sums of their series over time.
    pub fn merge(runs: &[RankRun], grid: Grid) -> Job {
        let mut ranks: Vec<Rank> = runs.iter().map(Rank::of).collect();
        let nodes = nodes::of(runs, &grid);
        let missing_ranks = ranks::missing(&ranks, world_size(runs));
        for node in &nodes {
            for (member, index) in node.members.iter().enumerate() {
                ranks[*index].node.clone_from(&node.name);
                ranks[*index].energy_joules = node.energy.joules_of(member);
            }
        }
        let imbalance = Imbalance::of(&ranks);
        let clocks = Clocks::of(runs, &nodes);
        let summary = total::summary(runs, &ranks, &nodes, &missing_ranks, &grid, &clocks);
        Job { summary, nodes, ranks, missing_ranks, imbalance, map: None, clocks, grid }
    }

    /// The sums over all ranks as a stream, as a run file would give it.
    pub fn replay(&self, sink: &mut dyn Sink) {
        self.grid.replay(sink);
    }
}

fn world_size(runs: &[RankRun]) -> Option<u32> {
    runs.iter().filter_map(|run| run.summary.run.job.as_ref()?.world_size).max()
}

/// When a run ended by the wall clock, as far as its record goes.
fn end_unix_ns(info: &RunInfo) -> u64 {
    info.started_unix_ns.saturating_add(info.wall_ns.unwrap_or(0))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

#[cfg(test)]
mod node_tests;
