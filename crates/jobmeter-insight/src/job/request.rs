//! What to ask for next time, task by task: a scheduler gives every task of a job the same, so the largest counts.

use super::{Job, Rank, RankState};
use crate::units::MIB;

/// On top of the largest peak that was seen.
const MARGIN: f64 = 1.2;
/// A task that uses less of a core than this besides whole ones needs no further core.
const PART_OF_A_CORE: f64 = 0.1;
/// What to add where the job did not end well.
pub const AT_LEAST: &str = "at least: not every rank ended well, so more may be needed";

/// What to ask a scheduler for.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Tasks of the job, those included that left no record.
    pub tasks: u64,
    /// Machines that they ran on.
    pub nodes: u64,
    /// Of the busiest task.
    pub cores_per_task: Option<u64>,
    /// Of the largest task, with a margin.
    pub memory_mib_per_task: Option<u64>,
    /// Of the task that used the most.
    pub gpus_per_task: Option<u64>,
    /// Not every rank ended well, so more may be needed.
    pub is_floor: bool,
}

impl Job {
    /// What each task needs; `None` for a job of one task.
    pub fn request(&self) -> Option<Request> {
        let tasks = self.ranks.len() + self.missing_ranks.len();
        if tasks < 2 {
            return None;
        }
        let peak_bytes = self.ranks.iter().filter_map(|rank| rank.peak_rss_bytes).max();
        let is_whole = self.missing_ranks.is_empty()
            && self.ranks.iter().all(|rank| matches!(rank.state, RankState::Finished));
        Some(Request {
            tasks: tasks as u64,
            nodes: self.nodes.len().max(1) as u64,
            cores_per_task: self.ranks.iter().filter_map(cores_used).max_by(f64::total_cmp).map(whole_cores),
            memory_mib_per_task: peak_bytes
                .map(|bytes| ((bytes as f64 * MARGIN) as u64).div_ceil(MIB).max(1)),
            gpus_per_task: self.ranks.iter().filter_map(|rank| rank.gpus_used).max().filter(|gpus| *gpus > 0),
            is_floor: !is_whole,
        })
    }
}

impl Request {
    fn tasks_per_node(&self) -> u64 {
        self.tasks.div_ceil(self.nodes)
    }

    /// Options of Slurm, without the number of nodes.
    pub fn slurm_options(&self) -> Vec<String> {
        let mut options =
            vec![format!("--ntasks={}", self.tasks), format!("--ntasks-per-node={}", self.tasks_per_node())];
        options.extend(self.cores_per_task.map(|cores| format!("--cpus-per-task={cores}")));
        let cores = self.cores_per_task.unwrap_or(1);
        options.extend(self.memory_mib_per_task.map(|mib| format!("--mem-per-cpu={}M", mib.div_ceil(cores))));
        options.extend(self.gpus_per_task.map(|gpus| format!("--gpus-per-task={gpus}")));
        options
    }

    /// What a node and the whole job then have; `None` where a part is not known.
    pub fn sums(&self) -> Option<String> {
        let (cores, mib) = (self.cores_per_task?, self.memory_mib_per_task?);
        let of = |tasks: u64| {
            let gpus = self.gpus_per_task.map_or(String::new(), |gpus| format!(", {} GPUs", tasks * gpus));
            format!("{} cores, {} MiB{gpus}", tasks * cores, tasks * mib)
        };
        let (node, all, nodes) = (of(self.tasks_per_node()), of(self.tasks), self.nodes);
        Some(format!("per node: {node}; the job on {nodes} nodes: {all}"))
    }

    /// Lines in Slurm's words.
    pub fn text(&self) -> String {
        let mut out = format!("\nper task: {}", self.slurm_options().join(" "));
        out += " (the busiest and the largest rank; 20 % more memory)\n";
        out.extend(self.sums().map(|sums| sums + "\n"));
        if self.is_floor {
            out += AT_LEAST;
            out += "\n";
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
