//! `jobmeter show`: a recorded run, as `run` printed it, or its processes, phases and course over time.
//! Recomputed after a crash.

use super::busy::Busy;
use super::first_screen::{self, View};
use super::phases_from::PhasesFromArgs;
use super::values::{Format, to_json};
use super::{load, out, terminal};
use crate::config::Settings;
use jobmeter_insight::job::job_text;
use jobmeter_model::summary::{Figure, Warning};
use jobmeter_model::{Column, Event, Metric, Sink, Stat, Summary, WarningKind};
use jobmeter_record::Run;
use jobmeter_record::table::{Phase, PhaseBuilder, PhaseTable, ProcessBuilder, ProcessRow};
use jobmeter_report::text::{self, Color, ProcessLine, Style, Units};
use jobmeter_report::{RunData, SeriesBuilder};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::path::Path;

/// Version of the JSON of the views; the summary has its own.
const VIEWS_SCHEMA_VERSION: u32 = 1;
/// Warnings of the summary that speak of the file itself; the views repeat them.
const DAMAGE_KINDS: [WarningKind; 2] = [WarningKind::DamagedRecord, WarningKind::RecordLimit];
/// Cells of a sparkline in JSON, where no terminal sets the width.
const JSON_CELLS: usize = 120;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  jobmeter show last
  jobmeter show last --full
  jobmeter show last -f markdown
  jobmeter show name:train --phases
  jobmeter show last --phases-from sub-tracking.csv
  jobmeter show last --processes
  jobmeter show last~1 --processes --all
  jobmeter show last --timeline")]
pub(crate) struct ShowArgs {
    /// Run: a file, last, last~2, the beginning of an id, name:NAME or job:ID; of a set the newest
    #[arg(default_value = "last")]
    run: String,
    /// The processes as a tree: the heavy branches with CPU, peak RSS and exit, and a count of the rest
    #[arg(long)]
    processes: bool,
    /// With --processes: a list of every process that was seen, with parent, start and end
    #[arg(long, requires = "processes")]
    all: bool,
    /// Every phase: calls, time, CPU, peak RAM, bytes, GPU
    #[arg(long)]
    phases: bool,
    /// CPU, RAM, disk, network, GPU and phases over time
    #[arg(long)]
    timeline: bool,
    /// Every figure with its bounds, limits, the machine and what jobmeter itself used
    #[arg(long)]
    full: bool,
    /// How to write it
    #[arg(short, long, value_enum)]
    format: Option<Format>,
    /// The same as -f json
    #[arg(long)]
    json: bool,
    /// When to colour: auto, always or never
    #[arg(long, value_name = "WHEN")]
    color: Option<Color>,
    /// Units of the text: si, iec, or choices such as ram=GiB,gpu=MiB,time=h
    #[arg(long, value_name = "UNITS")]
    units: Option<Units>,
    #[command(flatten)]
    more_phases: PhasesFromArgs,
}

pub(crate) fn main(mut args: ShowArgs) -> Result<u8, String> {
    let settings = Settings::load()?;
    let phases = args.more_phases.read()?;
    let (run, job) = load::one_of_set(&args.run)?;
    let run = phases.attach(run);
    phases.finish()?;
    let busy = Busy::new("reading the run");
    let run = run.watched(busy.progress(), 1);
    // Who brings phases wants to see them.
    args.phases |= !phases.is_empty();
    let summary = run.told_summary();
    let format =
        if args.json { Format::Json } else { args.format.or(settings.format).unwrap_or(Format::Text) };
    let has_views = args.processes || args.phases || args.timeline;
    let color = args.color.or(settings.color).unwrap_or(Color::Auto);
    let units = args.units.or(settings.units).unwrap_or_default();
    let style = Style::choose(color, std::io::stdout().is_terminal(), units);
    if has_views {
        let text = match format {
            Format::Json => views_json(&args, &run, summary)?,
            Format::Text => views_text(&args, &run, summary, style),
            Format::Markdown => {
                return Err(
                    "-f markdown shows the first screen of a run; leave out --processes, --phases and \
                            --timeline, or write -f text or -f json"
                        .to_owned(),
                );
            }
        };
        drop(busy);
        return out::print(&text);
    }
    let view = View {
        format,
        is_full: args.full,
        style,
        width: terminal::width(terminal::Stream::Output),
        // A path is long, and who gave it knows what to do with it.
        run: Some(args.run.as_str()).filter(|selector| !Path::new(selector).is_file()),
    };
    let text = match (&job, format) {
        (Some(job), Format::Json) => to_json(job),
        _ => first_screen::render(&summary, view, || Some(run)),
    };
    drop(busy);
    let ranks = job.filter(|_| format == Format::Text).as_ref().map(job_text).unwrap_or_default();
    out::print(&(text + &ranks))
}

/// Whatever views are asked for, the file is read once.
#[derive(Default)]
struct Views {
    processes: Option<ProcessBuilder>,
    phases: Option<PhaseBuilder<PhaseTable>>,
    timeline: Option<SeriesBuilder>,
}

impl Views {
    fn sinks(&mut self) -> impl Iterator<Item = &mut dyn Sink> {
        let processes = self.processes.as_mut().map(|sink| sink as &mut dyn Sink);
        let phases = self.phases.as_mut().map(|sink| sink as &mut dyn Sink);
        let timeline = self.timeline.as_mut().map(|sink| sink as &mut dyn Sink);
        [processes, phases, timeline].into_iter().flatten()
    }
}

impl Sink for Views {
    fn define(&mut self, column: &Column) {
        self.sinks().for_each(|sink| sink.define(column));
    }

    fn event(&mut self, event: &Event) {
        self.sinks().for_each(|sink| sink.event(event));
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        self.sinks().for_each(|sink| sink.tick(t_ns, values));
    }
}

/// What the views show, where they are asked for.
struct Shown {
    processes: Option<Vec<ProcessRow>>,
    phases: Option<Vec<Phase>>,
    timeline: Option<RunData>,
}

/// `cells` is the width of the timeline, which is reduced to a few ticks per cell and keeps every peak.
fn read_views(args: &ShowArgs, run: &Run, summary: &Summary, cells: usize) -> Shown {
    let mut views = Views {
        processes: args.processes.then(ProcessBuilder::default),
        phases: args.phases.then(|| PhaseBuilder::new(PhaseTable::default())),
        timeline: args.timeline.then(|| SeriesBuilder::new(cells.max(16) * 4)),
    };
    load::tell(run.replay(&mut views).damage.as_ref());
    Shown {
        processes: views.processes.map(|builder| builder.into_rows(summary)),
        phases: views.phases.map(|builder| builder.finish(summary.run.wall_ns).into_phases()),
        timeline: views.timeline.map(|builder| builder.finish(String::new(), summary.clone())),
    }
}

fn views_text(args: &ShowArgs, run: &Run, summary: Summary, style: Style) -> String {
    let width = terminal::width(terminal::Stream::Output);
    let cells = width.unwrap_or(terminal::USUAL_WIDTH);
    let shown = read_views(args, run, &summary, cells);
    let mut parts = Vec::new();
    if let Some(rows) = shown.processes {
        let lines: Vec<ProcessLine> = rows.into_iter().map(process_line).collect();
        let show = if args.all { text::processes } else { text::process_tree };
        parts.push(show(&lines, &summary, width, style));
    }
    if let Some(phases) = shown.phases {
        parts.push(text::phases(&phases, width, style));
    }
    if let Some(data) = shown.timeline {
        parts.push(text::timeline(&data, cells, style));
    }
    parts.join("\n")
}

fn views_json(args: &ShowArgs, run: &Run, summary: Summary) -> Result<String, String> {
    let wrong = |error: serde_json::Error| format!("cannot write the run as JSON: {error}");
    let shown = read_views(args, run, &summary, JSON_CELLS);
    let timeline = shown.timeline.as_ref().map(|data| {
        json!({
            "end_ns": data.end_ns(),
            "rows": text::timeline_rows(data, JSON_CELLS),
            "phases": data.spans,
            "marks": data.marks,
        })
    });
    let is_damage = |warning: &&Warning| DAMAGE_KINDS.contains(&warning.kind);
    let views = ViewsJson {
        phases: shown.phases,
        processes_total: shown
            .processes
            .is_some()
            .then(|| summary.combined.get(Metric::Processes, Stat::Total)),
        processes: shown.processes,
        run_id: &summary.run.id,
        schema_version: VIEWS_SCHEMA_VERSION,
        timeline,
        warnings: summary.warnings.iter().filter(is_damage).collect(),
    };
    let text = serde_json::to_string_pretty(&views).map_err(wrong)?;
    Ok(text + "\n")
}

/// The views as JSON, written without a copy of the rows in between. In the order of the alphabet.
#[derive(Serialize)]
struct ViewsJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    phases: Option<Vec<Phase>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<Vec<ProcessRow>>,
    /// Whether the list is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    processes_total: Option<Option<&'a Figure>>,
    run_id: &'a str,
    schema_version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<Value>,
    /// That the file could not be read whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<&'a Warning>,
}

fn process_line(row: ProcessRow) -> ProcessLine {
    ProcessLine {
        pid: row.pid,
        parent_pid: row.parent_pid,
        name: row.name,
        begin_ns: row.begin_ns,
        end_ns: row.end_ns,
        cpu_ns: row.cpu_ns,
        peak_rss_bytes: row.peak_rss_bytes,
        exit_code: row.exit_code,
        signal: row.signal,
    }
}
