//! What `plot` and `report` have in common: recorded runs read and reduced for drawing, files written whole.

use super::phases_from::{PhasesFrom, PhasesFromArgs};
use super::{load, out};
use jobmeter_record::place;
use jobmeter_report::downsample::DEFAULT_BUCKETS;
use jobmeter_report::{RunData, SeriesBuilder, format};
use std::path::Path;

/// The runs that the selectors name, each read once in constant memory.
pub(crate) fn runs(selectors: &[String], phases: &PhasesFromArgs) -> Result<Vec<RunData>, String> {
    let phases = phases.read()?;
    let runs = selectors.iter().map(|selector| run(selector, &phases)).collect::<Result<_, _>>()?;
    phases.finish()?;
    Ok(runs)
}

fn run(selector: &str, phases: &PhasesFrom) -> Result<RunData, String> {
    let recorded = phases.attach(load::run(selector)?);
    let mut builder = SeriesBuilder::new(DEFAULT_BUCKETS);
    load::tell(recorded.replay(&mut builder).damage.as_ref());
    let summary = recorded.told_summary();
    let label = match &summary.run.name {
        Some(name) => name.clone(),
        None if summary.run.command.is_empty() => summary.run.id.clone(),
        None => format::command_line(&summary.run.command),
    };
    Ok(builder.finish(label, summary))
}

/// Says what is wrong with the place before any run is read.
pub(crate) fn check(path: &Path, force: bool) -> Result<(), String> {
    place::check(out::or_stdout(path), force).map_err(|error| error.to_string())
}

/// Puts a file in its place, whole, never over another unless asked.
pub(crate) fn write(path: &Path, bytes: &[u8], force: bool) -> Result<(), String> {
    place::write(out::or_stdout(path), bytes, force).map_err(|error| error.to_string())
}
