//! `jobmeter pull`: runs from object storage into the local store, for everything that reads runs.

use super::{out, push};
use crate::say::{say, shown};
use jobmeter_model::text::{printable, printable_within};
use jobmeter_record::{Run, place};
use jobmeter_s3::local_place;
use std::path::Path;
use std::time::{Duration, Instant};

/// For the list, and for each file.
const PATIENCE: Duration = Duration::from_secs(300);
/// Records end at 256 MiB unless a flag said otherwise.
const LARGEST_RUN_BYTES: u64 = 4 << 30;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  jobmeter pull s3://bucket/runs
  jobmeter pull s3://bucket/runs/jobs/slurm-4711

Runs that are in the store already are left alone. Endpoint and credentials are those of push.")]
pub(crate) struct PullArgs {
    /// Where from, such as s3://bucket/prefix; without it where JOBMETER_STORE or the settings say
    #[arg(value_name = "PLACE")]
    place: Option<String>,
}

pub(crate) fn main(args: PullArgs) -> Result<u8, String> {
    let text = push::destination(args.place)?;
    let (client, from) = push::connect(&text)?;
    let store = crate::config::store()?;
    let is_file = from.prefix.ends_with(".jobmeter");
    let prefix =
        if from.prefix.is_empty() || is_file { from.prefix.clone() } else { format!("{}/", from.prefix) };
    let cannot = |error: jobmeter_s3::Error| format!("cannot list {}: {error}", printable(&text));
    let objects = client.list(&prefix, Instant::now() + PATIENCE).map_err(cannot)?;
    let (mut fetched, mut present) = (0, 0);
    for object in objects {
        let Some(relative) = local_place(&object.key) else { continue };
        let path = store.directory().join(relative);
        if path.exists() {
            present += 1;
            continue;
        }
        let key = printable_within(&object.key, 200);
        if object.bytes > LARGEST_RUN_BYTES {
            say(&format!(
                "jobmeter: warning: {key} is too large ({} bytes) to be a run; it is left out",
                object.bytes
            ));
            continue;
        }
        // The answer has headers before the content.
        let limit = object.bytes as usize + (64 << 10);
        let content = client.get(&object.key, limit, Instant::now() + PATIENCE);
        let content = content.map_err(|error| format!("cannot download {key}: {error}"))?;
        match keep(&path, &content)? {
            true => fetched += 1,
            false => say(&format!("jobmeter: warning: {key} is no run file; it is left out")),
        }
    }
    let present = if present > 0 { format!(", {present} were there already") } else { String::new() };
    out::print(&format!(
        "downloaded {} to {}{present}\n",
        super::drawn::counted(fetched),
        shown(store.directory())
    ))
}

/// Whether the content is a run; anything else is taken away again.
fn keep(path: &Path, content: &[u8]) -> Result<bool, String> {
    if let Some(folder) = path.parent() {
        private_folder(folder).map_err(|error| format!("cannot make {}: {error}", shown(folder)))?;
    }
    place::write(path, content, false).map_err(|error| error.to_string())?;
    let is_run = Run::open(path).is_ok();
    if !is_run {
        std::fs::remove_file(path).map_err(|error| format!("cannot remove {}: {error}", shown(path)))?;
    }
    Ok(is_run)
}

/// As the store makes its own: for the owner alone.
fn private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
