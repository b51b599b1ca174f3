//! The tables below the charts: phases, every figure of every scope, where it ran and how it was measured.

use super::{figures, overview};
use crate::data::RunData;
use crate::format::{self, visible};
use jobmeter_model::{Figure, Scope};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Every figure, one column per scope.
pub(super) fn figures(run: &RunData) -> Markup {
    let scopes = Scope::ALL.map(|scope| run.summary.scope(scope));
    let keys: BTreeSet<&String> = scopes.iter().flat_map(|figures| figures.keys()).collect();
    let keys = in_table_order(keys);
    html! {
        section.block aria-label="Every figure" {
            details.fold {
                summary { h2 { "Every figure" } span.count { (keys.len()) ": of the main process, its descendants, both together and the machine" } }
                (overview::tiles(run))
                div.scroll tabindex="0" { table.figures {
                    thead { tr { th scope="col" { "Figure" }
                        @for title in ["Main", "Descendants", "Combined", "Machine"] { th.num scope="col" { (title) } } } }
                    tbody { @for key in keys { tr {
                        th scope="row" { (figures::meaning(key).title) " " code.key { (visible(key, 80)) } }
                        @for figures in &scopes { td.num { @if let Some(figure) = figures.get(key) { (cell(key, figure)) } } }
                    } } }
                } }
            }
        }
    }
}

/// Keys in the order of the metric table, what it does not know at the end.
fn in_table_order(keys: BTreeSet<&String>) -> Vec<&String> {
    let place = |key: &str| {
        let row =
            jobmeter_model::metric::TABLE.iter().enumerate().filter(|(_, row)| key.starts_with(row.key));
        row.max_by_key(|(_, row)| row.key.len()).map_or(usize::MAX, |(index, _)| index)
    };
    let mut keys: Vec<&String> = keys.into_iter().collect();
    keys.sort_by_key(|key| {
        if key.starts_with("cores_used") || key.starts_with("hardware") { 0 } else { place(key) }
    });
    keys
}

pub(super) fn cell(key: &str, figure: &Figure) -> Markup {
    let (class, word) = figures::quality(figure.quality);
    let mut hint = word.to_owned();
    for more in [figures::bounds(key, figure), figure.reason.as_ref().map(|reason| visible(reason, 300))]
        .into_iter()
        .flatten()
    {
        hint = format!("{hint}: {more}");
    }
    html! {
        span title=(format!("{} ({hint})", figures::raw(figure))) { (figures::value(key, figure)) }
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
        ("Run", format!("{}, mode {}, PID {}", visible(&info.id, 80), visible(&info.mode, 40), info.pid)),
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
        (
            "Memory limit",
            limits.cgroup_memory_bytes.map_or_else(unlimited, |bytes| format::bytes(bytes as f64)),
        ),
        (
            "Ticks",
            format!(
                "{} taken, {} late, {} skipped",
                format::grouped(info.ticks as i64),
                format::grouped(info.late_ticks as i64),
                format::grouped(info.skipped_ticks as i64)
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
                    .map_or(String::new(), |bytes| format!(", {} of RAM", format::bytes(bytes as f64)))
            ),
        ),
    ];
    html! {
        section.block aria-label="Where and how" { details.fold {
            summary { h2 { "Where and how" } span.count { bdi { (visible(&info.host, 100)) } } }
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
