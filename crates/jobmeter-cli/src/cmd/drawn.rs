//! What `plot` and `report` have in common: recorded runs read and reduced for drawing, files written whole.

use super::busy::Busy;
use super::phases_from::{PhasesFrom, PhasesFromArgs};
use super::{load, out};
use crate::say::{say, shown};
use jobmeter_model::units::format_bytes;
use jobmeter_record::{Run, place};
use jobmeter_report::downsample::DEFAULT_BUCKETS;
use jobmeter_report::{RunData, SeriesBuilder, format};
use std::path::Path;
use std::sync::Arc;

/// The runs that the selectors name, sets oldest first, each read once in constant memory.
pub(crate) fn runs(
    selectors: &[String],
    phases: &PhasesFromArgs,
    busy: &Busy,
) -> Result<Vec<RunData>, String> {
    let phases = phases.read()?;
    let mut recorded = Vec::new();
    for selector in selectors {
        let all = load::all(selector)?.into_iter();
        recorded.extend(all.map(|(run, job)| (run.watched(busy.progress(), 1), job)));
    }
    let runs = recorded
        .into_iter()
        .map(|(recorded, job)| RunData { job: job.map(Arc::new), ..reduced(recorded, &phases) });
    let runs = runs.collect();
    phases.finish()?;
    Ok(runs)
}

fn reduced(recorded: Run, phases: &PhasesFrom) -> RunData {
    let recorded = phases.attach(recorded);
    let mut builder = SeriesBuilder::new(DEFAULT_BUCKETS);
    load::tell(recorded.replay(&mut builder).damage.as_ref());
    let summary = recorded.told_summary();
    let label = match &summary.run.name {
        Some(name) => name.clone(),
        None if summary.run.command.is_empty() => summary.run.id.clone(),
        None => format::command_line(&summary.run.command),
    };
    builder.finish(label, summary)
}

/// Says what is wrong with the place before any run is read.
pub(crate) fn check(path: &Path, force: bool) -> Result<(), String> {
    place::check(out::or_stdout(path), force).map_err(|error| error.to_string())
}

/// Puts a file in its place, whole, never over another unless asked.
pub(crate) fn write(path: &Path, bytes: &[u8], force: bool) -> Result<(), String> {
    place::write(out::or_stdout(path), bytes, force).map_err(|error| error.to_string())
}

/// Says what was written and where.
pub(crate) fn tell(path: &Path, what: &str, bytes: usize) {
    if path != Path::new("-") {
        say(&format!("jobmeter: wrote {what} to {} ({})", shown(path), format_bytes(bytes as u64)));
    }
}

/// `1 run`, `12 runs`.
pub(crate) fn counted(runs: usize) -> String {
    if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") }
}
