//! What to ask for next time, task by task: a scheduler gives every task of a job the same, so the largest counts.

use super::{Job, Rank, RankState};
use crate::units::MIB;
use std::fmt::Write;

/// On top of the largest peak that was seen.
const MARGIN: f64 = 1.2;
/// A task that uses less of a core than this besides whole ones needs no further core.
const PART_OF_A_CORE: f64 = 0.1;

impl Job {
    /// Lines in Slurm's words; empty for a job of one task.
    pub fn request_text(&self) -> String {
        let tasks = self.ranks.len() + self.missing_ranks.len();
        if tasks < 2 {
            return String::new();
        }
        let cpus = self.ranks.iter().filter_map(cores_used).max_by(f64::total_cmp).map(whole_cores);
        let peak_bytes = self.ranks.iter().filter_map(|rank| rank.peak_rss_bytes).max();
        let memory_mib = peak_bytes.map(|bytes| ((bytes as f64 * MARGIN) as u64).div_ceil(MIB).max(1));
        let nodes = self.nodes.len().max(1);
        let per_node = tasks.div_ceil(nodes);
        let mut out = format!("\nper task: --ntasks={tasks} --ntasks-per-node={per_node}");
        if let Some(cpus) = cpus {
            let _ = write!(out, " --cpus-per-task={cpus}");
        }
        if let Some(mib) = memory_mib {
            let _ = write!(out, " --mem-per-cpu={}M", mib.div_ceil(cpus.unwrap_or(1)));
        }
        out += " (the busiest and the largest rank; 20 % more memory)\n";
        if let (Some(cpus), Some(mib)) = (cpus, memory_mib) {
            let (per_node, all) = (per_node as u64, tasks as u64);
            let _ = writeln!(
                out,
                "per node: {} cores, {} MiB; the job on {nodes} nodes: {} cores, {} MiB",
                per_node * cpus,
                per_node * mib,
                all * cpus,
                all * mib
            );
        }
        let is_whole = self.missing_ranks.is_empty()
            && self.ranks.iter().all(|rank| matches!(rank.state, RankState::Finished));
        if !is_whole {
            out += "at least: not every rank ended well, so more may be needed\n";
        }
        out
    }
}

/// On average over its time.
fn cores_used(rank: &Rank) -> Option<f64> {
    let wall_ns = rank.wall_ns.filter(|wall_ns| *wall_ns > 0)?;
    Some(rank.cpu_ns? as f64 / wall_ns as f64)
}

fn whole_cores(used: f64) -> u64 {
    ((used - PART_OF_A_CORE).ceil() as u64).max(1)
}
