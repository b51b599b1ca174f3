//! Several runs: the key figures of each, or of each set of runs of one name, side by side with the ratio to the first,
//! and one chart per kind overlaid.

use super::groups::{Group, Groups};
use super::{figures, overview};
use crate::data::RunData;
use crate::format;
use crate::panels;
use crate::plot::{self, PlotOptions};
use jobmeter_insight::compare::{self, Verdict};
use jobmeter_model::{Figure, FigureId, Metric, Quality, Scope, Stat, Unit};
use maud::{Markup, PreEscaped, html};

/// What a row of the comparison shows.
#[derive(Clone, Copy)]
enum What {
    WallTime,
    Figure(Scope, Metric, Stat),
}

impl What {
    fn unit(self) -> Unit {
        match self {
            What::WallTime => Unit::Nanos,
            What::Figure(scope, metric, stat) => FigureId::of(scope, metric, stat).unit(),
        }
    }

    fn of(self, run: &RunData) -> Option<Figure> {
        match self {
            What::WallTime => run.summary.run.wall_ns.map(|wall| Figure::int(wall, Quality::Exact)),
            What::Figure(scope, metric, stat) => run.summary.get(scope, metric, stat).cloned(),
        }
    }

    fn verdict(self, groups: &Groups, group: usize) -> Option<Verdict> {
        match self {
            What::WallTime => groups.verdict("run", compare::WALL_KEY, group),
            What::Figure(scope, metric, stat) => {
                groups.verdict(scope.key(), &FigureId::of(scope, metric, stat).key(), group)
            }
        }
    }
}

const fn job(metric: Metric, stat: Stat) -> What {
    What::Figure(Scope::Combined, metric, stat)
}

const fn machine(metric: Metric, stat: Stat) -> What {
    What::Figure(Scope::System, metric, stat)
}

const ROWS: &[(&str, What)] = &[
    ("Wall time", What::WallTime),
    ("CPU time", job(Metric::CpuNs, Stat::Total)),
    ("Cores in use, mean", job(Metric::CpuNs, Stat::RateMean)),
    ("Cores in use, highest", job(Metric::CpuNs, Stat::RateMax)),
    ("Peak RAM", job(Metric::RssBytes, Stat::Max)),
    ("RAM, mean", job(Metric::RssBytes, Stat::Mean)),
    ("Peak GPU RAM", job(Metric::GpuMemoryBytes, Stat::Max)),
    ("GPU use, mean", job(Metric::GpuBusyPpm, Stat::Mean)),
    ("Read from storage", job(Metric::ReadStorageBytes, Stat::Total)),
    ("Written to storage", job(Metric::WriteStorageBytes, Stat::Total)),
    ("Page faults, major", job(Metric::FaultsMajor, Stat::Total)),
    ("Context switches, involuntary", job(Metric::SwitchesInvoluntary, Stat::Total)),
    ("Processes at once", job(Metric::Processes, Stat::Max)),
    ("Network received (machine)", machine(Metric::NetReceiveBytes, Stat::Total)),
    ("Network sent (machine)", machine(Metric::NetTransmitBytes, Stat::Total)),
];

pub(super) fn section(runs: &[RunData], groups: &Groups, interactive: bool) -> Markup {
    let title = match (groups.all.len(), groups.are_sets()) {
        (1, true) => format!("{} runs of one job", runs.len()),
        (sets, true) => format!("{} runs of {sets} jobs compared", runs.len()),
        (_, false) => format!("{} runs compared", runs.len()),
    };
    html! {
        section.block.compare aria-labelledby="compare-title" {
            h1 id="compare-title" { (title) }
            p.hint {
                @if groups.all.len() > 1 { "Ratios are to the first. " }
                @if groups.are_sets() { "Of several runs the median is shown, with the lowest and the highest below it. " }
                "Green and red mark differences that a comparison of the sets can tell from noise; it takes several runs of each."
            }
            (table(runs, groups))
            @if groups.are_sets() { (each_run(runs, groups)) }
            @if interactive { (interactive_charts(runs)) }
            @else { div.drawn tabindex="0" { (PreEscaped(drawing(runs))) } }
        }
    }
}

/// One column per group.
fn table(runs: &[RunData], groups: &Groups) -> Markup {
    html! {
        div.scroll tabindex="0" { table.comparison {
            thead { tr { th scope="col" { "Figure" }
                @for (place, group) in groups.all.iter().enumerate() {
                    th.num scope="col" { a href=(format!("#run-{}", group.runs[0])) { (dot(place)) " " bdi.name { (group.label) } }
                        @if group.runs.len() > 1 { span.facts { (group.runs.len()) " runs" } } }
                } } }
            tbody {
                tr { th scope="row" { "Ended" } @for group in &groups.all { td.num { (endings(runs, group)) } } }
                @for (title, what) in ROWS {
                    @let row: Vec<Vec<f64>> = groups.all.iter().map(|group| known(runs, group, *what)).collect();
                    @if row.iter().any(|values| !values.is_empty()) {
                        tr { th scope="row" { (title) }
                            @for (place, values) in row.iter().enumerate() {
                                td.num { (cell(what.unit(), values, ratio(&row, place, what.verdict(groups, place)))) } } }
                    }
                }
            }
        } }
    }
}

/// One row per run, for sets: a table of twelve columns could not be read.
fn each_run(runs: &[RunData], groups: &Groups) -> Markup {
    const FEW: &[(&str, What)] = &[
        ("Time", What::WallTime),
        ("CPU time", job(Metric::CpuNs, Stat::Total)),
        ("Peak memory", job(Metric::RssBytes, Stat::Max)),
    ];
    html! {
        details.alt {
            summary { "Each of the " (runs.len()) " runs" }
            div.scroll tabindex="0" { table.each-run {
                thead { tr { th scope="col" { "Run" } th scope="col" { "Ended" } @for (title, _) in FEW { th.num scope="col" { (title) } } } }
                tbody { @for (index, run) in runs.iter().enumerate() { tr {
                    @let (tone, word) = overview::tone(run);
                    th scope="row" { a href=(format!("#run-{index}")) { (dot(groups.of[index])) " " bdi.name { (groups.all[groups.of[index]].label) } }
                        @if !groups.notes[index].is_empty() { span.facts { bdi { (groups.notes[index]) } } } }
                    td { span.verdict.(tone) { (word) } }
                    @for (_, what) in FEW { td.num { (what.of(run).map_or("–".to_owned(), |figure| figures::value(what.unit(), &figure))) } }
                } } }
            } }
        }
    }
}

fn dot(place: usize) -> Markup {
    html! { span.run-dot.(format!("c{}", place % 6)) {} }
}

/// How the runs of a group ended: each word once, with the number of runs.
fn endings(runs: &[RunData], group: &Group) -> Markup {
    let mut words: Vec<((&'static str, String), usize)> = Vec::new();
    for run in &group.runs {
        let tone = overview::tone(&runs[*run]);
        match words.iter_mut().find(|(known, _)| *known == tone) {
            Some((_, count)) => *count += 1,
            None => words.push((tone, 1)),
        }
    }
    html! { @for ((tone, word), count) in &words { span.verdict.(tone) { (word) @if *count > 1 { " × " (count) } } " " } }
}

fn interactive_charts(runs: &[RunData]) -> Markup {
    let present: Vec<Vec<&str>> =
        runs.iter().map(|run| panels::panels(run).iter().map(|panel| panel.id).collect()).collect();
    html! {
        div.block-head {
            h2 { "Overlaid, from the start of each run" }
            div.tools role="toolbar" aria-label="Zoom" {
                span.range.num data-range="compare" {}
                button.quiet type="button" data-reset="compare" disabled { "Reset zoom" }
            }
        }
        div.charts { @for id in panels::known_ids().filter(|id| present.iter().any(|ids| ids.contains(id))) {
            figure.chart { figcaption { h3 { (panels::title(id)) } } div.plot data-run="compare" data-panel=(id) {} }
        } }
    }
}

fn drawing(runs: &[RunData]) -> String {
    let options = PlotOptions { width: 1080, heading: false, ..PlotOptions::default() };
    // Runs without any series simply have no picture.
    plot::scene(runs, &options).map(|scene| plot::to_svg(&scene)).unwrap_or_default()
}

/// What the runs of a group know of a figure, in ascending order.
fn known(runs: &[RunData], group: &Group, what: What) -> Vec<f64> {
    let mut values: Vec<f64> = group.runs.iter().filter_map(|run| what.of(&runs[*run])?.as_f64()).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The median and its ratio, and the range below them.
fn cell(unit: Unit, values: &[f64], ratio: Markup) -> Markup {
    let text = |value: f64| figures::value(unit, &Figure::float(value, Quality::Exact));
    let (Some(lowest), Some(highest)) = (values.first(), values.last()) else { return html! { "–" } };
    html! {
        (text(compare::median(values).unwrap_or(*lowest))) (ratio)
        @if lowest < highest { br; span.faint { (text(*lowest)) " – " (text(*highest)) } }
    }
}

fn ratio(row: &[Vec<f64>], place: usize, verdict: Option<Verdict>) -> Markup {
    let of = |at: usize| row.get(at).and_then(|values| compare::median(values));
    match (place, of(0), of(place)) {
        (1.., Some(base), Some(value)) if base > 0.0 => {
            let (class, word) = match verdict {
                Some(Verdict::Regression) => ("more", " regression"),
                Some(Verdict::Improvement) => ("less", " improvement"),
                _ => ("same", ""),
            };
            html! { " " span.ratio.(class) { "×" (format::number(value / base)) (word) } }
        }
        _ => html! {},
    }
}
