//! `jobmeter rm`: chosen runs out of the store.

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  jobmeter rm last
  jobmeter rm last~2 'name:scratch*'")]
pub(crate) struct RmArgs {
    /// Runs: `last`, `last~2`, the beginning of an id, `name:N`, a set such as `name:N*` or `N:*`
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Also runs that are still being recorded
    #[arg(long)]
    force: bool,
}

pub(crate) fn main(args: RmArgs) -> Result<u8, String> {
    let store = crate::config::store()?;
    // Everything is found before anything is removed: `rm last last~1` means two runs as listed now.
    let mut paths = Vec::new();
    for selector in &args.runs {
        paths.extend(store.removable(selector, args.force).map_err(|error| error.to_string())?);
    }
    paths.sort();
    paths.dedup();
    for path in &paths {
        store.remove(path).map_err(|error| error.to_string())?;
    }
    Ok(0)
}
