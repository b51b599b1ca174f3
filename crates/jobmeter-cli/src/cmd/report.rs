//! `jobmeter report`: one self-contained page about recorded runs.

use super::busy::Busy;
use super::drawn;
use super::phases_from::PhasesFromArgs;
use super::pricing::{Market, PricingArgs};
use crate::say::shown;
use jobmeter_insight::Error;
use jobmeter_insight::advice::Options;
use jobmeter_report::{AdviceBlock, RunData, html};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  jobmeter report last
  jobmeter report last -o report.html --open
  jobmeter report last~1 last -o before-and-after.html
  jobmeter report 'base:*' 'new:*' -o comparison.html
  jobmeter report last -o report.html --instance aws/m5.4xlarge")]
pub(crate) struct ReportArgs {
    /// Runs: a file, last, last~2, the beginning of an id, name:NAME, job:ID, or a set such as 'base:*'; several are
    /// compared
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// The page; `-` is standard output; without it a new file here that is called after the run
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Charts as drawings, without any script: for mail and for viewers that run none
    #[arg(long = "static")]
    is_static: bool,
    /// Open it in the browser
    #[arg(long)]
    open: bool,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    phases: PhasesFromArgs,
    #[command(flatten)]
    pricing: PricingArgs,
}

pub(crate) fn main(args: ReportArgs) -> Result<u8, String> {
    if let Some(output) = &args.output {
        drawn::check(output, args.force)?;
    }
    let market = args.pricing.market()?;
    let busy = Busy::new("writing the page");
    let mut runs = drawn::runs(&args.runs, &args.phases, &busy)?;
    for run in &mut runs {
        run.advice = advise(run, &market)?;
    }
    let page = if args.is_static { html::render_static(&runs) } else { html::render(&runs) };
    let page = page.map_err(|error| error.to_string())?;
    let output = args.output.unwrap_or_else(|| unused_name(&runs));
    drawn::write(&output, page.as_bytes(), args.force)?;
    drop(busy);
    drawn::tell(&output, &format!("a page about {}", drawn::counted(runs.len())), page.len());
    if args.open {
        open(&output)?;
    }
    Ok(0)
}

/// `report-train.html`, or with a number behind it where that exists: without `-o` no file is replaced.
fn unused_name(runs: &[RunData]) -> PathBuf {
    const LONGEST: usize = 40;
    let stem = match runs {
        [run] => {
            let name = run.summary.run.name.as_ref().unwrap_or(&run.summary.run.id);
            let is_plain = |letter: &char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
            let plain: String = name.chars().filter(is_plain).take(LONGEST).collect();
            format!("report-{plain}")
        }
        _ => "report-comparison".to_owned(),
    };
    let names =
        std::iter::once(format!("{stem}.html")).chain((2..).map(|number| format!("{stem}-{number}.html")));
    let mut free =
        names.take(10_000).map(PathBuf::from).filter(|path| std::fs::symlink_metadata(path).is_err());
    // Where every number is taken, the writing refuses to replace the first.
    free.next().unwrap_or_else(|| format!("{stem}.html").into())
}

/// A run without CPU, memory and time figures teaches nothing; a mistake in the request is told.
fn advise(run: &RunData, market: &Market) -> Result<Option<AdviceBlock>, String> {
    match market.outlook(std::slice::from_ref(&run.summary), &Options::default()) {
        Ok(outlook) => {
            let request = run.job.as_ref().and_then(|job| job.request());
            Ok(Some(request.map_or_else(
                || AdviceBlock::of(&outlook),
                |request| AdviceBlock::of_job(&outlook, &request),
            )))
        }
        Err(Error::NoRuns { .. }) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Hands the page to the desktop and does not wait for it.
fn open(path: &Path) -> Result<(), String> {
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = Command::new(opener)
        .arg(&path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started
        .map(drop)
        .map_err(|error| format!("cannot start {opener}: {error}; the page is written to {}", shown(&path)))
}
