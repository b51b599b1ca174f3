//! `jobmeter show`: the summary of a recorded run, as `run` printed it; recomputed after a crash.

use super::measure::{Format, to_json};
use super::{load, out};
use jobmeter_report::text::{Color, Style};
use std::io::IsTerminal;

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// Run: a file, last, last~2, the beginning of an id, or name:NAME
    #[arg(default_value = "last")]
    run: String,
    /// Text or JSON
    #[arg(short, long, value_enum, default_value = "text")]
    format: Format,
    /// The same as -f json
    #[arg(long)]
    json: bool,
    /// When to colour: auto, always or never
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

pub(crate) fn main(args: ShowArgs) -> Result<u8, String> {
    let summary = load::summary(&args.run)?;
    if args.json || args.format == Format::Json {
        return out::print(&to_json(&summary));
    }
    let style = Style::choose(args.color, std::io::stdout().is_terminal());
    out::print(&jobmeter_report::text::summary(&summary, style))
}
