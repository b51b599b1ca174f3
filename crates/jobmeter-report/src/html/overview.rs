//! What a reader wants first: how it ended, what it needed, what to ask for next time, what to doubt.

use super::figures;
use crate::data::RunData;
use crate::format::{self, visible};
use jobmeter_model::{Figure, Figures, Quality};
use maud::{Markup, html};

/// Longest command line that is shown whole.
const COMMAND_LIMIT: usize = 16_000;

/// Where a run stands among several: the colour of its lines, and what tells it from others of its name.
pub(super) struct Among<'a> {
    pub(super) color: usize,
    pub(super) note: &'a str,
}

pub(super) fn head(index: usize, run: &RunData, among: Option<Among<'_>>) -> Markup {
    let info = &run.summary.run;
    let verdict = &run.summary.verdict;
    let (tone, word) = tone(run);
    let command = visible_lines(&format::command_line(&info.command), COMMAND_LIMIT);
    html! {
        div.head {
            div.head-line {
                span.verdict.(tone) { (word) }
                @if let Some(among) = &among { span.run-dot.(format!("c{}", among.color)) {} }
                h1 id=(format!("run-{index}-title")) { bdi.name { (visible(&run.label, 400))
                    @if let Some(among) = among.filter(|among| !among.note.is_empty()) { span.note-of-run { " " (among.note) } } } }
            }
            div.verdict-text.failed[tone == "bad"] {
                p { (format::sentence(&visible(&verdict.text, 2_000))) }
                @if !verdict.evidence.is_empty() {
                    ul.evidence { @for line in &verdict.evidence { li { (visible(line, 1_000)) } } }
                }
            }
            @if !info.command.is_empty() {
                div.command { code tabindex="0" { bdi { (command) } } (copy()) }
            }
            p.meta {
                @if !info.host.is_empty() { span { bdi { (visible(&info.host, 100)) } } }
                @if info.started_unix_ns > 0 { span { (format::instant(info.started_unix_ns)) } }
                span { (format::grouped(info.ticks as i64)) (if info.ticks == 1 { " tick" } else { " ticks" })
                    @if let Some(interval) = info.interval_ns { ", every " (format::duration(interval)) } @else { ", adaptive" } }
                @for (key, value) in &info.tags { span.tag { bdi { (visible(key, 60)) "=" (visible(value, 120)) } } }
            }
        }
    }
}

/// As [`visible`], but line ends stay: a script given to a shell is copied as it was written.
fn visible_lines(text: &str, limit: usize) -> String {
    let mut left = limit;
    let mut lines = Vec::new();
    for line in text.split('\n') {
        lines.push(visible(line, left));
        let length = line.chars().count() + 1;
        if length > left {
            break;
        }
        left -= length;
    }
    lines.join("\n")
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
    /// Said behind the value: `busy`, `read`.
    word: &'static str,
    note: Option<String>,
}

/// The four that most people want: time, memory, CPU, and the GPU or else the disk.
pub(super) fn cards(run: &RunData) -> Markup {
    let (job, mut tiles) = (&run.summary.combined, Vec::new());
    if let Some(wall) = run.summary.run.wall_ns {
        let seconds = format::grouped((wall as f64 / 1e9).round() as i64);
        let note = Some(format!("{seconds} s")).filter(|_| wall >= 100_000_000_000);
        tiles.push(Tile {
            title: "Time",
            key: "wall_ns",
            figure: Figure::int(wall, Quality::Exact),
            word: "",
            note,
        });
    }
    add(&mut tiles, "Peak memory", job, "rss_bytes_max", "", memory_note(run));
    add(&mut tiles, "CPU time", job, "cpu_ns", "", cores_note(run));
    let gpu_note = pair(job, "", "gpu_memory_bytes_max", " of GPU memory at most");
    if run.summary.gpus.is_empty() || !add(&mut tiles, "GPU", job, "gpu_busy_ppm_mean", "busy", gpu_note) {
        let note = pair(job, "", "write_storage_bytes", " written");
        add(&mut tiles, "Disk", job, "read_storage_bytes", "read", note);
    }
    html! { section.tiles.cards aria-label="Key figures" { @for tile in &tiles { (show(tile)) } } }
}

/// The others, for who looks further.
pub(super) fn tiles(run: &RunData) -> Markup {
    let (job, system, mut tiles) = (&run.summary.combined, &run.summary.system, Vec::new());
    let read_note = pair(job, "", "read_chars_bytes", " by read calls");
    let write_note = pair(job, "", "write_chars_bytes", " by write calls");
    let net_note = pair(system, "", "net_transmit_bytes", " sent; whole machine");
    if !run.summary.gpus.is_empty() {
        let note = pair(job, "mean ", "gpu_memory_bytes_mean", "");
        add(&mut tiles, "Peak GPU memory", job, "gpu_memory_bytes_max", "", note);
        let note = pair(job, "mean ", "gpu_busy_ppm_mean", "");
        add(&mut tiles, "GPU use, highest", job, "gpu_busy_ppm_max", "", note);
    }
    add(&mut tiles, "Read from storage", job, "read_storage_bytes", "", read_note);
    add(&mut tiles, "Written to storage", job, "write_storage_bytes", "", write_note);
    add(&mut tiles, "Network received", system, "net_receive_bytes", "", net_note);
    add(&mut tiles, "Processes at once", job, "processes_max", "", lived_note(run));
    if tiles.is_empty() {
        return html! {};
    }
    html! { div.tiles { @for tile in &tiles { (show(tile)) } } }
}

fn show(tile: &Tile) -> Markup {
    let (class, word) = figures::quality(tile.figure.quality);
    html! {
        div.tile {
            p.tile-title { (tile.title) }
            p.tile-value.num title=(figures::raw(&tile.figure)) { (figures::value(tile.key, &tile.figure))
                @if !tile.word.is_empty() && tile.figure.value.is_some() { span.tile-word { " " (tile.word) } } }
            @if let Some(note) = &tile.note { p.tile-note { (note) } }
            p.tile-quality { span.quality.(class) { (word) }
                @if let Some(bounds) = figures::bounds(tile.key, &tile.figure) { " " span.bounds { (bounds) } } }
            @if let Some(reason) = &tile.figure.reason { p.tile-reason { (visible(reason, 300)) } }
        }
    }
}

/// Adds a tile where the figure is there, known or not; says whether it is.
fn add(
    tiles: &mut Vec<Tile>,
    title: &'static str,
    figures: &Figures,
    key: &'static str,
    word: &'static str,
    note: Option<String>,
) -> bool {
    let Some(figure) = figures.get(key) else { return false };
    tiles.push(Tile { title, key, figure: figure.clone(), word, note });
    true
}

fn pair(figures: &Figures, before: &str, key: &str, after: &str) -> Option<String> {
    let figure = figures.get(key).filter(|figure| figure.value.is_some())?;
    Some(format!("{before}{}{after}", figures::value(key, figure)))
}

fn cores_note(run: &RunData) -> Option<String> {
    let mean = run.summary.combined.get("cores_used_mean")?.as_f64()?;
    let most = run.summary.combined.get("cores_used_max").and_then(Figure::as_f64);
    let of = run.summary.run.expected_cores;
    let all = if of > 0.0 { format!(" of {}", format::number(of)) } else { String::new() };
    let most = most.map_or(String::new(), |most| format!(", {} at most", format::number(most)));
    Some(format!("{}{all} cores on average{most}", format::number(mean)))
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
    // Nobody reads 4.9e-5 %.
    let share = if share < 0.01 { "under 0.01".to_owned() } else { format::number(share) };
    Some(format!("{share} % of {} {what}", format::bytes(limit as f64)))
}

fn lived_note(run: &RunData) -> Option<String> {
    let lived = run.processes.len() as u64 + run.processes_omitted;
    (lived > 0).then(|| format!("{} lived in all", format::grouped(lived as i64)))
}

/// One line: what became of the GPUs that the job could use.
pub(super) fn gpu_line(run: &RunData) -> Markup {
    let Some(verdict) = jobmeter_insight::gpus::verdict(&run.summary) else { return html! {} };
    html! { p.next { span { b { "GPUs " } (visible(&verdict.line(), 400)) } } }
}

/// One line: what to ask for next time, and how much there is to doubt.
pub(super) fn next_line(index: usize, run: &RunData) -> Markup {
    let advice = run.advice.as_ref();
    // Where there are words without a headline, the first of them stands in.
    let first = advice.and_then(|advice| advice.lines.first());
    let headline = advice.map(|advice| &advice.headline).filter(|line| !line.is_empty()).or(first);
    let doubts = run.summary.warnings.len();
    if headline.is_none() && doubts == 0 {
        return html! {};
    }
    html! {
        p.next {
            @if let Some(headline) = headline {
                span { b { "Next time " } (visible(headline, 300)) }
                a href=(format!("#run-{index}-why")) { "why, and snippets to copy" }
            }
            @if doubts > 0 { a.doubts href=(format!("#run-{index}-doubt")) { (doubts) (if doubts == 1 { " thing to doubt" } else { " things to doubt" }) } }
        }
    }
}

pub(super) fn warnings(index: usize, run: &RunData) -> Markup {
    if run.summary.warnings.is_empty() {
        return html! {};
    }
    html! {
        section.callout.doubt id=(format!("run-{index}-doubt")) aria-label="Warnings" {
            h2 { "What to doubt" }
            ul { @for warning in &run.summary.warnings {
                li { span.kind { (visible(&warning.kind.replace('_', " "), 60)) } " " (visible(&warning.text, 2_000)) }
            } }
        }
    }
}

pub(super) fn advice(index: usize, run: &RunData) -> Markup {
    let Some(advice) = run.advice.as_ref().filter(|advice| !advice.lines.is_empty()) else { return html! {} };
    let title_id = format!("run-{index}-advice");
    html! {
        section.block.advice aria-labelledby=(title_id) {
            details.fold {
                summary { h2 id=(title_id) { "For the next run" } span.count { (visible(&advice.headline, 300)) } }
                // Going to a place inside opens what is folded around it.
                ul.plain id=(format!("run-{index}-why")) { @for line in &advice.lines { li { (visible(line, 2_000)) } } }
                div.snippets { @for snippet in &advice.snippets {
                    div.snippet {
                        div.snippet-head { span { (visible(&snippet.title, 100)) } (copy()) }
                        pre tabindex="0" { code { (snippet.text) } }
                    }
                } }
            }
        }
    }
}
