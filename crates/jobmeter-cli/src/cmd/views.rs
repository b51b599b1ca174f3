//! Runs by selector, for the subcommands that look at finished runs.

use super::phases_from::PhasesFrom;
use jobmeter_insight::compare::{PhaseFigures, RunView};
use jobmeter_model::{Metric, Summary};
use jobmeter_record::Run;
use jobmeter_record::table::Phase;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A summary is some kilobytes; many in one file are still far below this.
const LARGEST_FILE: u64 = 256 << 20;

/// A file holds one run or several, with phases or without.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Several(Vec<One>),
    Single(Box<One>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum One {
    WithPhases { summary: Box<Summary>, phases: Vec<PhaseFigures> },
    Plain(Box<Summary>),
}

/// Phases are in the ticks, not in the summary: reading them takes the whole file.
#[derive(Clone, Copy)]
pub(crate) enum Phases<'a> {
    /// The run's own and these.
    Read(&'a PhasesFrom),
    Skip,
}

/// The runs that the selectors name, in their order. Besides what the store understands (a run file, `last~2`,
/// an id, `name:train`, `train:*`), a selector may be a summary's JSON file or a directory of either kind.
pub(crate) fn load_runs(selectors: &[String], phases: Phases<'_>) -> Result<Vec<RunView>, String> {
    let mut runs = Vec::new();
    for selector in selectors {
        let path = Path::new(selector);
        if is_json(path) {
            runs.extend(load_json(path, selector)?);
        } else if path.is_dir() {
            let files = run_files(path)?;
            if files.is_empty() {
                return Err(format!("the directory {selector:?} holds no .jobmeter or .json file of a run"));
            }
            for file in files {
                runs.extend(load_path(&file, phases)?);
            }
        } else {
            if let Some(job) = super::load::job(selector)? {
                runs.push(view(job.summary, Vec::new(), selector));
                continue;
            }
            let store = crate::config::store()?;
            for path in store.select_all(selector).map_err(|error| error.to_string())? {
                runs.extend(load_path(&path, phases)?);
            }
        }
    }
    Ok(runs)
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

fn run_files(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let wrong = |error: std::io::Error| format!("cannot list the directory {directory:?}: {error}");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let is_run = path.extension().is_some_and(|extension| extension == "jobmeter");
        if (is_run || is_json(&path)) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn load_path(path: &Path, phases: Phases<'_>) -> Result<Vec<RunView>, String> {
    let shown = path.to_string_lossy();
    if is_json(path) {
        return load_json(path, &shown);
    }
    let run = Run::open(path).map_err(|error| error.to_string())?;
    let phases = match phases {
        Phases::Read(more) => more.attach(run.clone()).phases().into_iter().map(phase_figures).collect(),
        Phases::Skip => Vec::new(),
    };
    Ok(vec![view(run.told_summary(), phases, &shown)])
}

fn phase_figures(phase: Phase) -> PhaseFigures {
    PhaseFigures {
        name: phase.name,
        calls: phase.calls,
        time_ns: phase.time_total_ns,
        cpu_ns: phase.used.total(Metric::CpuNs),
        peak_rss_bytes: phase.used.peak_rss_bytes,
        read_bytes: phase.used.total(Metric::ReadStorageBytes),
        write_bytes: phase.used.total(Metric::WriteStorageBytes),
    }
}

fn view(summary: Summary, phases: Vec<PhaseFigures>, fallback: &str) -> RunView {
    let names = [summary.run.name.clone().unwrap_or_default(), summary.run.id.clone(), fallback.to_owned()];
    let label = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
    RunView { summary, phases, label }
}

fn load_json(path: &Path, label: &str) -> Result<Vec<RunView>, String> {
    let cannot = |error: std::io::Error| format!("cannot read the run {label:?}: {error}");
    let size = std::fs::metadata(path).map_err(cannot)?.len();
    if size > LARGEST_FILE {
        return Err(format!("{label:?} is too large ({size} bytes) to be a run's summary"));
    }
    let bytes = std::fs::read(path).map_err(cannot)?;
    let content: Content = serde_json::from_slice(&bytes).map_err(|_| {
        format!("{label:?} is not the JSON of a run's summary, as `jobmeter show --json` writes it")
    })?;
    let ones = match content {
        Content::Several(ones) => ones,
        Content::Single(one) => vec![*one],
    };
    Ok(ones
        .into_iter()
        .map(|one| match one {
            One::WithPhases { summary, phases } => view(*summary, phases, label),
            One::Plain(summary) => view(*summary, Vec::new(), label),
        })
        .collect())
}
