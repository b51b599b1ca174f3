//! Selectors: how a run is named on the command line.
//!
//! | selector | means |
//! |---|---|
//! | `runs/a.jobmeter`, `./a` | that file |
//! | `last`, `last~2` | the newest run, the one two before it |
//! | `20261115T22` | the run whose identifier begins so |
//! | `name:train` | the newest run of that name |
//! | `job:4711`, `job:slurm:4711.0` | a set: every run of that job (and step) |
//! | `job:4711/3` | its rank 3 |
//! | `name:train*`, `train:*`, `tag:k=v` | a set: every run of a matching name or tag |

use super::{EXTENSION, Filter, Store, StoredRun, glob, jobs};
use crate::error::RecordError;
use std::path::{Path, PathBuf};

/// How many candidates an ambiguous prefix lists.
const SHOWN_CANDIDATES: usize = 5;

impl Store {
    /// The one run a selector names; of a set the newest.
    pub fn select(&self, selector: &str) -> Result<PathBuf, RecordError> {
        if let Some((job, rank)) = jobs::rank_of(selector) {
            return self.rank(selector, job, rank);
        }
        if let Some(filter) = set_filter(selector).or_else(|| name_filter(selector)) {
            let newest = self.list(&filter, Some(1))?.runs.pop();
            return newest.map(|run| run.path).ok_or_else(|| self.nothing(selector));
        }
        if let Some(back) = steps_back(selector) {
            return self.steps_from_newest(selector, back);
        }
        if is_path(selector) {
            return Ok(PathBuf::from(selector));
        }
        self.by_prefix(selector)
    }

    /// Every run a selector names, newest first: all of a set, else the one.
    pub fn select_all(&self, selector: &str) -> Result<Vec<PathBuf>, RecordError> {
        let is_rank = jobs::rank_of(selector).is_some();
        let Some(filter) = set_filter(selector).filter(|_| !is_rank) else {
            return Ok(vec![self.select(selector)?]);
        };
        let runs: Vec<PathBuf> = self.list(&filter, None)?.runs.into_iter().map(|run| run.path).collect();
        if runs.is_empty() { Err(self.nothing(selector)) } else { Ok(runs) }
    }

    pub(super) fn nothing(&self, selector: &str) -> RecordError {
        let directory = crate::text::printable(&self.directory().to_string_lossy());
        error(selector, format!("no stored run fits (store {directory}; `jobmeter ls` shows what there is)"))
    }

    fn steps_from_newest(&self, selector: &str, back: usize) -> Result<PathBuf, RecordError> {
        let runs = self.list(&Filter::default(), Some(back.saturating_add(1)))?.runs;
        match (runs.into_iter().nth(back), back) {
            (Some(StoredRun { path, .. }), _) => Ok(path),
            (None, 0) => Err(self.nothing(selector)),
            (None, _) => Err(error(selector, "there are not so many stored runs".to_owned())),
        }
    }

    fn by_prefix(&self, selector: &str) -> Result<PathBuf, RecordError> {
        let mut fitting = self.entries()?;
        // A whole identifier wins over longer ones that begin with it.
        if let Some((_, path)) = fitting.iter().find(|(id, _)| id == selector) {
            return Ok(path.clone());
        }
        fitting.retain(|(id, _)| !selector.is_empty() && id.starts_with(selector));
        match fitting.as_slice() {
            [(_, path)] => Ok(path.clone()),
            [] if Path::new(selector).is_file() => Ok(PathBuf::from(selector)),
            [] => Err(self.nothing(selector)),
            several => {
                let shown: Vec<&str> =
                    several.iter().take(SHOWN_CANDIDATES).map(|(id, _)| id.as_str()).collect();
                let shown = shown.join(", ");
                let more = several.len().saturating_sub(SHOWN_CANDIDATES);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                Err(error(selector, format!("{} runs begin so: {shown}{more}", several.len())))
            }
        }
    }
}

pub(super) fn error(selector: &str, reason: String) -> RecordError {
    RecordError::Selector { selector: selector.to_owned(), reason }
}

fn is_path(selector: &str) -> bool {
    selector.contains(std::path::is_separator)
        || selector.strip_suffix(EXTENSION).is_some_and(|stem| stem.ends_with('.'))
}

pub(super) fn steps_back(selector: &str) -> Option<usize> {
    match selector.strip_prefix("last")? {
        "" => Some(0),
        "~" => Some(1),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

fn name_filter(selector: &str) -> Option<Filter> {
    let name = selector.strip_prefix("name:")?;
    Some(Filter { name: Some(name.to_owned()), ..Filter::default() })
}

fn set_filter(selector: &str) -> Option<Filter> {
    let is_kind = ["name:", "tag:", "job:"].iter().any(|kind| selector.starts_with(kind));
    if is_path(selector) && !is_kind {
        return None;
    }
    if let Some(job) = selector.strip_prefix("job:") {
        return Some(Filter { job: Some(job.to_owned()), ..Filter::default() });
    }
    if let Some(tag) = selector.strip_prefix("tag:") {
        let (key, value) = match tag.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (tag, None),
        };
        return Some(Filter { tags: vec![(key.to_owned(), value)], ..Filter::default() });
    }
    if let Some(name) = selector.strip_prefix("name:") {
        return if glob::is_pattern(name) { name_filter(selector) } else { None };
    }
    let name = selector.strip_suffix(":*")?;
    Some(Filter { name: Some(name.to_owned()), ..Filter::default() })
}
