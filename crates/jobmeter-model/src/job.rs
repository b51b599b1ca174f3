//! Which job of many processes a run is a part of.

use serde::{Deserialize, Serialize};

/// The place of a run in a job that a scheduler or a launcher started, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobInfo {
    /// Who gave the identifier: `slurm`, `flux`, `lsf`, `pbs`, `sge`, `htcondor`, `kubernetes`, `aws-batch`, `ray`,
    /// `dask`, `open-mpi`, `pmix`, `mpich`, `torchrun`, or `user` for `--job`.
    pub scheduler: String,
    /// The same for all ranks of one job. Hostile text.
    pub id: String,
    /// The step of the job, as the scheduler numbers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The index in an array of jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array_index: Option<u64>,
    /// From 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// From 0, among the ranks of one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_rank: Option<u32>,
    /// How many ranks there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world_size: Option<u32>,
    /// As the scheduler calls the node; the host's own name is in the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// How often the job was started before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The machine of a rank that is one of many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<RankMachine>,
}

/// The machine that a rank runs on, told apart from others, and whether its ranks share the work of recording it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankMachine {
    /// The beginning of the kernel's boot id: the same for all containers of a machine, another after a restart.
    pub boot: String,
    /// The rank is in a PID namespace of its own: its host name may be that of a container.
    #[serde(default)]
    pub is_contained: bool,
    /// One rank on the node records the machine, the GPUs' devices and package energy; this run holds them only from
    /// and to the moments that its notes name (see [`crate::event::NODE_RECORDER_NOTE`]). Otherwise it holds them all the
    /// time.
    #[serde(default)]
    pub is_shared: bool,
    /// The file server that holds the record, as it was mounted, where it stamps files with its own clock; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub store_server: String,
    /// How the server's clock stood to that of the machine: when the record was made, and now and then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub store_times: Vec<StoreTime>,
}

/// The server stamped a file between two readings of the machine's wall clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreTime {
    /// Before the call.
    pub before_unix_ns: u64,
    /// After it.
    pub after_unix_ns: u64,
    /// The server's time, in steps of up to 10 ms.
    pub stamp_unix_ns: u64,
}

impl JobInfo {
    /// Whether the run is one of several that belong together.
    pub fn is_rank_of_many(&self) -> bool {
        self.rank.is_some() && self.world_size != Some(1)
    }

    /// The same for all runs that are merged into one: job, step, array index and attempt.
    pub fn group(&self) -> String {
        let mut group = format!("{}-{}", self.scheduler, self.id);
        for (mark, part) in [("s", self.step.clone()), ("a", self.array_index.map(|index| index.to_string()))]
        {
            if let Some(part) = part {
                group += &format!(".{mark}{part}");
            }
        }
        if let Some(attempt) = self.attempt.filter(|attempt| *attempt > 0) {
            group += &format!(".r{attempt}");
        }
        group
    }

    /// Whether the text behind `job:` means this job: its identifier, or scheduler and identifier, with a step or
    /// without.
    pub fn is_named(&self, name: &str) -> bool {
        let name = name.strip_prefix(&format!("{}:", self.scheduler)).unwrap_or(name);
        let with = |separator: &str, part: Option<String>| {
            part.is_some_and(|part| name == format!("{}{separator}{part}", self.id))
        };
        name == self.id
            || with(".", self.step.clone())
            || with("_", self.array_index.map(|index| index.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_named_by_its_number_with_scheduler_and_step_or_without() {
        let job = JobInfo {
            scheduler: "slurm".into(),
            id: "4711".into(),
            step: Some("0".into()),
            rank: Some(3),
            ..JobInfo::default()
        };
        for name in ["4711", "slurm:4711", "4711.0", "slurm:4711.0"] {
            assert!(job.is_named(name), "{name}");
        }
        for name in ["471", "4711.1", "pbs:4711", "", "47110"] {
            assert!(!job.is_named(name), "{name}");
        }
        assert_eq!(job.group(), "slurm-4711.s0");
        assert!(job.is_rank_of_many());
        assert!(!JobInfo { world_size: Some(1), ..job }.is_rank_of_many());
    }
}
