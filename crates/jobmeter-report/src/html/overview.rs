//! What a reader wants first: how it ended, what it needed, what to ask for next time, what to doubt.

use super::figures;
use crate::data::RunData;
use crate::format::{self, visible};
use jobmeter_core::{Figure, Figures, Quality};
use maud::{Markup, html};

/// Longest command line that is shown whole.
const COMMAND_LIMIT: usize = 16_000;

pub(super) fn head(index: usize, run: &RunData, several: bool) -> Markup {
    let info = &run.summary.run;
    let verdict = &run.summary.verdict;
    let (tone, word) = tone(run);
    let command = visible(&format::command_line(&info.command), COMMAND_LIMIT);
    html! {
        div.head {
            div.head-line {
                span.verdict.(tone) { (word) }
                @if several { span.run-dot.(format!("c{}", index % 6)) {} }
                h1 id=(format!("run-{index}-title")) { bdi.name { (visible(&run.label, 400)) } }
            }
            p.verdict-text { (format::sentence(&visible(&verdict.text, 2_000))) }
            @if !verdict.evidence.is_empty() {
                ul.evidence { @for line in &verdict.evidence { li { (visible(line, 1_000)) } } }
            }
            @if !info.command.is_empty() {
                div.command { code tabindex="0" { bdi { (command) } } (copy()) }
            }
            p.meta {
                @if !info.host.is_empty() { span { bdi { (visible(&info.host, 100)) } } }
                @if info.started_unix_ns > 0 { span { (format::instant(info.started_unix_ns)) } }
                span { (format::grouped(info.ticks as i64)) " ticks"
                    @if let Some(interval) = info.interval_ns { ", every " (format::duration(interval)) } @else { ", adaptive" } }
                @for (key, value) in &info.tags { span.tag { bdi { (visible(key, 60)) "=" (visible(value, 120)) } } }
            }
        }
    }
}

/// Copies the code beside it; shown only where scripts run.
fn copy() -> Markup {
    html! { button.copy type="button" data-copy hidden { "Copy" } }
}

/// Colour and word of the verdict.
pub(super) fn tone(run: &RunData) -> (&'static str, String) {
    let verdict = &run.summary.verdict;
    match (verdict.kind.as_str(), verdict.exit_code) {
        ("exited", Some(0)) => ("good", "Succeeded".to_owned()),
        ("exited", Some(code)) => ("bad", format!("Failed, exit {code}")),
        ("signaled", _) => {
            ("bad", verdict.signal.map_or("Killed".to_owned(), |signal| format!("Signal {signal}")))
        }
        ("oom_killed", _) => ("bad", "Out of memory".to_owned()),
        ("timeout", _) => ("bad", "Time limit".to_owned()),
        ("detached", _) => ("calm", "Detached".to_owned()),
        ("crashed", _) => ("doubt", "Record ends early".to_owned()),
        _ => ("doubt", "End unknown".to_owned()),
    }
}

/// A key figure: its name, the figure, and a line below it.
struct Tile {
    title: &'static str,
    key: &'static str,
    figure: Figure,
    note: Option<String>,
}

pub(super) fn tiles(run: &RunData) -> Markup {
    html! {
        section.tiles aria-label="Key figures" {
            @for tile in gather(run) {
                @let (class, word) = figures::quality(tile.figure.quality);
                div.tile {
                    p.tile-title { (tile.title) }
                    p.tile-value.num title=(figures::raw(&tile.figure)) { (figures::value(tile.key, &tile.figure)) }
                    @if let Some(note) = &tile.note { p.tile-note { (note) } }
                    p.tile-quality { span.quality.(class) { (word) }
                        @if let Some(bounds) = figures::bounds(tile.key, &tile.figure) { " " span.bounds { (bounds) } } }
                    @if let Some(reason) = &tile.figure.reason { p.tile-reason { (visible(reason, 300)) } }
                }
            }
        }
    }
}

fn gather(run: &RunData) -> Vec<Tile> {
    let summary = &run.summary;
    let (job, system) = (&summary.combined, &summary.system);
    let mut tiles = Vec::new();
    if let Some(wall) = summary.run.wall_ns {
        let figure = Figure::int(wall, Quality::Exact);
        tiles.push(Tile {
            title: "Wall time",
            key: "wall_ns",
            figure,
            note: Some(format!("{} s", format::grouped((wall as f64 / 1e9).round() as i64)))
                .filter(|_| wall >= 100_000_000_000),
        });
    }
    let mut add = |title, figures: &Figures, key: &'static str, note: Option<String>| {
        if let Some(figure) = figures.get(key) {
            tiles.push(Tile { title, key, figure: figure.clone(), note });
        }
    };
    add("CPU time", job, "cpu_ns", cores_note(run));
    add("Peak RAM", job, "rss_bytes_max", memory_note(run));
    if !summary.gpus.is_empty() {
        add("Peak GPU RAM", job, "gpu_memory_bytes_max", pair(job, "mean ", "gpu_memory_bytes_mean", ""));
        add("GPU use, mean", job, "gpu_busy_ppm_mean", pair(job, "highest ", "gpu_busy_ppm_max", ""));
    }
    add("Read from storage", job, "read_storage_bytes", pair(job, "", "read_chars_bytes", " by read calls"));
    add(
        "Written to storage",
        job,
        "write_storage_bytes",
        pair(job, "", "write_chars_bytes", " by write calls"),
    );
    add(
        "Network received",
        system,
        "net_receive_bytes",
        pair(system, "", "net_transmit_bytes", " sent; whole machine"),
    );
    add("Processes at once", job, "processes_max", lived_note(run));
    tiles
}

fn pair(figures: &Figures, before: &str, key: &str, after: &str) -> Option<String> {
    let figure = figures.get(key).filter(|figure| figure.value.is_some())?;
    Some(format!("{before}{}{after}", figures::value(key, figure)))
}

fn cores_note(run: &RunData) -> Option<String> {
    let mean = run.summary.combined.get("cores_used_mean")?.as_f64()?;
    let of = run.summary.run.expected_cores;
    let share = if of > 0.0 {
        format!(" of {}, {} %", format::number(of), format::number(mean / of * 100.0))
    } else {
        String::new()
    };
    Some(format!("{} cores on average{share}", format::number(mean)))
}

fn memory_note(run: &RunData) -> Option<String> {
    let peak = run.summary.combined.get("rss_bytes_max")?.as_f64()?;
    let machine = ["memory_total_bytes_max", "memory_total_bytes"]
        .iter()
        .find_map(|key| run.summary.system.get(*key)?.as_u64());
    let (limit, what) = match (run.summary.limits.cgroup_memory_bytes, machine) {
        (Some(limit), _) => (limit, "allowed"),
        (None, Some(total)) => (total, "in the machine"),
        (None, None) => return None,
    };
    let share = peak / limit.max(1) as f64 * 100.0;
    Some(format!("{} % of {} {what}", format::number(share), format::bytes(limit as f64)))
}

fn lived_note(run: &RunData) -> Option<String> {
    let lived = run.processes.len() as u64 + run.processes_omitted;
    (lived > 0).then(|| format!("{} lived in all", format::grouped(lived as i64)))
}

pub(super) fn warnings(run: &RunData) -> Markup {
    if run.summary.warnings.is_empty() {
        return html! {};
    }
    html! {
        section.callout.doubt aria-label="Warnings" {
            h2 { "What to doubt" }
            ul { @for warning in &run.summary.warnings {
                li { span.kind { (visible(&warning.kind.replace('_', " "), 60)) } " " (visible(&warning.text, 2_000)) }
            } }
        }
    }
}

pub(super) fn advice(run: &RunData) -> Markup {
    let Some(advice) = run.advice.as_ref().filter(|advice| !advice.lines.is_empty()) else { return html! {} };
    html! {
        section.callout.advice aria-label="Advice" {
            h2 { "For the next run" }
            ul { @for line in &advice.lines { li { (visible(line, 2_000)) } } }
            div.snippets { @for snippet in &advice.snippets {
                div.snippet {
                    div.snippet-head { span { (visible(&snippet.title, 100)) } (copy()) }
                    pre tabindex="0" { code { (snippet.text) } }
                }
            } }
        }
    }
}
