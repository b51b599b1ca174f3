//! Runs by selector: a path, or what the store knows.

use super::jobs;
use crate::say::say;
use jobmeter_insight::job::Job;
use jobmeter_model::text::printable;
use jobmeter_record::{Damage, Run, Selected};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Opens the run that `selector` names; of a job all its ranks as one, with what it says besides.
pub(crate) fn any(selector: &str) -> Result<(Run, Option<Job>), String> {
    let path = Path::new(selector);
    let selected = if path.is_file() {
        Selected::Run(path.to_owned())
    } else {
        crate::config::store()?.resolve(selector).map_err(|error| error.to_string())?
    };
    match selected {
        Selected::Run(path) => Ok((Run::open(&path).map_err(|error| error.to_string())?, None)),
        Selected::Job(ranks) => {
            let job = jobs::merge(&ranks)?;
            Ok((jobs::as_run(&job)?, Some(job)))
        }
    }
}

/// The same; of a set the newest, and one sentence says which that is.
pub(crate) fn one_of_set(selector: &str) -> Result<(Run, Option<Job>), String> {
    let found = any(selector)?;
    if found.1.is_none() && !Path::new(selector).exists() {
        let all = crate::config::store()?.select_all(selector).map_err(|error| error.to_string())?;
        if all.len() > 1 {
            let (selector, id) = (printable(selector), printable(&found.0.info().id));
            say(&format!("jobmeter: {selector} names {} runs; this is the newest, {id}", all.len()));
        }
    }
    Ok(found)
}

/// Every run that `selector` names, oldest first; of a job all its ranks as one, with what it says besides.
pub(crate) fn all(selector: &str) -> Result<Vec<(Run, Option<Job>)>, String> {
    let alone = |path: &PathBuf| Ok((Run::open(path).map_err(|error| error.to_string())?, None));
    if Path::new(selector).is_file() {
        return alone(&PathBuf::from(selector)).map(|run| vec![run]);
    }
    if let Some(job) = job(selector)? {
        return Ok(vec![(jobs::as_run(&job)?, Some(job))]);
    }
    let paths = crate::config::store()?.select_all(selector).map_err(|error| error.to_string())?;
    paths.iter().rev().map(alone).collect()
}

/// The job that a selector names, where it names one.
pub(crate) fn job(selector: &str) -> Result<Option<Job>, String> {
    if Path::new(selector).exists() {
        return Ok(None);
    }
    match crate::config::store()?.resolve(selector) {
        Ok(Selected::Job(ranks)) => jobs::merge(&ranks).map(Some),
        // What is no job may still be a set of runs.
        Ok(Selected::Run(_)) | Err(_) => Ok(None),
    }
}

/// Says on standard error that a file could not be read whole. A run that was cut short is no damage.
pub(crate) fn tell(damage: Option<&Damage>) {
    if let Some(warning) = damage.and_then(Damage::warning) {
        // A write error on standard error cannot be reported anywhere.
        let _told = writeln!(std::io::stderr(), "jobmeter: {}", warning.text);
    }
}
