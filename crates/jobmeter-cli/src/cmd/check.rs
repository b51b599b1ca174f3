//! `jobmeter check`: finished runs against budgets.

use super::terminal;
use super::views::{Phases, load_runs};
use jobmeter_insight::check::{
    Budget, BudgetKind, EXIT_EXCEEDED, EXIT_UNDECIDED, Report, baseline_budgets, check, closing, github,
    junit, text,
};
use jobmeter_model::layout::wrap;
use jobmeter_model::units::{UnitError, parse_bytes, parse_duration_ns, parse_ratio};

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    Junit,
    Github,
}

/// A limit in bytes, nanoseconds or processes, and as it was written.
#[derive(Debug, Clone)]
struct Limit {
    value: u64,
    written: String,
}

fn size(text: &str) -> Result<Limit, UnitError> {
    Ok(Limit { value: parse_bytes(text)?, written: text.trim().to_owned() })
}

fn time(text: &str) -> Result<Limit, UnitError> {
    Ok(Limit { value: parse_duration_ns(text)?, written: text.trim().to_owned() })
}

fn count(text: &str) -> Result<Limit, std::num::ParseIntError> {
    Ok(Limit { value: text.parse()?, written: text.to_owned() })
}

// The budgets themselves, for `check` and for `run`. No doc comment: clap would make it the headline of their help.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Budgets")]
pub(crate) struct BudgetArgs {
    /// At most this much RAM at the peak, as 8GiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_ram: Option<Limit>,
    /// At most this long, as 10m
    #[arg(long, value_name = "TIME", value_parser = time)]
    max_time: Option<Limit>,
    /// At most this much CPU time of all processes together
    #[arg(long, value_name = "TIME", value_parser = time)]
    max_cpu_time: Option<Limit>,
    /// At most this much GPU memory at the peak
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_gpu_ram: Option<Limit>,
    /// At most this much read from storage
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_read: Option<Limit>,
    /// At most this much written to storage
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_written: Option<Limit>,
    /// At most so many processes at a time
    #[arg(long, value_name = "COUNT", value_parser = count)]
    max_processes: Option<Limit>,
}

impl BudgetArgs {
    pub(crate) fn budgets(&self) -> Vec<Budget> {
        [
            (BudgetKind::Time, &self.max_time),
            (BudgetKind::CpuTime, &self.max_cpu_time),
            (BudgetKind::Ram, &self.max_ram),
            (BudgetKind::GpuRam, &self.max_gpu_ram),
            (BudgetKind::Read, &self.max_read),
            (BudgetKind::Written, &self.max_written),
            (BudgetKind::Processes, &self.max_processes),
        ]
        .into_iter()
        .filter_map(|(kind, limit)| {
            let limit = limit.as_ref()?;
            Some(Budget { written: Some(limit.written.clone()), ..Budget::at_most(kind, limit.value) })
        })
        .collect()
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes:
  0    every budget holds
  123  a budget is exceeded
  122  none is exceeded, but a figure is unknown, so a budget could not be decided
  125  jobmeter itself failed

Examples:
  jobmeter check last --max-ram 8GiB --max-time 10m
  jobmeter check 'new:*' --baseline 'base:*' --tolerance 300%
  jobmeter check summary.json --max-ram 8GiB -f github
  jobmeter check last --max-time 1us    # exits with 123")]
pub(crate) struct CheckArgs {
    /// Runs to check: one, or sets of them such as 'new:*', tag:k=v, job:ID or a folder
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Take time, CPU time and peak memory of these runs, such as 'base:*', as budgets: their median
    #[arg(long, value_name = "RUNS")]
    baseline: Vec<String>,
    /// So much more than the baseline is still fine
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = parse_ratio)]
    tolerance: f64,
    /// Take "cannot exclude" for undecided: exit with 122
    #[arg(long)]
    strict: bool,
    /// How to write it
    #[arg(short, long, value_enum, default_value = "text")]
    format: Format,
    #[command(flatten)]
    budgets: BudgetArgs,
}

pub(crate) fn main(args: CheckArgs) -> Result<u8, String> {
    let runs = load_runs(&args.runs, Phases::Skip)?;
    let mut budgets = args.budgets.budgets();
    if !args.baseline.is_empty() {
        budgets.extend(baseline_budgets(&load_runs(&args.baseline, Phases::Skip)?, &runs, args.tolerance));
    }
    if budgets.is_empty() {
        return Err("there is nothing to check; give a budget such as --max-ram 8GiB, or a --baseline".into());
    }
    let mut reports: Vec<Report> = runs.iter().map(|run| check(run, &budgets)).collect();
    tell_apart(&mut reports);
    super::out::print(&match args.format {
        Format::Text => {
            wrap(&(all_text(&reports) + &closing(&reports)), terminal::width(terminal::Stream::Output))
        }
        Format::Junit => junit(&reports),
        Format::Github => github(&reports),
        Format::Json => {
            let json = serde_json::to_string_pretty(&reports);
            json.map_err(|error| format!("cannot write the report as JSON: {error}"))? + "\n"
        }
    })?;
    let codes: Vec<u8> = reports.iter().map(|report| report.exit_code(args.strict)).collect();
    let worst = [EXIT_EXCEEDED, EXIT_UNDECIDED].into_iter().find(|code| codes.contains(code));
    Ok(worst.unwrap_or(0))
}

/// Runs of one name get their identifier beside it: a CI service shows results by label.
fn tell_apart(reports: &mut [Report]) {
    let labels: Vec<String> = reports.iter().map(|report| report.label.clone()).collect();
    for report in reports {
        if labels.iter().filter(|label| **label == report.label).count() > 1 && report.label != report.run_id
        {
            report.label = format!("{} {}", report.label, report.run_id);
        }
    }
}

/// The run is named only where there are several.
fn all_text(reports: &[Report]) -> String {
    let several = reports.len() > 1;
    reports
        .iter()
        .map(
            |report| if several { format!("run {:?}\n{}", report.label, text(report)) } else { text(report) },
        )
        .collect()
}
