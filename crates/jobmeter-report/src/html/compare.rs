//! Several runs: their key figures side by side with the ratio to the first, and one chart per kind overlaid.

use super::{figures, overview};
use crate::data::RunData;
use crate::format::{self, visible};
use crate::panels;
use crate::plot::{self, PlotOptions};
use jobmeter_model::{Figure, Quality, Scope};
use maud::{Markup, PreEscaped, html};

const ROWS: &[(&str, Scope, &str)] = &[
    ("Wall time", Scope::Combined, "wall_ns"),
    ("CPU time", Scope::Combined, "cpu_ns"),
    ("Cores in use, mean", Scope::Combined, "cores_used_mean"),
    ("Cores in use, highest", Scope::Combined, "cores_used_max"),
    ("Peak RAM", Scope::Combined, "rss_bytes_max"),
    ("RAM, mean", Scope::Combined, "rss_bytes_mean"),
    ("Peak GPU RAM", Scope::Combined, "gpu_memory_bytes_max"),
    ("GPU use, mean", Scope::Combined, "gpu_busy_ppm_mean"),
    ("Read from storage", Scope::Combined, "read_storage_bytes"),
    ("Written to storage", Scope::Combined, "write_storage_bytes"),
    ("Page faults, major", Scope::Combined, "faults_major"),
    ("Context switches, involuntary", Scope::Combined, "switches_involuntary"),
    ("Processes at once", Scope::Combined, "processes_max"),
    ("Network received (machine)", Scope::System, "net_receive_bytes"),
    ("Network sent (machine)", Scope::System, "net_transmit_bytes"),
];

pub(super) fn section(runs: &[RunData], interactive: bool) -> Markup {
    html! {
        section.block.compare aria-labelledby="compare-title" {
            h1 id="compare-title" { (runs.len()) " runs compared" }
            p.hint { "Ratios are to the first run." }
            div.scroll tabindex="0" { table.comparison {
                thead { tr { th scope="col" { "Figure" }
                    @for (index, run) in runs.iter().enumerate() {
                        th.num scope="col" { a href=(format!("#run-{index}")) { span.run-dot.(format!("c{}", index % 6)) {} " " bdi.name { (visible(&run.label, 120)) } } }
                    } } }
                tbody {
                    tr { th scope="row" { "Ended" } @for run in runs {
                        @let (tone, word) = overview::tone(run);
                        td.num { span.verdict.(tone) { (word) } } } }
                    @for (title, scope, key) in ROWS {
                        @let row: Vec<Option<Figure>> = runs.iter().map(|run| figure(run, *scope, key)).collect();
                        @if row.iter().flatten().any(|figure| figure.value.is_some()) {
                            tr { th scope="row" { (title) }
                                @for (index, figure) in row.iter().enumerate() {
                                    td.num { (value(key, figure.as_ref())) (ratio(index, &row)) } } }
                        }
                    }
                }
            } }
            @if interactive { (interactive_charts(runs)) }
            @else { div.drawn tabindex="0" { (PreEscaped(drawing(runs))) } }
        }
    }
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

fn figure(run: &RunData, scope: Scope, key: &str) -> Option<Figure> {
    if key == "wall_ns" {
        return run.summary.run.wall_ns.map(|wall| Figure::int(wall, Quality::Exact));
    }
    run.summary.scope(scope).get(key).cloned()
}

fn value(key: &str, figure: Option<&Figure>) -> String {
    figure.map_or("–".to_owned(), |figure| figures::value(key, figure))
}

fn ratio(index: usize, row: &[Option<Figure>]) -> Markup {
    let of = |at: usize| row.get(at).and_then(Option::as_ref).and_then(Figure::as_f64);
    match (index, of(0), of(index)) {
        (1.., Some(base), Some(value)) if base > 0.0 => {
            let ratio = value / base;
            let class = if ratio > 1.05 {
                "more"
            } else if ratio < 0.95 {
                "less"
            } else {
                "same"
            };
            html! { " " span.ratio.(class) { "×" (format::number(ratio)) } }
        }
        _ => html! {},
    }
}
