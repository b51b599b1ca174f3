//! What to know before believing a comparison: unlike machines, failed runs, sets measured one after the other.

use super::table::Drawn;
use super::verdict::Verdict;
use super::view::{Group, RunView};
use jobmeter_model::format::{Style, format};
use jobmeter_model::{Unit, VerdictKind};
use std::collections::BTreeSet;

pub(super) fn notes(groups: &[Group], rows: &[Drawn]) -> Vec<String> {
    let mut notes = Vec::new();
    let all = || groups.iter().flat_map(|group| &group.runs);
    let mut unlike = |what: &str, of: fn(&RunView) -> String| {
        let values: BTreeSet<String> = all().map(of).collect();
        if values.len() > 1 {
            notes.push(format!("the runs differ in {what}: {}", listed(values)));
        }
    };
    unlike("host", |run| run.summary.run.host.clone());
    unlike("kernel", |run| run.summary.run.kernel.clone());
    unlike("processors", |run| run.summary.run.system_cores.to_string());
    unlike("tick interval, which moves sampled peaks", |run| match run.summary.run.interval_ns {
        Some(ns) => format(ns as f64, Unit::Nanos, Style::Short),
        None => "adaptive".to_owned(),
    });

    let failed = all().filter(|run| {
        run.summary.verdict.kind != VerdictKind::Exited || run.summary.verdict.exit_code != Some(0)
    });
    let failed = failed.count();
    if failed > 0 {
        let runs = all().count();
        notes.push(format!(
            "{failed} of {runs} runs did not end well, and a run that fails early looks cheap"
        ));
    }
    for group in &groups[1..] {
        if one_after_the_other(&groups[0], group) {
            notes.push(format!(
                "all runs of {:?} lie on one side in time of those of {:?}: a machine that drifts (heat, \
                 neighbours, caches) looks like a difference; alternate the sets to rule it out",
                short(&group.label),
                short(&groups[0].label)
            ));
        }
    }
    let undecided = |verdict: Verdict| {
        rows.iter().any(|drawn| drawn.row.contrasts.iter().any(|contrast| contrast.verdict == verdict))
    };
    if undecided(Verdict::NotEnoughRuns) {
        notes.push(
            "a difference can be told from noise from about 5 runs a side on, for small effects 20"
                .to_owned(),
        );
    }
    notes
}

fn listed(values: BTreeSet<String>) -> String {
    const SHOWN: usize = 4;
    let more = values.len().saturating_sub(SHOWN);
    let shown: Vec<String> = values.iter().take(SHOWN).map(|value| format!("{:?}", short(value))).collect();
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

fn one_after_the_other(base: &Group, new: &Group) -> bool {
    let times = |group: &Group| -> Vec<u64> {
        group.runs.iter().map(|run| run.summary.run.started_unix_ns).filter(|ns| *ns > 0).collect()
    };
    let (base, new) = (times(base), times(new));
    if base.len() < 2 || new.len() < 2 {
        return false;
    }
    base.iter().max() < new.iter().min() || new.iter().max() < base.iter().min()
}
