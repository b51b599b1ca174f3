//! What tells runs of one name apart.

use crate::data::RunData;
use crate::format::{self, visible};
use std::collections::BTreeSet;

/// The tags in which runs of one name differ; when they began where tags do not tell; their order where even that is
/// the same.
pub(crate) fn told_apart(runs: &[RunData], members: &[usize]) -> Vec<String> {
    let infos: Vec<_> = members.iter().map(|run| &runs[*run].summary.run).collect();
    let keys: BTreeSet<&String> = infos.iter().flat_map(|info| info.tags.keys()).collect();
    let differing: Vec<&String> = keys
        .into_iter()
        .filter(|key| infos.iter().map(|info| info.tags.get(*key)).collect::<BTreeSet<_>>().len() > 1)
        .collect();
    let tags = |info: &jobmeter_model::RunInfo| {
        let tags = differing.iter().filter_map(|key| Some(format!("{key}={}", info.tags.get(*key)?)));
        tags.collect::<Vec<_>>().join(" ")
    };
    let notes: Vec<String> = infos.iter().map(|info| tags(info)).collect();
    let are_unique = |notes: &[String]| notes.iter().collect::<BTreeSet<_>>().len() == notes.len();
    if are_unique(&notes) {
        return notes;
    }
    let times: Vec<String> = infos.iter().map(|info| format::instant(info.started_unix_ns)).collect();
    if are_unique(&times) {
        return times;
    }
    (1..=members.len()).map(|place| format!("run {place}")).collect()
}

/// A name for each run that no other has: its label, and what tells it from others of the same.
pub(crate) fn names(runs: &[RunData]) -> Vec<String> {
    let name = |(at, run): (usize, &RunData)| {
        let label = visible(&run.label, 60);
        let same: Vec<usize> = (0..runs.len()).filter(|other| runs[*other].label == run.label).collect();
        if same.len() < 2 {
            return label;
        }
        let note = same
            .iter()
            .position(|other| *other == at)
            .map(|place| told_apart(runs, &same).swap_remove(place));
        format!("{label} {}", visible(&note.unwrap_or_default(), 60))
    };
    runs.iter().enumerate().map(name).collect()
}
