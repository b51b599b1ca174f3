//! `jobmeter ls`: the stored runs, newest first.

use jobmeter_record::{ExitFilter, Filter, clock, id, listing, text};
use std::io::Write;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  jobmeter ls -n 10
  jobmeter ls --name 'train*' --exit failed --since 7d
  jobmeter ls --tag gpu=a100 --json | jq '.[].wall_ns'")]
pub(crate) struct LsArgs {
    /// Only runs of this name (`*` and `?` match)
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Only runs whose command line contains this text
    #[arg(long, value_name = "TEXT")]
    command: Option<String>,
    /// Only runs with this tag, or with this value of it
    #[arg(long, value_name = "K[=V]")]
    tag: Vec<String>,
    /// Only runs that began at or after this moment: 2026-11-15, 2026-11-15T22:00, or so long ago, as 7d
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only runs that began at or before this moment, written as for --since
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Only runs with this exit code, or `failed`, or `running`
    #[arg(long, value_name = "CODE")]
    exit: Option<String>,
    /// Only runs of this host (`*` and `?` match)
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// The ranks of one job: job:ID
    #[arg(value_name = "JOB")]
    job: Option<String>,
    /// At most so many
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    /// One JSON array of objects instead of a table
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(args: LsArgs) -> Result<u8, String> {
    let store = crate::config::store()?;
    let filter = filter(&args)?;
    let (groups, found) = store.groups(&filter, args.limit).map_err(|error| error.to_string())?;
    for (_, error) in &found.unreadable {
        // The listing is still of use; the file is named so that it can be looked at or removed.
        writeln!(std::io::stderr(), "jobmeter: {error}").map_err(|error| error.to_string())?;
    }
    let out = if args.json {
        format!("{:#}\n", listing::json(groups.iter().flat_map(|group| &group.runs)))
    } else if groups.is_empty() {
        let place = text::printable(&store.directory().to_string_lossy());
        let which = if filter.is_empty() { "" } else { " that fit" };
        format!("No stored runs{which} in {place}.\n")
    } else {
        let width = super::terminal::width(super::terminal::Stream::Output);
        match args.job {
            // Asked for one job, its ranks are the answer.
            Some(_) => {
                listing::text(&groups.into_iter().flat_map(|group| group.runs).collect::<Vec<_>>(), width)
            }
            None => listing::grouped(&groups, width),
        }
    };
    super::out::print(&out)
}

fn job(args: &LsArgs) -> Result<Option<String>, String> {
    let Some(selector) = &args.job else { return Ok(None) };
    match selector.strip_prefix("job:").filter(|name| !name.is_empty()) {
        Some(name) => Ok(Some(name.to_owned())),
        None => Err(format!("'{}' is no job; write job:ID, such as job:4711", text::printable(selector))),
    }
}

fn filter(args: &LsArgs) -> Result<Filter, String> {
    let now = id::now_unix_ns();
    let moment = |text: &Option<String>| match text {
        Some(text) => clock::parse_moment(text, now).map(Some).map_err(|error| error.to_string()),
        None => Ok(None),
    };
    let tag = |tag: &String| match tag.split_once('=') {
        Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
        None => (tag.clone(), None),
    };
    let exit = match args.exit.as_deref() {
        None => None,
        Some("failed") => Some(ExitFilter::Failed),
        Some("running") => Some(ExitFilter::Running),
        Some(code) => Some(ExitFilter::Code(code.parse().map_err(|_| {
            format!("'{}' is not an exit; write a number, failed or running", text::printable(code))
        })?)),
    };
    Ok(Filter {
        name: args.name.clone(),
        command: args.command.clone(),
        tags: args.tag.iter().map(tag).collect(),
        since_unix_ns: moment(&args.since)?,
        until_unix_ns: moment(&args.until)?,
        exit,
        host: args.host.clone(),
        job: job(args)?,
    })
}
