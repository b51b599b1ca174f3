//! Which job a run belongs to: what the scheduler says, or what the user says.

use jobmeter_host::JobEnvironment;
use jobmeter_model::JobInfo;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct JobArgs {
    /// Job that the run is a part of; without it the scheduler's or launcher's
    #[arg(long, value_name = "ID", value_parser = parse_id, help_heading = "Job")]
    job: Option<String>,
    /// Rank of the run in the job, from 0
    #[arg(long, value_name = "R", requires = "job", help_heading = "Job")]
    rank: Option<u32>,
    /// Ranks of the job in all
    #[arg(long, value_name = "N", requires = "job", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Job")]
    world: Option<u32>,
}

fn parse_id(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a job needs a name; write one such as 4711".to_owned()),
        id if id.contains('/') => {
            Err(format!("'{id}' holds a slash, behind which a rank is named; leave it out"))
        }
        id => Ok(id.to_owned()),
    }
}

impl JobArgs {
    /// The id behind `slurm:`, for a job that is to be found on this node; an error names what would be right.
    pub(crate) fn scheduled(&self) -> Option<Result<&str, String>> {
        let text = self.job.as_deref()?;
        let is_id = |id: &&str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        Some(text.strip_prefix("slurm:").filter(is_id).ok_or_else(|| {
            format!(
                "the processes of job '{}' are found by Slurm's control groups only; write slurm: and a number, or name a PID",
                text.escape_debug()
            )
        }))
    }

    /// For a job that we start, which has our environment.
    pub(crate) fn of_ours(&self) -> Option<JobInfo> {
        self.amend(jobmeter_host::job_of_this_process())
    }

    /// For a process that runs already: the environment that it was started with.
    pub(crate) fn of_process(&self, pid: i32) -> Option<JobInfo> {
        let bytes = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let pairs = bytes.split(|byte| *byte == 0).filter_map(|entry| {
            let at = entry.iter().position(|byte| *byte == b'=')?;
            Some((&entry[..at], &entry[at + 1..]))
        });
        // Whose child it is says nothing of the ranks beside it: they may have been started by others.
        self.amend(JobEnvironment::read(pairs).job(&|| format!("process-{pid}")))
    }

    fn amend(&self, found: Option<JobInfo>) -> Option<JobInfo> {
        let Some(id) = &self.job else { return found };
        // The process says more of its job than the words by which it was looked for.
        if found.as_ref().is_some_and(|found| *id == format!("{}:{}", found.scheduler, found.id)) {
            return found;
        }
        let found = found.unwrap_or_default();
        let (scheduler, id) = match self.scheduled() {
            Some(Ok(id)) => ("slurm", id),
            _ => ("user", id.as_str()),
        };
        Some(JobInfo {
            scheduler: scheduler.to_owned(),
            id: id.to_owned(),
            step: None,
            rank: self.rank.or(found.rank),
            world_size: self.world.or(found.world_size),
            ..found
        })
    }
}
