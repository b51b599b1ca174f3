//! What `plot` and `report` have in common: recorded runs read and reduced for drawing, files written whole.

use super::phases_from::{PhasesFrom, PhasesFromArgs};
use super::{load, measure};
use jobmeter_insight::units::show_bytes;
use jobmeter_insight::{advice, schedulers};
use jobmeter_report::downsample::DEFAULT_BUCKETS;
use jobmeter_report::{AdviceBlock, RunData, SeriesBuilder, Snippet, format};
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
    recorded.replay(&mut builder);
    let summary = load::summary_of(&recorded);
    let label = match &summary.run.name {
        Some(name) => name.clone(),
        None if summary.run.command.is_empty() => summary.run.id.clone(),
        None => format::command_line(&summary.run.command),
    };
    let mut data = builder.finish(label, summary);
    data.advice = advise(&data);
    Ok(data)
}

/// A run that taught nothing (it failed, it was cut short) has no advice.
fn advise(run: &RunData) -> Option<AdviceBlock> {
    let summaries = std::slice::from_ref(&run.summary);
    let advice =
        advice::advise(summaries, &advice::Options::default()).ok().filter(|advice| advice.runs_used > 0)?;
    // In the binary units of the schedulers, as the reason beside it.
    let bytes = |value: u64| show_bytes(value as f64);
    let seconds = |value: u64| format::duration(value.saturating_mul(1_000_000_000));
    let plain = |value: u64| format::grouped(value as i64);
    let line = |name: &str, item: &advice::Item, show: &dyn Fn(u64) -> String| {
        item.value.filter(|value| *value > 0).map(|value| format!("{name} {}: {}", show(value), item.why))
    };
    let lines = [
        line("Cores", &advice.cores, &plain),
        line("Memory", &advice.memory_bytes, &bytes),
        line("GPUs", &advice.gpus, &plain),
        line("Time", &advice.time_s, &seconds),
        line("Scratch disk", &advice.disk_bytes, &bytes),
    ];
    let snippets = [
        ("Slurm", schedulers::Format::Slurm),
        ("Kubernetes", schedulers::Format::Kubernetes),
        ("docker run", schedulers::Format::Docker),
    ]
    .map(|(title, kind)| Snippet {
        title: title.to_owned(),
        text: schedulers::render(&advice, kind).trim_end().to_owned(),
    });
    let lines: Vec<String> = lines.into_iter().flatten().chain(advice.notes.iter().cloned()).collect();
    (!lines.is_empty()).then(|| AdviceBlock { lines, snippets: snippets.into() })
}

/// Writes a file aside and puts it in place, never over another unless asked.
pub(crate) fn write(path: &Path, bytes: &[u8], force: bool) -> Result<(), String> {
    measure::write_aside(path, bytes, force).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            format!("{} exists already; choose another name or add --force", measure::shown(path))
        }
        _ => format!("cannot write {}: {error}", measure::shown(path)),
    })
}
