//! `jobmeter advise`: what to ask for next time, from one run or many.

use super::pricing::PricingArgs;
use super::terminal;
use jobmeter_insight::advice::Options;
use jobmeter_insight::policy::{DEFAULT_CHANCE, Policy};
use jobmeter_insight::schedulers::{Format, render};
use jobmeter_insight::units::parse_chance;
use jobmeter_model::Summary;
use jobmeter_model::layout::wrap;
use jobmeter_model::units::parse_bytes;
use jobmeter_record::{Filter, Run, Store, read_digest};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  jobmeter advise last
  jobmeter advise 'name:align*' --for slurm >> job.sh
  jobmeter advise last --input 20GB --risk 0.1% --instance aws/m5.4xlarge")]
pub(crate) struct AdviseArgs {
    /// Runs of one job: `last`, an id, `name:N*`, a run file or a summary in JSON; a single named run brings all
    /// stored runs of its name
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Learn from the named runs only
    #[arg(long)]
    only: bool,
    /// Write it for a scheduler: slurm, kubernetes, nextflow, snakemake, metaflow, docker, aws-batch, text or json
    #[arg(long = "for", value_name = "FORMAT", default_value = "text")]
    format: String,
    /// How to advise: `risk` bounds the next run's need, `simple` takes peaks plus 20 %
    #[arg(long, value_parser = ["risk", "simple"], default_value = "risk")]
    policy: String,
    /// Chance that a run may need more than advised [default: 1%]
    #[arg(long, value_name = "CHANCE")]
    risk: Option<String>,
    /// Input size of the next run, such as 20GB; past runs carry theirs as a tag
    #[arg(long, value_name = "SIZE")]
    input: Option<String>,
    /// The tag that holds the input size of a past run
    #[arg(long, value_name = "TAG", default_value = "input")]
    input_tag: String,
    #[command(flatten)]
    pricing: PricingArgs,
    /// Print JSON; the same as --for json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

pub(crate) fn main(args: AdviseArgs) -> Result<u8, String> {
    let format =
        if args.json { Format::Json } else { Format::parse(&args.format).map_err(|e| e.to_string())? };
    let options = args.options()?;
    let (summaries, tasks) = load_summaries(&args.runs, args.only)?;
    let market = args.pricing.market()?;
    let outlook = market.outlook(&summaries, &options).map_err(|e| e.to_string())?;
    let text = match format {
        Format::Text => wrap(&(outlook.to_text() + &tasks), terminal::width(terminal::Stream::Output)),
        Format::Json => outlook.to_json(),
        scheduler => render(&outlook.advice, scheduler),
    };
    super::out::print(&text)
}

impl AdviseArgs {
    fn options(&self) -> Result<Options, String> {
        let policy = match (self.policy.as_str(), &self.risk) {
            ("simple", Some(_)) => return Err("--risk belongs to --policy risk".to_owned()),
            ("simple", None) => Policy::Simple,
            (_, None) => Policy::Risk { chance: DEFAULT_CHANCE },
            (_, Some(text)) => Policy::Risk { chance: parse_chance(text).map_err(|e| e.to_string())? },
        };
        let input_bytes = self.input.as_deref().map(parse_bytes).transpose().map_err(|e| e.to_string())?;
        if input_bytes == Some(0) {
            return Err("--input must be above 0".to_owned());
        }
        Ok(Options { policy, input_bytes: input_bytes.map(|b| b as f64), input_tag: self.input_tag.clone() })
    }
}

/// The summaries that the selectors name. A single stored run with a name stands for its family: all stored runs of
/// that name, unless `only` the named ones count. Of a job of many ranks also what to ask for task by task.
fn load_summaries(selectors: &[String], only: bool) -> Result<(Vec<Summary>, String), String> {
    let mut summaries = Vec::new();
    let mut tasks = String::new();
    let mut paths = Vec::new();
    for selector in selectors {
        if selector.ends_with(".json") {
            summaries.extend(read_json(selector)?);
        } else if let Some(job) = super::load::job(selector)? {
            tasks.extend(job.request().map(|request| request.text()));
            summaries.push(job.summary);
        } else {
            paths.extend(store()?.select_all(selector).map_err(|e| e.to_string())?);
        }
    }
    if !only && summaries.is_empty() && paths.len() == 1 {
        paths = family_of(paths)?;
    }
    paths.sort();
    paths.dedup();
    for path in paths {
        let run = Run::open(&path).map_err(|e| e.to_string())?;
        summaries.push(run.told_summary());
    }
    Ok((summaries, tasks))
}

fn store() -> Result<Store, String> {
    crate::config::store()
}

/// All stored runs of the name of the one given, or that one alone.
fn family_of(paths: Vec<PathBuf>) -> Result<Vec<PathBuf>, String> {
    let Some(path) = paths.first() else { return Ok(paths) };
    let digest = read_digest(path).map_err(|e| e.to_string())?;
    let Some(name) = digest.name else { return Ok(paths) };
    let listing = store()?.list(&Filter::default(), None).map_err(|e| e.to_string())?;
    let same = listing.runs.into_iter().filter(|run| run.digest.name.as_ref() == Some(&name));
    Ok(paths.iter().cloned().chain(same.map(|run| run.path)).collect())
}

/// A JSON file holds one summary or an array of them.
fn read_json(path: &str) -> Result<Vec<Summary>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read run `{path}`: {e}"))?;
    let parsed = match text.trim_start().starts_with('[') {
        true => serde_json::from_str::<Vec<Summary>>(&text),
        false => serde_json::from_str::<Summary>(&text).map(|one| vec![one]),
    };
    parsed.map_err(|e| format!("`{path}` is not a jobmeter summary: {e}"))
}
