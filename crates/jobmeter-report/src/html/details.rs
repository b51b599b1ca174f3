//! The tables below the charts: phases, every figure of every scope, where it ran and how it was measured.

use super::{figures, overview};
use crate::data::RunData;
use crate::format::{self, visible};
use jobmeter_model::figure_id::describe_key;
use jobmeter_model::{Figure, FigureId, Scope, Unit};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Every figure, one column per scope.
pub(super) fn figures(run: &RunData) -> Markup {
    let has_containers = !run.summary.containers.is_empty();
    let shown = Scope::ALL.into_iter().filter(|scope| *scope != Scope::Containers || has_containers);
    let scopes: Vec<_> = shown.map(|scope| (heading(scope), run.summary.scope(scope))).collect();
    let keys: BTreeSet<&str> = scopes.iter().flat_map(|(_, figures)| figures.keys()).collect();
    let rows = in_table_order(keys);
    html! {
        section.block aria-label="Every figure" {
            details.fold {
                summary { h2 { "Every figure" } span.count { (rows.len()) ": of the main process, its descendants, both together and the machine" } }
                (overview::tiles(run))
                div.scroll tabindex="0" { table.figures {
                    thead { tr { th scope="col" { "Figure" }
                        @for (title, _) in &scopes { th.num scope="col" { (title) } } } }
                    tbody { @for (key, title, unit) in rows { tr {
                        th scope="row" { (title) " " code.key { (visible(key, 80)) } }
                        @for (_, figures) in &scopes { td.num { @if let Some(figure) = figures.by_key(key) { (cell(unit, figure)) } } }
                    } } }
                } }
            }
        }
    }
}

fn heading(scope: Scope) -> &'static str {
    match scope {
        Scope::Main => "Main",
        Scope::Descendants => "Descendants",
        Scope::Combined => "Combined",
        Scope::System => "Machine",
        Scope::Containers => "Containers",
    }
}

/// Key, title and unit in the order of the metric table, what it does not know at the end.
fn in_table_order(keys: BTreeSet<&str>) -> Vec<(&str, String, Unit)> {
    let mut rows: Vec<_> = keys
        .into_iter()
        .map(|key| {
            let (title, unit) = describe_key(Scope::Combined, None, key);
            let id = FigureId::parse(Scope::Combined, None, key);
            let place = id.map_or((usize::MAX, None), |id| (id.metric as usize, Some(id.stat)));
            (place, (key, title, unit))
        })
        .collect();
    rows.sort_by_key(|(place, _)| *place);
    rows.into_iter().map(|(_, row)| row).collect()
}

pub(super) fn cell(unit: Unit, figure: &Figure) -> Markup {
    let (class, word) = figures::quality(figure.quality);
    let mut hint = word.to_owned();
    for more in [figures::bounds(unit, figure), figure.reason.as_ref().map(|reason| visible(reason, 300))]
        .into_iter()
        .flatten()
    {
        hint = format!("{hint}: {more}");
    }
    html! {
        span title=(format!("{} ({hint})", figures::raw(figure))) { (figures::value(unit, figure)) }
        " " span.dot.(class) role="img" aria-label=(hint) {}
    }
}

pub(super) fn host(run: &RunData) -> Markup {
    let info = &run.summary.run;
    let limits = &run.summary.limits;
    let overhead = &run.summary.overhead;
    let wall_ns = info.wall_ns.filter(|wall_ns| *wall_ns > 0);
    let share = overhead.cpu_ns.zip(wall_ns).map(|(cpu_ns, wall_ns)| cpu_ns as f64 / wall_ns as f64 * 100.0);
    let unlimited = || "none".to_owned();
    let rows: Vec<(&str, String)> = vec![
        ("Host", visible(&info.host, 200)),
        ("Kernel", visible(&info.kernel, 300)),
        ("Working directory", visible(&info.cwd, 1_000)),
        (
            "Run",
            format!("{}, mode {}, PID {}", visible(&info.id, 80), visible(info.mode.as_str(), 40), info.pid),
        ),
        (
            "Cores",
            format!(
                "{} for the job, {} in the machine",
                format::number(info.expected_cores),
                info.system_cores
            ),
        ),
        (
            "CPU quota",
            limits.cgroup_cores.map_or_else(unlimited, |cores| format!("{} cores", format::number(cores))),
        ),
        ("Memory limit", limits.cgroup_memory_bytes.map_or_else(unlimited, format::bytes)),
        ("How the end is known", visible(&run.summary.verdict.evidence.join("; "), 2_000)),
        (
            "Ticks",
            format!(
                "{} taken, {} late, {} skipped",
                format::count(info.ticks),
                format::count(info.late_ticks),
                format::count(info.skipped_ticks)
            ),
        ),
        (
            "Cost of measuring",
            format!(
                "{}{}{}",
                overhead.cpu_ns.map_or_else(
                    || "not recorded".to_owned(),
                    |cpu_ns| format!("{} of CPU", format::duration(cpu_ns))
                ),
                share.map_or(String::new(), |share| format!(" ({} % of one core)", format::number(share))),
                overhead
                    .peak_rss_bytes
                    .map_or(String::new(), |bytes| format!(", {} of RAM", format::bytes(bytes)))
            ),
        ),
    ];
    html! {
        section.block aria-label="Where and how" { details.fold {
            summary { h2 { "Where and how" } span.count { bdi { (visible(&overview::hosts(run), 100)) } } }
            div.two {
            div {
                h3 { "Where it ran" }
                dl { @for (term, value) in rows.iter().filter(|(_, value)| !value.is_empty()) { dt { (term) } dd { bdi { (value) } } } }
            }
            @if !run.summary.sources.is_empty() { div {
                h3 { "How it was measured" }
                ul.sources { @for source in &run.summary.sources {
                    li { span.dot.(if source.used { "exact" } else { "missing" }) role="img" aria-label=(if source.used { "used" } else { "not used" }) {}
                        " " b { (visible(&source.name, 60)) } " " span.faint { (visible(&source.detail, 600)) } }
                } }
                p.legend {
                    span { span.dot.exact {} " exact" } span { span.dot.sampled {} " sampled" }
                    span { span.dot.lower {} " lower bound" } span { span.dot.estimate {} " estimate" } span { span.dot.missing {} " not available" }
                }
            } }
            }
        } }
    }
}
