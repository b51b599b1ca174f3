//! Lays every figure of every run into rows, one cell for each set.

use super::figure::{HEADLINE, WALL_KEY, WALL_TITLE, is_headline, row_title};
use super::stats::{median, median_interval, ratio_interval, robust_spread, sorted};
use super::verdict::Verdict;
use super::view::{Group, PhaseFigures, RunView};
use super::{Cell, Contrast, Options, Row};
use jobmeter_model::{Entity, EntityKind, Figure, FigureId, Scope, Unit};
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
const PHASE_FIGURES: &[(&str, &str, Unit, bool, Take)] = &[
    ("calls", "calls", Unit::Count, false, |phase| Some(phase.calls)),
    ("time_ns", "time", Unit::Nanos, true, |phase| Some(phase.time_ns)),
    ("cpu_ns", "CPU time", Unit::Nanos, true, |phase| phase.cpu_ns),
    ("peak_rss_bytes", "RAM, peak", Unit::Bytes, true, |phase| phase.peak_rss_bytes),
    ("read_bytes", "read", Unit::Bytes, false, |phase| phase.read_bytes),
    ("write_bytes", "written", Unit::Bytes, false, |phase| phase.write_bytes),
];

pub(super) fn rows(groups: &[Group], options: &Options) -> Vec<Drawn> {
    let mut rows = Vec::new();
    let wall =
        Label { scope: "run", entity: None, key: WALL_KEY, title: WALL_TITLE.to_owned(), unit: Unit::Nanos };
    rows.extend(draw(groups, wall, true, wall_time));
    for (metric, stat) in HEADLINE {
        let id = FigureId::of(Scope::Combined, metric, stat);
        let key = id.key();
        rows.extend(draw(groups, Label::of(&key, Some(&id), "combined"), true, |run| {
            value(run.summary.get(Scope::Combined, metric, stat))
        }));
    }
    for scope in Scope::ALL {
        for key in keys(groups, |run| run.summary.scope(scope).keys().map(str::to_owned).collect()) {
            let id = FigureId::parse(scope, None, &key);
            if id.as_ref().is_some_and(is_headline) {
                continue;
            }
            let headline = scope == Scope::Combined && options.also.contains(&key);
            let label = Label::of(&key, id.as_ref(), scope.key());
            let read = |run: &RunView| value(run.summary.scope(scope).by_key(&key));
            rows.extend(draw(groups, label, headline, read));
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
            let label =
                Label { scope: "phase", entity: Some(&name), key, title: (*title).to_owned(), unit: *unit };
            rows.extend(draw(groups, label, *headline, read));
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
    const ORDER: [EntityKind; 5] =
        [EntityKind::Gpu, EntityKind::Disk, EntityKind::Network, EntityKind::Mount, EntityKind::Core];
    for kind in ORDER {
        let names: BTreeSet<(String, String)> = runs(groups)
            .flat_map(|run| run.summary.devices(kind))
            .flat_map(|entity| entity.figures.keys().map(|key| (entity.name.clone(), key.to_owned())))
            .collect();
        let known = ByName::new(groups, |run| {
            run.summary.devices(kind).iter().map(|entity| (entity.name.as_str(), entity))
        });
        for (name, key) in names {
            let entity = Entity { kind, name };
            let read = |run: &RunView| {
                let device = known.get(run, &entity.name);
                value(device.and_then(|device| device.figures.by_key(&key)))
            };
            let id = FigureId::parse(Scope::System, Some(&entity), &key);
            let label = Label { entity: Some(&entity.name), ..Label::of(&key, id.as_ref(), kind.key()) };
            rows.extend(draw(groups, label, false, read));
        }
    }
}

fn runs(groups: &[Group]) -> impl Iterator<Item = &RunView> {
    groups.iter().flat_map(|group| &group.runs)
}

fn keys(groups: &[Group], of: impl Fn(&RunView) -> Vec<String>) -> BTreeSet<String> {
    runs(groups).flat_map(of).collect()
}

fn wall_time(run: &RunView) -> Reading {
    run.summary.run.wall_ns.map(|ns| ns as f64).ok_or_else(|| Some("the run has not ended".to_owned()))
}

fn value(figure: Option<&Figure>) -> Reading {
    let figure = figure.ok_or(None)?;
    figure.as_f64().filter(|value| value.is_finite()).ok_or_else(|| figure.reason.clone())
}

/// What a row is about.
struct Label<'a> {
    scope: &'static str,
    entity: Option<&'a str>,
    key: &'a str,
    title: String,
    unit: Unit,
}

impl<'a> Label<'a> {
    /// By the identity of the figure, or by its key where that is one of a newer version.
    fn of(key: &'a str, id: Option<&FigureId>, scope: &'static str) -> Label<'a> {
        let unit = id.map_or_else(|| Unit::of_unknown_key(key), FigureId::unit);
        Label { scope, entity: None, key, title: row_title(id, key), unit }
    }
}

/// `None` if no run of any set knows the figure.
fn draw(
    groups: &[Group],
    label: Label<'_>,
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
        scope: label.scope,
        entity: label.entity.map(str::to_owned),
        key: label.key.to_owned(),
        title: label.title,
        unit: label.unit,
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
