//! Lays every figure of every run into rows, one cell for each set.

use super::figure::{FigureUnit, HEADLINE, key_title, key_unit};
use super::stats::{median, median_interval, ratio_interval, robust_spread, sorted};
use super::verdict::Verdict;
use super::view::{Group, PhaseFigures, RunView};
use super::{Cell, Contrast, Options, Row};
use jobmeter_model::{Figure, Scope};
use std::collections::{BTreeSet, HashMap};

/// A row with the values it was made from, one list for each set.
pub(super) struct Drawn {
    pub(super) row: Row,
    pub(super) values: Vec<Vec<f64>>,
}

/// Value of one figure in one run, or why there is none.
type Reading = Result<f64, Option<String>>;

type Take = fn(&PhaseFigures) -> Option<u64>;

/// Key, title, unit, whether it is tested, how it is read.
const PHASE_FIGURES: &[(&str, &str, FigureUnit, bool, Take)] = &[
    ("calls", "calls", FigureUnit::Count, false, |phase| Some(phase.calls)),
    ("time_ns", "time", FigureUnit::Nanos, true, |phase| Some(phase.time_ns)),
    ("cpu_ns", "CPU time", FigureUnit::Nanos, true, |phase| phase.cpu_ns),
    ("peak_rss_bytes", "RAM, peak", FigureUnit::Bytes, true, |phase| phase.peak_rss_bytes),
    ("read_bytes", "read", FigureUnit::Bytes, false, |phase| phase.read_bytes),
    ("write_bytes", "written", FigureUnit::Bytes, false, |phase| phase.write_bytes),
];

pub(super) fn rows(groups: &[Group], options: &Options) -> Vec<Drawn> {
    let mut rows = Vec::new();
    for (scope, key, title) in HEADLINE {
        let drawn = draw(groups, scope, None, key, title, key_unit(key), true, |run| read(run, scope, key));
        rows.extend(drawn);
    }
    let tested = |scope: &str, key: &str| HEADLINE.iter().any(|row| row.0 == scope && row.1 == key);
    for scope in Scope::ALL {
        for key in keys(groups, |run| run.summary.scope(scope).keys().cloned().collect()) {
            if tested(scope.key(), &key) {
                continue;
            }
            let headline = scope == Scope::Combined && options.also.contains(&key);
            let title = key_title(&key);
            let read = |run: &RunView| read(run, scope.key(), &key);
            rows.extend(draw(groups, scope.key(), None, &key, &title, key_unit(&key), headline, read));
        }
    }
    entity_rows(groups, &mut rows);
    let phases = ByName::new(groups, |run| run.phases.iter().map(|phase| (phase.name.as_str(), phase)));
    for name in keys(groups, |run| run.phases.iter().map(|phase| phase.name.clone()).collect()) {
        for (key, title, unit, headline, take) in PHASE_FIGURES {
            let read = |run: &RunView| {
                let phase = phases.get(run, &name);
                let phase = phase.ok_or_else(|| Some("the run has no such phase".to_owned()))?;
                take(phase).map(|value| value as f64).ok_or(None)
            };
            rows.extend(draw(groups, "phase", Some(&name), key, title, *unit, *headline, read));
        }
    }
    rows
}

/// Phases or devices of all runs, found by run and name: a run may have tens of thousands of either.
struct ByName<'a, T>(HashMap<(*const RunView, &'a str), &'a T>);

impl<'a, T> ByName<'a, T> {
    fn new<I: Iterator<Item = (&'a str, &'a T)>>(groups: &'a [Group], of: impl Fn(&'a RunView) -> I) -> Self {
        let mut known = HashMap::new();
        for run in runs(groups) {
            for (name, item) in of(run) {
                // Of two with one name the first counts.
                known.entry((std::ptr::from_ref(run), name)).or_insert(item);
            }
        }
        ByName(known)
    }

    fn get(&self, run: &RunView, name: &str) -> Option<&'a T> {
        self.0.get(&(std::ptr::from_ref(run), name)).copied()
    }
}

/// Cores, disks, mounts, networks and GPUs, by name.
fn entity_rows(groups: &[Group], rows: &mut Vec<Drawn>) {
    for kind in ["gpu", "disk", "network", "mount", "core"] {
        let names: BTreeSet<(String, String)> = runs(groups)
            .flat_map(|run| entities(run, kind))
            .flat_map(|entity| entity.figures.keys().map(|key| (entity.name.clone(), key.clone())))
            .collect();
        let known = ByName::new(groups, |run| {
            entities(run, kind).iter().map(|entity| (entity.name.as_str(), entity))
        });
        for (name, key) in names {
            let read = |run: &RunView| {
                let entity = known.get(run, &name);
                value(entity.and_then(|entity| entity.figures.get(&key)))
            };
            rows.extend(draw(groups, kind, Some(&name), &key, &key_title(&key), key_unit(&key), false, read));
        }
    }
}

fn entities<'a>(run: &'a RunView, kind: &str) -> &'a [jobmeter_model::summary::EntityFigures] {
    match kind {
        "gpu" => &run.summary.gpus,
        "disk" => &run.summary.disks,
        "network" => &run.summary.networks,
        "mount" => &run.summary.mounts,
        _ => &run.summary.cores,
    }
}

fn runs(groups: &[Group]) -> impl Iterator<Item = &RunView> {
    groups.iter().flat_map(|group| &group.runs)
}

fn keys(groups: &[Group], of: impl Fn(&RunView) -> Vec<String>) -> BTreeSet<String> {
    runs(groups).flat_map(of).collect()
}

fn read(run: &RunView, scope: &str, key: &str) -> Reading {
    if scope == "run" {
        let wall_ns = run.summary.run.wall_ns;
        return wall_ns.map(|ns| ns as f64).ok_or_else(|| Some("the run has not ended".to_owned()));
    }
    let scope = Scope::ALL.into_iter().find(|candidate| candidate.key() == scope).ok_or(None)?;
    value(run.summary.scope(scope).get(key))
}

fn value(figure: Option<&Figure>) -> Reading {
    let figure = figure.ok_or(None)?;
    figure.as_f64().filter(|value| value.is_finite()).ok_or_else(|| figure.reason.clone())
}

/// `None` if no run of any set knows the figure.
#[expect(clippy::too_many_arguments, reason = "a row is just this wide")]
fn draw(
    groups: &[Group],
    scope: &'static str,
    entity: Option<&str>,
    key: &str,
    title: &str,
    unit: FigureUnit,
    headline: bool,
    read: impl Fn(&RunView) -> Reading,
) -> Option<Drawn> {
    let readings: Vec<Vec<Reading>> =
        groups.iter().map(|group| group.runs.iter().map(&read).collect()).collect();
    let values: Vec<Vec<f64>> = readings
        .iter()
        .map(|group| group.iter().filter_map(|reading| reading.as_ref().ok().copied()).collect())
        .collect();
    if values.iter().all(Vec::is_empty) {
        return None;
    }
    let cells: Vec<Cell> =
        readings.iter().zip(&values).map(|(readings, values)| cell(readings, values)).collect();
    let contrasts = (1..groups.len()).map(|new| contrast(&values[0], &values[new])).collect();
    let row = Row {
        scope,
        entity: entity.map(str::to_owned),
        key: key.to_owned(),
        title: title.to_owned(),
        unit,
        headline,
        cells,
        contrasts,
    };
    Some(Drawn { row, values })
}

fn cell(readings: &[Reading], values: &[f64]) -> Cell {
    let median = median(values);
    let ordered = sorted(values);
    let noise_ratio = match (robust_spread(values), median) {
        (Some(spread), Some(median)) if median != 0.0 => Some(spread / median.abs()),
        _ => None,
    };
    Cell {
        runs: readings.len(),
        known: values.len(),
        median,
        min: ordered.first().copied(),
        max: ordered.last().copied(),
        median_interval: median_interval(values),
        noise_ratio,
        reason: readings.iter().find_map(|reading| reading.as_ref().err()?.clone()),
    }
}

fn contrast(base: &[f64], new: &[f64]) -> Contrast {
    let medians = median(base).zip(median(new));
    Contrast {
        difference: medians.map(|(base, new)| new - base),
        ratio: medians.filter(|(base, _)| *base != 0.0).map(|(base, new)| new / base),
        ratio_interval: ratio_interval(base, new),
        p_value: None,
        p_adjusted: None,
        verdict: if medians.is_some() { Verdict::NotTested } else { Verdict::Unknown },
    }
}
