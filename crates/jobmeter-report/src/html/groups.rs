//! Several runs: those of one name belong together, and something tells them apart.

use crate::apart::told_apart;
use crate::data::RunData;
use crate::format::visible;
use jobmeter_insight::compare::{self, Options, RunView, Verdict};
use std::collections::BTreeMap;

/// Longest name and note that are shown.
const NAME_LIMIT: usize = 120;

/// Runs of one name, in the order in which they were given.
pub(super) struct Group {
    /// Already fit to be shown.
    pub(super) label: String,
    pub(super) runs: Vec<usize>,
}

pub(super) struct Groups {
    pub(super) all: Vec<Group>,
    /// The group of each run.
    pub(super) of: Vec<usize>,
    /// What tells each run from the others of its name; empty where nothing has to. Fit to be shown.
    pub(super) notes: Vec<String>,
    verdicts: BTreeMap<(&'static str, String), Vec<Verdict>>,
}

impl Groups {
    pub(super) fn new(runs: &[RunData]) -> Groups {
        let mut all: Vec<Group> = Vec::new();
        let mut of = Vec::new();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, run) in runs.iter().enumerate() {
            let place = *places.entry(&run.label).or_insert_with(|| {
                all.push(Group { label: visible(&run.label, NAME_LIMIT), runs: Vec::new() });
                all.len() - 1
            });
            all[place].runs.push(index);
            of.push(place);
        }
        let mut notes = vec![String::new(); runs.len()];
        for group in all.iter().filter(|group| group.runs.len() > 1) {
            for (run, note) in group.runs.iter().zip(told_apart(runs, &group.runs)) {
                notes[*run] = visible(&note, NAME_LIMIT);
            }
        }
        let verdicts = verdicts(runs, &all);
        Groups { all, of, notes, verdicts }
    }

    /// Whether any name has several runs.
    pub(super) fn are_sets(&self) -> bool {
        self.all.len() < self.of.len()
    }

    /// What the comparison of the sets found for a figure of one group against the first; nothing from few runs.
    pub(super) fn verdict(&self, scope: &'static str, key: &str, group: usize) -> Option<Verdict> {
        self.verdicts.get(&(scope, key.to_owned()))?.get(group.checked_sub(1)?).copied()
    }
}

fn verdicts(runs: &[RunData], groups: &[Group]) -> BTreeMap<(&'static str, String), Vec<Verdict>> {
    let view = |run: &usize| RunView {
        summary: runs[*run].summary.clone(),
        phases: Vec::new(),
        label: String::new(),
    };
    let sets: Vec<compare::Group> = groups
        .iter()
        .map(|group| compare::Group {
            label: group.label.clone(),
            runs: group.runs.iter().map(view).collect(),
        })
        .collect();
    // One group alone is no comparison.
    let Ok(comparison) = compare::compare(&sets, &Options::default()) else { return BTreeMap::new() };
    let rows = comparison.rows.into_iter().filter(|row| row.entity.is_none());
    rows.map(|row| {
        ((row.scope, row.key), row.contrasts.into_iter().map(|contrast| contrast.verdict).collect())
    })
    .collect()
}
