//! One run from top to bottom: verdict, key figures and advice in one screen with the first charts; then doubts, phases
//! and processes; folded below them snippets, cost, every figure, and where it ran.

use super::overview::Among;
use super::{details, entities, overview, phases, ranks, server};
use crate::data::RunData;
use crate::error::Error;
use crate::format;
use crate::format::visible;
use crate::panels::{self, Panel};
use crate::plot::{self, PlotOptions};
use maud::{Markup, PreEscaped, html};

pub(super) fn section(
    index: usize,
    run: &RunData,
    among: Option<Among<'_>>,
    interactive: bool,
) -> Result<Markup, Error> {
    let charts = charts(index, run, interactive)?;
    Ok(html! {
        section.run id=(format!("run-{index}")) data-run=(index) aria-labelledby=(format!("run-{index}-title")) {
            (overview::head(index, run, among))
            (overview::cards(run))
            (overview::next_line(index, run))
            (charts)
            (ranks::section(index, run, interactive))
            (overview::gpu_line(run))
            (overview::warnings(index, run))
            (phases::table(run))
            (processes(index, run, interactive))
            (overview::advice(index, run))
            (server::section(index, run))
            (details::figures(run))
            (entities::tables(run))
            (details::host(run))
        }
    })
}

fn charts(index: usize, run: &RunData, interactive: bool) -> Result<Markup, Error> {
    let panels = panels::panels(run);
    let (cores, idle) = (panels::cores(run), panels::idle(run));
    if panels.is_empty() && cores.is_empty() && idle.is_empty() {
        return Ok(html! { p.notice { "No time series was recorded in this run." } });
    }
    // A point is no course.
    if !run.series.iter().any(|series| series.points.iter().flatten().nth(1).is_some()) {
        return Ok(
            html! { p.notice { "The job was over before a second look at it, so there is nothing to draw over time." } },
        );
    }
    let drawn: Vec<String> = if interactive {
        Vec::new()
    } else {
        panels.iter().enumerate().map(|(at, panel)| drawing(run, panel, at < 2)).collect::<Result<_, _>>()?
    };
    let title_id = format!("run-{index}-charts");
    Ok(html! {
        section.block aria-labelledby=(title_id) {
            div.block-head {
                h2 id=(title_id) { "Over time" }
                @if interactive {
                    div.tools role="toolbar" aria-label="Zoom" {
                        span.range.num data-range=(index) {}
                        button.quiet type="button" data-reset=(index) disabled { "Reset zoom" }
                    }
                }
            }
            div.charts {
                @if interactive && !run.spans.is_empty() {
                    // One above each column: the time of a strip is that of the charts below it.
                    div.phase-strip data-phases=(index) {}
                    div.phase-strip.second data-phases=(index) {}
                }
                @for (at, panel) in panels.iter().enumerate() {
                    figure.chart {
                        // A drawing bears its title.
                        figcaption.hidden[!interactive] { h3 { (panel.title) } }
                        @if interactive {
                            div.plot data-run=(index) data-panel=(panel.id) {}
                        } @else {
                            div.drawn tabindex="0" { (PreEscaped(drawn.get(at).map_or("", String::as_str))) }
                        }
                        @if !panel.zero.is_empty() { p.zero { "Zero throughout: " (few(&panel.zero)) } }
                        (table(panel))
                    }
                    // Below the first two, which stand side by side.
                    @if interactive && !cores.is_empty() && at + 1 == panels.len().min(2) { (heat(index, run)) }
                }
                @if interactive && !cores.is_empty() && panels.is_empty() { (heat(index, run)) }
            }
            @if !idle.is_empty() { p.zero { "Zero throughout, so not drawn: " (idle.join("; ")) } }
            @if interactive {
                p.hint { "Drag across a chart to zoom, double-click to reset. With the keyboard: arrow keys move, plus and minus zoom, Escape resets." }
            }
        }
    })
}

/// The first names of a list and the number of the others; names of devices may be hostile.
fn few(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let names = whole_devices(names);
    let mut text = names.iter().take(SHOWN).map(|name| visible(name, 60)).collect::<Vec<_>>().join("; ");
    if names.len() > SHOWN {
        text += &format!("; and {} more", names.len() - SHOWN);
    }
    text
}

/// A device of which both directions are there, `sda, read` and `sda, written`, is named once: `sda`.
fn whole_devices(names: &[String]) -> Vec<&str> {
    let mut whole: Vec<&str> = Vec::new();
    for name in names {
        let shown = match name.rsplit_once(", ") {
            Some((device, _)) if of_device(names, device) > 1 => device,
            _ => name,
        };
        if !whole.contains(&shown) {
            whole.push(shown);
        }
    }
    whole
}

/// How many of the names are of this device.
fn of_device(names: &[String], device: &str) -> usize {
    names.iter().filter(|name| name.rsplit_once(", ").is_some_and(|(known, _)| known == device)).count()
}

/// Phases are named above the first of each column only; their tints go down through all.
fn drawing(run: &RunData, panel: &Panel<'_>, names: bool) -> Result<String, Error> {
    let options = PlotOptions {
        // Two stand side by side on a desk.
        width: 600,
        panels: Some(vec![panel.id.to_owned()]),
        heading: false,
        names,
        ..PlotOptions::default()
    };
    Ok(plot::to_svg(&plot::scene(std::slice::from_ref(run), &options)?))
}

/// The chart in numbers, for screen readers, paper and copying.
fn table(panel: &Panel<'_>) -> Markup {
    html! {
        details.alt {
            summary { "Figures of this chart" }
            div.scroll tabindex="0" { table {
                thead { tr { th scope="col" { "Line" } th.num scope="col" { "Lowest" } th.num scope="col" { "Highest" } th.num scope="col" { "Highest at" } } }
                tbody {
                    @for line in &panel.lines {
                        @let lowest = line.series.points.iter().flatten().map(|point| point.min).reduce(f64::min);
                        tr {
                            th scope="row" { bdi.name { (visible(&line.label, 200)) } }
                            td.num { (lowest.map_or("–".to_owned(), |value| format::measure(panel.measure, value))) }
                            td.num { (line.series.peak.map_or("–".to_owned(), |peak| format::measure(panel.measure, peak.value))) }
                            td.num { (line.series.peak.map_or("–".to_owned(), |peak| format::duration(peak.t_ns))) }
                        }
                    }
                    @for limit in panel.limits.iter().chain(&panel.bound) {
                        tr { th scope="row" { (limit.label) } td.num { "–" } td.num { (format::measure(panel.measure, limit.value)) } td.num { "–" } }
                    }
                }
            } }
        }
    }
}

fn heat(index: usize, run: &RunData) -> Markup {
    let cores = panels::cores(run);
    html! {
        figure.chart {
            figcaption { h3 { "Each core, share of time busy" } }
            div.heat data-run=(index) {}
            details.alt {
                summary { "Figures of this chart" }
                div.scroll tabindex="0" { table {
                    thead { tr { th scope="col" { "Core" } th.num scope="col" { "Highest" } th.num scope="col" { "Highest at" } } }
                    tbody {
                        @for core in cores {
                            tr {
                                th scope="row" { bdi { (visible(core.column.entity.as_ref().map_or("", |entity| &entity.name), 20)) } }
                                td.num { (core.peak.map_or("–".to_owned(), |peak| format::measure(core.measure, peak.value))) }
                                td.num { (core.peak.map_or("–".to_owned(), |peak| format::duration(peak.t_ns))) }
                            }
                        }
                    }
                } }
            }
        }
    }
}

/// Rows of the table of processes; the timeline shows all.
const PROCESS_ROWS: usize = 100;

fn processes(index: usize, run: &RunData, interactive: bool) -> Markup {
    if run.processes.is_empty() {
        return html! {};
    }
    let total = run.processes.len() as u64 + run.processes_omitted;
    let mut rows: Vec<_> = run.processes.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.cpu_ns, row.peak_rss_bytes)));
    let title_id = format!("run-{index}-processes");
    html! {
        section.block aria-labelledby=(title_id) {
            div.block-head {
                h2 id=(title_id) { "Processes" }
                span.count { (format::count(total)) " lived" }
            }
            @if run.processes_omitted > 0 {
                p.hint { "The " (format::count(run.processes.len() as u64)) " longest-lived are shown." }
            }
            @if interactive { div.gantt data-run=(index) {} }
            details.alt {
                summary { (table_title(rows.len())) }
                div.scroll tabindex="0" { table {
                    thead { tr {
                        th scope="col" { "Process" } th.num scope="col" { "PID" } th.num scope="col" { "Parent" }
                        th.num scope="col" { "Start" } th.num scope="col" { "Lived" } th.num scope="col" { "CPU" }
                        th.num scope="col" { "Peak RAM" } th.end scope="col" { "End" }
                    } }
                    tbody { @for row in rows.into_iter().take(PROCESS_ROWS) { tr {
                        th scope="row" { bdi.name { (visible(row.command.as_deref().unwrap_or(&row.name), 1_000)) } }
                        td.num { (row.pid) }
                        td.num { (row.parent_pid) }
                        td.num { (format::duration(row.start_ns)) }
                        td.num { (row.end_ns.map_or("–".to_owned(), |end| format::duration(end.saturating_sub(row.start_ns)))) }
                        td.num { (row.cpu_ns.map_or("–".to_owned(), format::duration)) }
                        td.num { (row.peak_rss_bytes.map_or("–".to_owned(), format::bytes)) }
                        td.end { (ending(row.end_ns, row.wait_status)) }
                    } } }
                } }
            }
        }
    }
}

fn table_title(processes: usize) -> String {
    match processes {
        1 => "Table of the process".to_owned(),
        few if few <= PROCESS_ROWS => format!("Table of the {few} processes, the busiest first"),
        _ => format!("Table of the {PROCESS_ROWS} processes that used the most CPU"),
    }
}

/// What `wait` said, decoded: the low seven bits are the signal, the next byte the exit code.
fn ending(end_ns: Option<u64>, status: Option<i32>) -> String {
    match (end_ns, status) {
        (None, _) => "still running".to_owned(),
        (Some(_), None) => "unknown".to_owned(),
        (Some(_), Some(status)) if status & 0x7f == 0 => format!("exit {}", status >> 8 & 0xff),
        (Some(_), Some(status)) => format!("signal {}", status & 0x7f),
    }
}
