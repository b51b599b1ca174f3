//! `jobmeter seff JOB`: how well a job used what it had, in the words of Slurm's tool.

use jobmeter_insight::job::{self, Job};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  jobmeter seff 4711")]
pub(crate) struct SeffArgs {
    /// The job's number, as its scheduler gave it
    #[arg(value_name = "JOB")]
    job: String,
}

pub(crate) fn main(args: SeffArgs) -> Result<u8, String> {
    let name = args.job.strip_prefix("job:").unwrap_or(&args.job);
    super::out::print(&job::seff(&find(name)?))
}

fn find(name: &str) -> Result<Job, String> {
    let selected =
        crate::config::store()?.resolve(&format!("job:{name}")).map_err(|error| error.to_string())?;
    match selected {
        jobmeter_record::Selected::Job(ranks) => super::jobs::merge(&ranks),
        jobmeter_record::Selected::Run(_) => {
            Err(format!("'{}' is one rank of a job; name the job", jobmeter_record::text::printable(name)))
        }
    }
}
