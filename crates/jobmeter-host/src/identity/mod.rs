//! Which job this process is a rank of: the scheduler's number for the job and the launcher's number for the rank, told
//! from the environment. A pure function: the environment comes in, nothing else is looked at.
//!
//! A scheduler (Slurm, PBS …) says which job it is; a launcher (srun, mpirun, torchrun …) says which rank. Both may
//! speak: `mpirun` inside a Slurm job has Slurm's job number and Open MPI's ranks. Of several launchers the innermost
//! counts, which comes first in [`LAUNCHERS`].

mod tables;

use jobmeter_model::job::JobInfo;
use std::collections::HashMap;
use tables::{LAUNCHERS, Launcher, SCHEDULERS, Scheduler};

/// An identity, not a document.
const LONGEST_VALUE: usize = 128;

/// The variables that say something about the job, out of one pass over an environment.
#[derive(Debug, Default)]
pub struct JobEnvironment {
    values: HashMap<&'static str, String>,
}

impl JobEnvironment {
    /// Takes what matters out of the pairs; everything else, secrets among it, is passed over.
    pub fn read<K: AsRef<[u8]>, V: AsRef<[u8]>>(pairs: impl IntoIterator<Item = (K, V)>) -> JobEnvironment {
        let mut found = JobEnvironment::default();
        for (name, value) in pairs {
            let (name, value) = (name.as_ref(), value.as_ref());
            // Most names fall out by their first letter.
            if value.is_empty() || !tables::INITIALS.contains(&name.first().copied().unwrap_or(0)) {
                continue;
            }
            if let Some(known) = tables::variables().find(|known| known.as_bytes() == name) {
                let text = String::from_utf8_lossy(value);
                found.values.insert(known, text.trim().chars().take(LONGEST_VALUE).collect());
            }
        }
        found
    }

    fn get(&self, names: &[&'static str]) -> Option<&str> {
        names
            .iter()
            .find_map(|name| self.values.get(name).map(String::as_str))
            .filter(|value| !value.is_empty())
    }

    fn number<T: std::str::FromStr>(&self, names: &[&'static str]) -> Option<T> {
        names.iter().find_map(|name| self.values.get(name)?.parse().ok())
    }

    /// The job, where a scheduler or a launcher shows itself. `parent` names the process that started us: ranks of an
    /// MPICH launch have nothing else in common.
    pub fn job(&self, parent: &dyn Fn() -> String) -> Option<JobInfo> {
        if self.values.is_empty() {
            return None;
        }
        let launcher = LAUNCHERS.iter().find(|launcher| self.is_launched_by(launcher));
        let scheduler = SCHEDULERS.iter().find_map(|scheduler| Some((scheduler, self.id_of(scheduler)?)));
        let mut job = JobInfo::default();
        if let Some((scheduler, id)) = &scheduler {
            job.scheduler = scheduler.name.to_owned();
            job.id.clone_from(id);
            job.step = self.get(scheduler.step).map(str::to_owned);
            job.array_index = self.number(scheduler.array_index).filter(|index| *index != scheduler.no_array);
            job.node = self.get(scheduler.node).map(str::to_owned);
            job.attempt = self.number(scheduler.attempt);
        }
        if let Some(launcher) = launcher {
            job.rank = self.number(launcher.rank);
            job.local_rank = self.number(launcher.local_rank);
            job.world_size = self.number(launcher.world_size).filter(|size: &u32| *size > 0);
            let own_id = self.get(launcher.id).filter(|id| *id != "none").map(str::to_owned);
            let is_the_schedulers = scheduler.as_ref().is_some_and(|(found, _)| found.name == launcher.name);
            match (&scheduler, own_id) {
                // Two launches inside one job are two steps of it.
                (Some(_), Some(own_id)) if !is_the_schedulers => job.step = Some(own_id),
                (Some(_), _) => {}
                (None, own_id) => {
                    job.scheduler = launcher.name.to_owned();
                    job.id = own_id.unwrap_or_else(parent);
                }
            }
            job.attempt = self.number(launcher.attempt).or(job.attempt);
        }
        (scheduler.is_some() || job.rank.is_some()).then_some(job)
    }

    fn is_launched_by(&self, launcher: &Launcher) -> bool {
        self.get(launcher.evidence).is_some() && self.number::<u32>(launcher.rank).is_some()
    }

    fn id_of(&self, scheduler: &Scheduler) -> Option<String> {
        self.get(&[scheduler.evidence])?;
        let id = self.get(scheduler.id)?;
        Some((scheduler.shorten)(id).to_owned()).filter(|id| !id.is_empty())
    }
}

/// The job that this process is a part of.
#[cfg(unix)]
pub fn job_of_this_process() -> Option<JobInfo> {
    use std::os::unix::ffi::OsStrExt;
    let pairs: Vec<_> = std::env::vars_os().collect();
    let pairs = pairs.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    JobEnvironment::read(pairs).job(&|| {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        format!("{}-{}", host.trim(), std::os::unix::process::parent_id())
    })
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
