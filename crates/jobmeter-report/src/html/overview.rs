//! What a reader wants first: how it ended, what it needed, what to ask for next time, what to doubt.

use super::figures;
use crate::data::RunData;
use crate::format::{self, visible};
use crate::text;
use jobmeter_model::{Figure, FigureId, Figures, Metric, Mode, Quality, Scope, Stat, Unit, VerdictKind};
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
                @let evidence: Vec<&String> = verdict.evidence.iter().filter(|line| !is_internal(line)).collect();
                @if !evidence.is_empty() {
                    ul.evidence { @for line in evidence { li { (visible(line, 1_000)) } } }
                }
            }
            @if !info.command.is_empty() {
                div.command { code tabindex="0" { bdi { (command) } } (copy()) }
            }
            p.meta {
                @if !info.host.is_empty() { span { bdi { (visible(&hosts(run), 100)) } } }
                @if info.started_unix_ns > 0 { span { (format::instant(info.started_unix_ns)) } }
                // The ticks of a job are those of its ranks, whose number is in the map of them.
                @if run.job.is_none() { span { (counted(info.ticks, "tick"))
                    @if let Some(interval) = info.interval_ns { ", every " (format::chosen_duration(interval)) } @else { ", adaptive" } } }
                @for (key, value) in &info.tags { span.tag { bdi { (visible(key, 60)) "=" (visible(value, 120)) } } }
            }
        }
    }
}

/// Where it ran: of many nodes, how many.
pub(super) fn hosts(run: &RunData) -> String {
    const SHOWN: usize = 4;
    let nodes = run.job.as_ref().map_or(0, |job| job.nodes.len());
    if nodes > SHOWN {
        format!("{} nodes", format::count(nodes as u64))
    } else {
        run.summary.run.host.replace(',', ", ")
    }
}

fn counted(count: u64, word: &str) -> String {
    format!("{} {word}{}", format::count(count), if count == 1 { "" } else { "s" })
}

/// What only those understand who know the kernel or the run file; it stands with the other details of the run.
fn is_internal(evidence: &str) -> bool {
    evidence.starts_with("wait status ") || evidence.ends_with(" has no trailer")
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
    match (&verdict.kind, verdict.exit_code) {
        (VerdictKind::Exited, Some(0)) => ("good", "Succeeded".to_owned()),
        (VerdictKind::Exited, Some(code)) => ("bad", format!("Failed, exit {code}")),
        (VerdictKind::Signaled, _) => {
            ("bad", verdict.signal.map_or("Killed".to_owned(), |signal| format!("Signal {signal}")))
        }
        (VerdictKind::OomKilled, _) => ("bad", "Out of memory".to_owned()),
        (VerdictKind::Timeout, _) => ("bad", "Time limit".to_owned()),
        // A block of a program ends when it is left.
        (VerdictKind::Detached, _) if run.summary.run.mode == Mode::Own => ("good", "Finished".to_owned()),
        (VerdictKind::Detached, _) => ("calm", "Goes on".to_owned()),
        (VerdictKind::Running, _) => ("calm", "Running".to_owned()),
        (VerdictKind::Crashed, _) => ("doubt", "Record ends early".to_owned()),
        _ => ("doubt", "End unknown".to_owned()),
    }
}

/// A key figure: its name, the figure, and a line below it.
struct Tile {
    title: String,
    unit: Unit,
    figure: Figure,
    /// Said behind the value: `busy`, `read`.
    word: &'static str,
    note: Option<String>,
    /// Shown in place of the value: only a bound is worth telling, or it is told with fewer digits.
    instead: Option<String>,
}

/// The four that most people want: time, memory, CPU, and the GPU or else the disk.
pub(super) fn cards(run: &RunData) -> Markup {
    let (job, mut tiles) = (&run.summary.combined, Vec::new());
    if let Some(wall) = run.summary.run.wall_ns {
        let seconds = format::count((wall as f64 / 1e9).round() as u64);
        let note = Some(format!("{seconds} s")).filter(|_| wall >= 100_000_000_000);
        tiles.push(Tile {
            title: "Time".to_owned(),
            unit: Unit::Nanos,
            figure: Figure::int(wall, Quality::Exact),
            word: "",
            note,
            instead: None,
        });
    }
    add(&mut tiles, "Peak memory", job, (Metric::RssBytes, Stat::Max), "", memory_note(run));
    if let Some(memory) = tiles.last_mut().filter(|tile| tile.title == "Peak memory") {
        memory.instead =
            text::only_bound(&run.summary).map(|bytes| format!("at most {}", format::bytes(bytes as u64)));
    }
    add(&mut tiles, "CPU time", job, (Metric::CpuNs, Stat::Total), "", text::cores_words(&run.summary));
    let gpu = gpu_tile(run);
    if gpu.is_some() {
        tiles.extend(gpu);
    } else {
        let note = pair(job, "", (Metric::WriteStorageBytes, Stat::Total), " written");
        add(&mut tiles, "Disk", job, (Metric::ReadStorageBytes, Stat::Total), "read", note);
    }
    html! { section.tiles.cards aria-label="Key figures" { @for tile in &tiles { (show(tile)) } } }
}

/// As the terminal tells it: of one GPU how busy it was, of several what the job had of all together.
fn gpu_tile(run: &RunData) -> Option<Tile> {
    let summary = &run.summary;
    let used = text::used_gpus(summary);
    let (title, figures) = match used[..] {
        _ if summary.gpus.is_empty() => return None,
        [gpu] => (text::gpu_name(gpu), &gpu.figures),
        _ => ("GPUs".to_owned(), &summary.combined),
    };
    let figure = figures.get(Metric::GpuBusyPpm, Stat::Mean)?.clone();
    let (_, note) = text::gpu_words(figures, text::Units::default());
    let rounded = figure.as_f64().map(|ppm| format::format(ppm, Unit::Ppm, format::Style::Rounded));
    let note = Some(note).filter(|note| !note.is_empty());
    Some(Tile { title, unit: Unit::Ppm, figure, word: "busy", note, instead: rounded })
}

/// The others, for who looks further.
pub(super) fn tiles(run: &RunData) -> Markup {
    let (job, system, mut tiles) = (&run.summary.combined, &run.summary.system, Vec::new());
    let read_note = pair(job, "", (Metric::ReadCharsBytes, Stat::Total), " by read calls");
    let write_note = pair(job, "", (Metric::WriteCharsBytes, Stat::Total), " by write calls");
    let net_note = pair(system, "", (Metric::NetTransmitBytes, Stat::Total), " sent; whole machine");
    if !run.summary.gpus.is_empty() {
        let note = pair(job, "mean ", (Metric::GpuMemoryBytes, Stat::Mean), "");
        add(&mut tiles, "Peak GPU memory", job, (Metric::GpuMemoryBytes, Stat::Max), "", note);
        let note = pair(job, "mean ", (Metric::GpuBusyPpm, Stat::Mean), "");
        add(&mut tiles, "GPU use, highest", job, (Metric::GpuBusyPpm, Stat::Max), "", note);
    }
    add(&mut tiles, "Read from storage", job, (Metric::ReadStorageBytes, Stat::Total), "", read_note);
    add(&mut tiles, "Written to storage", job, (Metric::WriteStorageBytes, Stat::Total), "", write_note);
    add(&mut tiles, "Network received", system, (Metric::NetReceiveBytes, Stat::Total), "", net_note);
    add(&mut tiles, "Processes at once", job, (Metric::Processes, Stat::Max), "", lived_note(run));
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
            p.tile-value.num title=(figures::raw(&tile.figure)) { (tile.instead.clone().unwrap_or_else(|| figures::value(tile.unit, &tile.figure)))
                @if !tile.word.is_empty() && tile.figure.value.is_some() { span.tile-word { " " (tile.word) } } }
            @if let Some(note) = &tile.note { p.tile-note { (unbroken(note)) } }
            p.tile-quality { span.quality.(class) { (word) }
                @if let Some(bound) = figures::bound(tile.unit, &tile.figure).filter(|_| tile.instead.is_none()) { " " span.bounds { (unbroken(&bound)) } } }
            @if let Some(reason) = tile.figure.reason.as_ref().filter(|_| tile.figure.value.is_none()) { p.tile-reason { (visible(reason, 300)) } }
        }
    }
}

/// Numbers stay on the line of their units: `25.3 GB`.
fn unbroken(text: &str) -> String {
    const UNITS: [&str; 10] = ["%", "B", "kB", "MB", "GB", "TB", "W", "s", "ms", "min"];
    let mut out = String::with_capacity(text.len());
    for word in text.split(' ') {
        let is_unit = UNITS.contains(&word.trim_end_matches(','));
        let is_number = out.ends_with(|last: char| last.is_ascii_digit());
        if !out.is_empty() {
            out.push(if is_unit && is_number { '\u{a0}' } else { ' ' });
        }
        out.push_str(word);
    }
    out
}

/// Adds a tile where the figure is there, known or not; says whether it is.
fn add(
    tiles: &mut Vec<Tile>,
    title: &'static str,
    figures: &Figures,
    (metric, stat): (Metric, Stat),
    word: &'static str,
    note: Option<String>,
) -> bool {
    let Some(figure) = figures.get(metric, stat) else { return false };
    let unit = FigureId::of(Scope::Combined, metric, stat).unit();
    tiles.push(Tile { title: title.to_owned(), unit, figure: figure.clone(), word, note, instead: None });
    true
}

fn pair(figures: &Figures, before: &str, (metric, stat): (Metric, Stat), after: &str) -> Option<String> {
    let figure = figures.get(metric, stat).filter(|figure| figure.value.is_some())?;
    let unit = FigureId::of(Scope::Combined, metric, stat).unit();
    Some(format!("{before}{}{after}", figures::value(unit, figure)))
}

fn memory_note(run: &RunData) -> Option<String> {
    let peak = run.summary.combined.value(Metric::RssBytes, Stat::Max)?;
    let machine = run.summary.system.whole(Metric::MemoryTotalBytes, Stat::Max);
    let (limit, what) = match (run.summary.limits.cgroup_memory_bytes, machine) {
        (Some(limit), _) => (limit, "allowed"),
        (None, Some(total)) => (total, "in the machine"),
        (None, None) => return None,
    };
    Some(format!("{} of {} {what}", text::share_of(peak, limit.max(1) as f64), format::bytes(limit)))
}

fn lived_note(run: &RunData) -> Option<String> {
    let lived = run.processes.len() as u64 + run.processes_omitted;
    (lived > 0).then(|| format!("{} lived in all", format::count(lived)))
}

/// One line: what became of the GPUs that the job could use.
pub(super) fn gpu_line(run: &RunData) -> Markup {
    let Some(verdict) = jobmeter_insight::gpus::verdict(&run.summary) else { return html! {} };
    html! { p.next { span { b { "GPUs " } (visible(&verdict.line(), 400)) } } }
}

/// One line: what to ask for next time, and how much there is to doubt.
pub(super) fn next_line(index: usize, run: &RunData) -> Markup {
    // Not of a run that failed or was over at once, as in the terminal; what can be said of it is folded below.
    let advice = run.advice.as_ref().filter(|_| text::is_advised(&run.summary));
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
                span { b { "Next time " } @for (at, amount) in visible(headline, 300).split(", ").enumerate() { @if at > 0 { ", " } span.amount { (amount) } } }
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
                li { (visible(&warning.text, 2_000)) }
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
