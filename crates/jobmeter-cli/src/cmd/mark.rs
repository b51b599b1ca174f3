//! `jobmeter mark`: a moment or a phase, told from inside a measured job in any language.

use jobmeter_engine::run::marks::{self, Mark};
use jobmeter_model::MarkKind;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples, in a script that jobmeter measures:
  jobmeter mark 'data loaded'
  jobmeter mark --begin train; ./train; jobmeter mark --end train")]
pub(crate) struct MarkArgs {
    /// A phase of this name begins
    #[arg(long, conflicts_with = "end")]
    begin: bool,
    /// The phase of this name ends
    #[arg(long)]
    end: bool,
    /// Name of the moment or phase
    name: String,
}

pub(crate) fn main(args: MarkArgs) -> Result<u8, String> {
    let kind = match (args.begin, args.end) {
        (true, _) => MarkKind::Begin,
        (_, true) => MarkKind::End,
        _ => MarkKind::Point,
    };
    // Begin and end come from different processes of one script: the parent is what they share.
    // SAFETY: getppid cannot fail.
    let pid = unsafe { libc::getppid() };
    let mark = Mark { kind, pid, tid: pid, name: args.name };
    marks::send(&mark).map_err(|error| format!("the mark was not taken: {error}"))?;
    Ok(0)
}
