//! Jobs of many ranks in the store. Each rank writes a file of its own, without a lock, below one folder of the job:
//! `jobs/slurm-4711.s0/0003/ID.jobmeter`. A hundred ranks share a folder, so that ten thousand that start at once do not
//! meet in one.

use super::select::{error, steps_back};
use super::{EXTENSION, Filter, JOBS, Listing, Store, StoredRun};
use crate::error::RecordError;
use crate::id::is_id_like;
use jobmeter_model::RunInfo;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const RANKS_PER_FOLDER: u32 = 100;
/// File systems allow 255 bytes.
const LONGEST_FOLDER: usize = 120;

/// A run, or all runs of one job.
#[derive(Debug)]
pub struct RunGroup {
    /// By rank; of a run that is no rank, that run alone.
    pub runs: Vec<StoredRun>,
}

/// What a selector names.
#[derive(Debug)]
pub enum Selected {
    /// One run by itself.
    Run(PathBuf),
    /// The ranks of one job, by rank.
    Job(Vec<StoredRun>),
}

impl RunGroup {
    /// Whether these are ranks of one job.
    pub fn is_job(&self) -> bool {
        self.runs.first().is_some_and(is_rank)
    }
}

fn is_rank(run: &StoredRun) -> bool {
    run.digest.job.as_ref().is_some_and(|job| job.is_rank_of_many())
}

impl Store {
    /// Where a new run goes: into the folder of its job, where it is one of many ranks.
    pub fn place_of(&self, info: &RunInfo) -> Result<PathBuf, RecordError> {
        let plain = self.path_of(&info.id)?;
        let Some(job) = info.job.as_ref().filter(|job| job.is_rank_of_many()) else { return Ok(plain) };
        let part = job.rank.unwrap_or(0) / RANKS_PER_FOLDER;
        let folder = self.directory().join(JOBS).join(folder_name(&job.group())).join(format!("{part:04}"));
        Ok(folder.join(format!("{}.{EXTENSION}", info.id)))
    }

    /// The newest `limit` groups of the runs that pass the filter, newest first, and what could not be read.
    pub fn groups(
        &self,
        filter: &Filter,
        limit: Option<usize>,
    ) -> Result<(Vec<RunGroup>, Listing), RecordError> {
        let mut listing = Listing::default();
        let mut groups: Vec<RunGroup> = Vec::new();
        let mut by_folder: BTreeMap<PathBuf, usize> = BTreeMap::new();
        let jobs = self.directory().join(JOBS);
        for (_, path) in self.entries()? {
            let folder = path.parent().and_then(Path::parent).filter(|folder| folder.parent() == Some(&jobs));
            let known = folder.and_then(|folder| by_folder.get(folder)).copied();
            if known.is_none() && groups.len() >= limit.unwrap_or(usize::MAX) {
                // A rank that started late may still belong to a group that is listed.
                continue;
            }
            let folder = folder.map(Path::to_owned);
            listing.look_at(path, filter);
            let Some(run) = listing.runs.pop() else { continue };
            match (known, folder) {
                (Some(index), _) => groups[index].runs.push(run),
                (None, folder) => {
                    if let Some(folder) = folder.filter(|_| is_rank(&run)) {
                        by_folder.insert(folder, groups.len());
                    }
                    groups.push(RunGroup { runs: vec![run] });
                }
            }
        }
        groups.iter_mut().for_each(|group| sort_ranks(&mut group.runs));
        let started = |group: &RunGroup| group.runs.iter().map(|run| run.digest.started_unix_ns).max();
        groups.sort_by_key(|group| std::cmp::Reverse(started(group)));
        Ok((groups, listing))
    }

    /// A run or a job: `job:4711` names a job, and so does `last` where the last run was a rank.
    pub fn resolve(&self, selector: &str) -> Result<Selected, RecordError> {
        if let Some(name) = selector.strip_prefix("job:").filter(|_| rank_of(selector).is_none()) {
            let filter = Filter { job: Some(name.to_owned()), ..Filter::default() };
            let (groups, _) = self.groups(&filter, None)?;
            // A job may have several steps, or runs before its ranks: the newest with ranks counts.
            let newest = groups.iter().position(RunGroup::is_job).unwrap_or(0);
            let group = groups.into_iter().nth(newest).ok_or_else(|| self.nothing(selector))?;
            return Ok(Selected::Job(group.runs));
        }
        if let Some(back) = steps_back(selector) {
            let (groups, _) = self.groups(&Filter::default(), Some(back.saturating_add(1)))?;
            match groups.into_iter().nth(back) {
                Some(group) if group.is_job() => return Ok(Selected::Job(group.runs)),
                Some(group) => return Ok(Selected::Run(group.runs[0].path.clone())),
                None => {}
            }
        }
        self.select(selector).map(Selected::Run)
    }

    /// The run of one rank of a job.
    pub(super) fn rank(&self, selector: &str, job: &str, rank: u32) -> Result<PathBuf, RecordError> {
        match self.resolve(&format!("job:{job}"))? {
            Selected::Run(path) => Ok(path),
            Selected::Job(runs) => {
                let of_rank =
                    |run: &StoredRun| run.digest.job.as_ref().and_then(|job| job.rank) == Some(rank);
                let found = runs.into_iter().find(of_rank);
                found
                    .map(|run| run.path)
                    .ok_or_else(|| error(selector, "no run of that rank is there".into()))
            }
        }
    }
}

/// By rank, one run for each. Where a launcher gave the same number to another job later, the later run counts; of a run
/// inside another (`jobmeter run` around a program that tracks itself) the outer one.
fn sort_ranks(runs: &mut Vec<StoredRun>) {
    let rank = |run: &StoredRun| run.digest.job.as_ref().and_then(|job| job.rank);
    runs.sort_by_key(|run| (rank(run), run.digest.started_unix_ns));
    runs.dedup_by(|later, first| {
        let is_same = rank(later).is_some() && rank(later) == rank(first);
        let first_end =
            first.digest.wall_ns.map(|wall_ns| first.digest.started_unix_ns.saturating_add(wall_ns));
        if is_same && first_end.is_none_or(|end| end <= later.digest.started_unix_ns) {
            std::mem::swap(later, first);
        }
        is_same
    });
}

/// `job:4711/3`: job and rank.
pub(super) fn rank_of(selector: &str) -> Option<(&str, u32)> {
    let (job, rank) = selector.strip_prefix("job:")?.rsplit_once('/')?;
    Some((job, rank.parse().ok()?))
}

/// A name for the folder of a job: what is not plain in its identifier is replaced, and a sum over all of it added.
fn folder_name(group: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._@".contains(letter);
    if group.len() <= LONGEST_FOLDER && group.chars().all(plain) {
        return group.to_owned();
    }
    let kept = group.chars().map(|letter| if plain(letter) { letter } else { '_' });
    let kept: String = kept.take(LONGEST_FOLDER).collect();
    format!("{kept}-{:08x}", crc32fast::hash(group.as_bytes()))
}

/// Whether a folder is one in which ranks of this store lie.
pub(super) fn is_part_of_a_job(store: &Path, folder: &Path) -> bool {
    let part = folder.file_name().and_then(|name| name.to_str());
    let above = folder.parent().and_then(Path::parent);
    part.is_some_and(is_id_like) && above == Some(&store.join(JOBS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_after_their_job_and_stay_in_the_store() {
        assert_eq!(folder_name("slurm-4711.s0"), "slurm-4711.s0");
        assert_eq!(folder_name("open-mpi-prterun-cn01-2210@1"), "open-mpi-prterun-cn01-2210@1");
        let odd = folder_name("user-../../etc");
        assert!(odd.starts_with("user-..___..__etc") || odd.starts_with("user-.._.._etc-"), "{odd}");
        assert_ne!(folder_name("user-a/b"), folder_name("user-a_b"));
        assert!(folder_name(&"x".repeat(1000)).len() < 200);
    }

    #[test]
    fn a_rank_is_named_behind_a_slash() {
        assert_eq!(rank_of("job:4711/3"), Some(("4711", 3)));
        assert_eq!(rank_of("job:slurm:4711.0/12"), Some(("slurm:4711.0", 12)));
        for selector in ["job:4711", "job:4711/", "job:4711/x", "4711/3"] {
            assert_eq!(rank_of(selector), None, "{selector}");
        }
    }
}
