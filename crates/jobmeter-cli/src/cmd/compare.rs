//! `jobmeter compare`: runs side by side, and whether the difference is more than noise.

use super::phases_from::PhasesFromArgs;
use super::terminal;
use super::views::{Phases, load_runs};
use jobmeter_insight::check::EXIT_EXCEEDED;
use jobmeter_insight::compare::{Group, Options, Verdict, compare, markdown, text};
use jobmeter_model::units::parse_ratio;

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    Markdown,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each argument is one set of runs; the first is the base. 'base:*' is every stored run \
that was made with --name base, 'name:ba*' every one whose name begins so, tag:k=v every one with that tag; a folder is \
the runs in it; last, an id, a run file or a summary in JSON is one run. About 5 runs a side are needed to tell a \
difference from noise, 20 for one of 10 % on a noisy machine. Alternate the runs of both sets.

Exit codes: 0, or with --fail-on-regression 123 if there is a regression.

Examples:
  jobmeter compare 'base:*' 'new:*'
  jobmeter compare before.json after.json
  jobmeter compare runs/main runs/branch -f markdown > comment.md"
)]
pub(crate) struct CompareArgs {
    /// Sets of runs, the base first: 'base:*', 'name:ba*', tag:k=v, job:ID, a folder, or one run
    #[arg(required = true, num_args = 2.., value_name = "RUNS")]
    sets: Vec<String>,
    /// How to write it
    #[arg(short, long, value_enum, default_value = "text")]
    format: Format,
    /// Every figure, not only the ones that are put to the test
    #[arg(long)]
    all: bool,
    /// Also test this figure of the whole job, such as faults_major; more of it counts as worse
    #[arg(long, value_name = "KEY")]
    also: Vec<String>,
    /// Chance of any false alarm in the whole comparison
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = parse_ratio)]
    alpha: f64,
    /// Smaller differences are never called one
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = parse_ratio)]
    min_effect: f64,
    /// Exit with 123 if any figure regressed
    #[arg(long)]
    fail_on_regression: bool,
    #[command(flatten)]
    phases: PhasesFromArgs,
}

pub(crate) fn main(args: CompareArgs) -> Result<u8, String> {
    let phases = args.phases.read()?;
    let groups = args
        .sets
        .iter()
        .map(|set| {
            Ok(Group {
                label: set.clone(),
                runs: load_runs(std::slice::from_ref(set), Phases::Read(&phases))?,
            })
        })
        .collect::<Result<Vec<Group>, String>>()?;
    phases.finish()?;
    let options = Options { alpha: args.alpha, min_effect_ratio: args.min_effect, also: args.also };
    let comparison = compare(&groups, &options).map_err(|error| error.to_string())?;
    super::out::print(&match args.format {
        Format::Text => text(&comparison, args.all, terminal::width(terminal::Stream::Output)),
        Format::Markdown => markdown(&comparison, args.all),
        Format::Json => {
            let json = serde_json::to_string_pretty(&comparison);
            json.map_err(|error| format!("cannot write the comparison as JSON: {error}"))? + "\n"
        }
    })?;
    let regressed = comparison.with_verdict(Verdict::Regression).next().is_some();
    Ok(if args.fail_on_regression && regressed { EXIT_EXCEEDED } else { 0 })
}
