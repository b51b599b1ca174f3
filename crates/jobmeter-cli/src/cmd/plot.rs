//! `jobmeter plot`: charts of recorded runs as a picture.

use super::busy::Busy;
use super::drawn;
use super::phases_from::PhasesFromArgs;
use crate::say::shown;
use jobmeter_report::plot::{self, PlotOptions, Theme};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  jobmeter plot last -o run.svg
  jobmeter plot last~1 last -o both.png --theme dark
  jobmeter plot last -o figure-2.pdf --title 'Training, batch of 64' --metrics cpu,ram
  jobmeter plot last -o figure-3.pdf --metrics ram --series job,main --no-bounds
  jobmeter plot name:train -o ram.png --metrics cpu,ram,psi --width 800")]
pub(crate) struct PlotArgs {
    /// Runs: a file, last, last~2, the beginning of an id, name:NAME, job:ID, or a set such as 'base:*'; several are
    /// overlaid
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// The picture, .svg, .png or .pdf
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Colours
    #[arg(long, value_enum, default_value = "light")]
    theme: ThemeName,
    /// Width in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(320..=8000))]
    width: u32,
    /// Charts to draw, in this order: cpu, ram, gpu, gpu-ram, io, disk, net, psi, tasks, power, temperature
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    metrics: Option<Vec<String>>,
    /// Lines to draw, by words of their names: job, main, descendants, machine, 'GPU 1', read …
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    series: Option<Vec<String>>,
    /// The lines alone: no limits, no bands from the lowest to the highest value
    #[arg(long)]
    no_bounds: bool,
    /// Heading of the picture instead of the run's name and verdict; '' leaves it out
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Pixels per pixel of a PNG: 2 for sharp print
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4))]
    scale: u8,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    phases: PhasesFromArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ThemeName {
    Light,
    Dark,
}

pub(crate) fn main(args: PlotArgs) -> Result<u8, String> {
    let extension =
        args.output.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    let kind = extension.as_deref().filter(|kind| ["svg", "png", "pdf"].contains(kind)).ok_or_else(|| {
        format!("cannot tell the kind of picture from {:?}; end the name in .svg, .png or .pdf", args.output)
    })?;
    let theme = match args.theme {
        ThemeName::Light => Theme::Light,
        ThemeName::Dark => Theme::Dark,
    };
    let options = PlotOptions {
        theme,
        width: args.width,
        panels: args.metrics,
        heading: true,
        title: args.title,
        series: args.series,
        bounds: !args.no_bounds,
        names: true,
    };
    drawn::check(&args.output, args.force)?;
    let busy = Busy::new(&format!("drawing {}", shown(&args.output)));
    let runs = drawn::runs(&args.runs, &args.phases, &busy)?;
    let scene = plot::scene(&runs, &options).map_err(|error| error.to_string())?;
    let bytes = match kind {
        "png" => plot::to_png(&scene, f32::from(args.scale)).map_err(|error| error.to_string())?,
        "pdf" => plot::to_pdf(&scene),
        _ => plot::to_svg(&scene).into_bytes(),
    };
    drawn::write(&args.output, &bytes, args.force)?;
    drop(busy);
    drawn::tell(&args.output, &format!("charts of {}", drawn::counted(runs.len())), bytes.len());
    Ok(0)
}
