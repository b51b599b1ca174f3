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
            (finding(runs, groups))
            p.hint {
                @if groups.all.len() > 1 { "Ratios are to the first. " }
                @if groups.are_sets() { "Of several runs the median is shown, with the lowest and the highest below it. " }
                "Green and red mark differences that a comparison of the sets can tell from noise; it takes several runs of each."
            }
            @let (apart, same): (Vec<Row>, Vec<Row>) = rows(runs, groups).into_iter().partition(|row| groups.all.len() < 2 || row.differs());
            (table(groups, &apart, Some(runs)))
            @if !same.is_empty() {
                details.alt { summary { (same.len()) (if same.len() == 1 { " figure is" } else { " figures are" }) " the same" }
                    (table(groups, &same, None)) }
            }
            @if groups.are_sets() { (each_run(runs, groups)) }
            @if interactive { (interactive_charts(runs)) }
            @else { div.drawn tabindex="0" { (PreEscaped(drawing(runs))) } }
        }
    }
}

/// A row of the comparison with its values, one list per group.
struct Row {
    title: &'static str,
    what: What,
    values: Vec<Vec<f64>>,
}

impl Row {
    /// Whether a reader sees a difference: a ratio that is not 1, or a figure that some groups do not know.
    fn differs(&self) -> bool {
        let medians: Vec<Option<f64>> = self.values.iter().map(|values| compare::median(values)).collect();
        let is_base = |median: &Option<f64>| match (medians[0], median) {
            (Some(base), Some(value)) if base > 0.0 => format::number(value / base) == "1",
            (base, value) => base == *value,
        };
        !medians.iter().all(is_base)
    }
}

fn rows(runs: &[RunData], groups: &Groups) -> Vec<Row> {
    let row = |(title, what): &(&'static str, What)| {
        let values: Vec<Vec<f64>> = groups.all.iter().map(|group| known(runs, group, *what)).collect();
        let is_known = values.iter().any(|values| !values.is_empty());
        is_known.then_some(Row { title, what: *what, values })
    };
    ROWS.iter().filter_map(row).collect()
}

/// What the comparison of the sets found, set by set, before any table.
fn finding(runs: &[RunData], groups: &Groups) -> Markup {
    let rows = rows(runs, groups);
    let of = |place: usize, verdict: Verdict| {
        let found = rows.iter().filter(|row| row.what.verdict(groups, place) == Some(verdict));
        let named = found.map(|row| {
            let median = |at: usize| compare::median(&row.values[at]);
            let ratio = median(0).zip(median(place)).filter(|(base, _)| *base > 0.0);
            let ratio = ratio.map(|(base, value)| format!(" ×{}", format::number(value / base)));
            format!("{}{}", row.title, ratio.unwrap_or_default())
        });
        named.collect::<Vec<_>>().join(", ")
    };
    html! {
        @for place in 1..groups.all.len() {
            @let (worse, better) = (of(place, Verdict::Regression), of(place, Verdict::Improvement));
            @if !worse.is_empty() || !better.is_empty() {
                p.finding { b { bdi { (groups.all[place].label) } } ": "
                    @if !worse.is_empty() { span.ratio.more { "regression" } " in " (worse) }
                    @if !worse.is_empty() && !better.is_empty() { "; " }
                    @if !better.is_empty() { span.ratio.less { "improvement" } " in " (better) } }
            }
        }
    }
}

/// One column per group; where `runs` are given, first how they ended.
fn table(groups: &Groups, rows: &[Row], runs: Option<&[RunData]>) -> Markup {
    html! {
        div.scroll tabindex="0" { table.comparison {
            thead { tr { th scope="col" { "Figure" }
                @for (place, group) in groups.all.iter().enumerate() {
                    th.num scope="col" { a href=(format!("#run-{}", group.runs[0])) { (dot(place)) " " bdi.name { (group.label) } }
                        @if group.runs.len() > 1 { span.facts { (group.runs.len()) " runs" } } }
                } } }
            tbody {
                @if let Some(runs) = runs { tr { th scope="row" { "Ended" } @for group in &groups.all { td.num { (endings(runs, group)) } } } }
                @for row in rows {
                    tr { th scope="row" { (row.title) }
                        @for (place, values) in row.values.iter().enumerate() {
                            td.num { (cell(row.what.unit(), values, ratio(&row.values, place, row.what.verdict(groups, place)))) } } }
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
        @if lowest < highest { br; span.faint { span.amount { (text(*lowest)) } " – " span.amount { (text(*highest)) } } }
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
