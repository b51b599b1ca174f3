//! `jobmeter push`: recorded runs into object storage.

use super::out;
use jobmeter_model::text::printable;
use jobmeter_record::{Selected, Store};
use jobmeter_s3::{Account, Client, Place, relative_key};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One file at most; a command that was asked for has more time than the end of a job.
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  jobmeter push last s3://bucket/runs
  jobmeter push job:4711 s3://bucket/runs

Endpoint and credentials come from AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
AWS_SESSION_TOKEN and AWS_REGION, or from the profile AWS_PROFILE in ~/.aws/credentials.")]
pub(crate) struct PushArgs {
    /// Run: a file, last, the beginning of an id, name:NAME, or job:ID for all its ranks
    #[arg(value_name = "RUN")]
    run: String,
    /// Where to, such as s3://bucket/prefix; without it where JOBMETER_STORE or the settings say
    #[arg(value_name = "PLACE")]
    place: Option<String>,
}

pub(crate) fn main(args: PushArgs) -> Result<u8, String> {
    let place = destination(args.place)?;
    let store = crate::config::store()?;
    let files = files(&args.run, &store)?;
    for file in &files {
        upload(&place, file, Some(store.directory()), Instant::now() + PATIENCE)
            .map_err(|trouble| format!("{} was not uploaded: {trouble}", crate::say::shown(file)))?;
    }
    let runs = super::drawn::counted(files.len());
    out::print(&format!("uploaded {runs} to {}\n", printable(&place)))
}

/// What was asked for, or the store of the settings.
pub(crate) fn destination(place: Option<String>) -> Result<String, String> {
    match place {
        Some(place) => Ok(place),
        None => crate::config::Settings::load()?.upload.ok_or_else(|| {
            "no place was named; write one such as s3://bucket/prefix, or set JOBMETER_STORE".to_owned()
        }),
    }
}

fn files(selector: &str, store: &Store) -> Result<Vec<PathBuf>, String> {
    if Path::new(selector).is_file() {
        return Ok(vec![PathBuf::from(selector)]);
    }
    match store.resolve(selector).map_err(|error| error.to_string())? {
        Selected::Run(path) => Ok(vec![path]),
        Selected::Job(ranks) => Ok(ranks.into_iter().map(|rank| rank.path).collect()),
    }
}

/// One file, under the key that its place in the store gives.
pub(crate) fn upload(
    place: &str,
    file: &Path,
    store: Option<&Path>,
    deadline: Instant,
) -> Result<(), String> {
    let (client, place) = connect(place)?;
    let default = Store::open_default().map(|store| store.directory().to_owned());
    let store = store.map(Path::to_owned).or_else(|| default.ok()).unwrap_or_default();
    let key = relative_key(file, &store).ok_or("its name is not text")?;
    let mut opened = File::open(file).map_err(|error| format!("it cannot be read: {error}"))?;
    client.put(&place.key(&key), &mut opened, deadline).map_err(|error| error.to_string())
}

/// The client for a place, from the usual environment.
pub(crate) fn connect(text: &str) -> Result<(Client, Place), String> {
    let place = Place::parse(text).map_err(|error| error.to_string())?;
    let account = Account::from_environment().map_err(|error| error.to_string())?;
    Ok((Client::new(account, &place).map_err(|error| error.to_string())?, place))
}
