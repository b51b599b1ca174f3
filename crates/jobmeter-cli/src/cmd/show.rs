//! `jobmeter show`: a recorded run, as `run` printed it, or its processes, phases and course over time.
//! Recomputed after a crash.

use super::measure::{Format, to_json};
use super::phases_from::PhasesFromArgs;
use super::{load, out, terminal};
use crate::config::Settings;
use jobmeter_core::Summary;
use jobmeter_record::Run;
use jobmeter_record::table::ProcessRow;
use jobmeter_report::text::{self, Color, ProcessLine, Style};
use jobmeter_report::{RunData, SeriesBuilder};
use serde_json::{Map, Value, json};
use std::io::IsTerminal;

/// Version of the JSON of the views; the summary has its own.
const VIEWS_SCHEMA_VERSION: u32 = 1;
/// Cells of a sparkline in JSON, where no terminal sets the width.
const JSON_CELLS: usize = 120;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  jobmeter show last
  jobmeter show name:train --phases
  jobmeter show last --phases-from sub-tracking.csv
  jobmeter show last~1 --processes --json
  jobmeter show last --timeline")]
pub(crate) struct ShowArgs {
    /// Run: a file, last, last~2, the beginning of an id, or name:NAME
    #[arg(default_value = "last")]
    run: String,
    /// Every process that was seen: parent, command, start, end, CPU, peak RSS, exit
    #[arg(long)]
    processes: bool,
    /// Every phase: calls, time, CPU, peak RAM, bytes, GPU
    #[arg(long)]
    phases: bool,
    /// CPU, RAM, disk, network, GPU and phases over time
    #[arg(long)]
    timeline: bool,
    /// Text or JSON
    #[arg(short, long, value_enum)]
    format: Option<Format>,
    /// The same as -f json
    #[arg(long)]
    json: bool,
    /// When to colour: auto, always or never
    #[arg(long, value_name = "WHEN")]
    color: Option<Color>,
    #[command(flatten)]
    more_phases: PhasesFromArgs,
}

pub(crate) fn main(mut args: ShowArgs) -> Result<u8, String> {
    let settings = Settings::load()?;
    let phases = args.more_phases.read()?;
    let run = phases.attach(load::run(&args.run)?);
    phases.finish()?;
    // Who brings phases wants to see them.
    args.phases |= !phases.is_empty();
    let summary = load::summary_of(&run);
    let is_json = args.json || args.format.or(settings.format) == Some(Format::Json);
    let has_views = args.processes || args.phases || args.timeline;
    let style =
        Style::choose(args.color.or(settings.color).unwrap_or(Color::Auto), std::io::stdout().is_terminal());
    out::print(&match (has_views, is_json) {
        (false, true) => to_json(&summary),
        (false, false) => text::summary(&summary, style),
        (true, true) => views_json(&args, &run, summary)?,
        (true, false) => views_text(&args, &run, summary, style),
    })
}

fn views_text(args: &ShowArgs, run: &Run, summary: Summary, style: Style) -> String {
    let width = terminal::width();
    let mut parts = Vec::new();
    if args.processes {
        let lines: Vec<ProcessLine> = run.processes().into_iter().map(process_line).collect();
        parts.push(text::processes(&lines, &summary, width, style));
    }
    if args.phases {
        parts.push(text::phases(&run.phases(), width, style));
    }
    if args.timeline {
        let width = width.unwrap_or(terminal::USUAL_WIDTH);
        parts.push(text::timeline(&drawn(run, summary, width), width, style));
    }
    parts.join("\n")
}

fn views_json(args: &ShowArgs, run: &Run, summary: Summary) -> Result<String, String> {
    let wrong = |error: serde_json::Error| format!("cannot write the run as JSON: {error}");
    let mut views = Map::new();
    views.insert("schema_version".to_owned(), json!(VIEWS_SCHEMA_VERSION));
    views.insert("run_id".to_owned(), json!(summary.run.id));
    if args.processes {
        views.insert("processes".to_owned(), serde_json::to_value(run.processes()).map_err(wrong)?);
        // Whether the list is whole.
        let total = summary.combined.get("processes_total");
        views.insert("processes_total".to_owned(), serde_json::to_value(total).map_err(wrong)?);
    }
    if args.phases {
        views.insert("phases".to_owned(), serde_json::to_value(run.phases()).map_err(wrong)?);
    }
    if args.timeline {
        let data = drawn(run, summary, JSON_CELLS);
        views.insert(
            "timeline".to_owned(),
            json!({
                "end_ns": data.end_ns(),
                "rows": text::timeline_rows(&data, JSON_CELLS),
                "phases": data.spans,
                "marks": data.marks,
            }),
        );
    }
    let text = serde_json::to_string_pretty(&Value::Object(views)).map_err(wrong)?;
    Ok(text + "\n")
}

/// Reduced to a few ticks per cell, which keeps every peak.
fn drawn(run: &Run, summary: Summary, cells: usize) -> RunData {
    let mut builder = SeriesBuilder::new(cells.max(16) * 4);
    run.replay(&mut builder);
    builder.finish(String::new(), summary)
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
