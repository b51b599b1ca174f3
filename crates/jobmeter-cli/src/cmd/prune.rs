//! `jobmeter prune`: old runs out of the store.

use jobmeter_model::units::parse_duration_ns;
use jobmeter_record::{PruneRule, id, listing};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "One limit is needed, so that nothing goes by mistake. With both, a run goes only when it is beyond
both. Running runs stay.

Examples:
  jobmeter prune --keep 100
  jobmeter prune --older-than 30d --dry-run"
)]
pub(crate) struct PruneArgs {
    /// Keep the newest N runs
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Remove runs that began longer ago than this: 30d, 12h
    #[arg(long, value_name = "AGE")]
    older_than: Option<String>,
    /// Only show what would go
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn main(args: PruneArgs) -> Result<u8, String> {
    if args.keep.is_none() && args.older_than.is_none() {
        return Err("prune needs a limit; write --keep 100, or --older-than 30d, or both".to_owned());
    }
    let store = crate::config::store()?;
    let started_before_unix_ns = match &args.older_than {
        Some(age) => {
            let age_ns = parse_duration_ns(age).map_err(|error| error.to_string())?;
            Some(id::now_unix_ns().saturating_sub(age_ns))
        }
        None => None,
    };
    let rule = PruneRule { keep: args.keep, started_before_unix_ns };
    let runs = store.prunable(rule).map_err(|error| error.to_string())?;
    if args.dry_run {
        let list = if runs.is_empty() { String::new() } else { listing::text(&runs, None) };
        return super::out::print(&format!("{list}{} would be removed.\n", runs_text(runs.len())));
    }
    for run in &runs {
        store.remove(&run.path).map_err(|error| error.to_string())?;
    }
    super::out::print(&format!("{} removed.\n", runs_text(runs.len())))
}

fn runs_text(count: usize) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}
