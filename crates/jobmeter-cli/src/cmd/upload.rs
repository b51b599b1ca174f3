//! The upload of a run after its job has ended. It cannot change how jobmeter leaves, and holds it up for a bounded time; a
//! signal ends it at once. The file stays in the local store whatever happens.

use super::push;
use crate::platform::leave;
use crate::say::{say, shown};
use jobmeter_model::text::printable;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How long the end of jobmeter waits for the upload unless it is told otherwise.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
const NAP: Duration = Duration::from_millis(20);

/// Uploads `file` below `place`; whatever goes wrong is one sentence that says where the run is and how to try again.
pub(crate) fn after_job(place: &str, file: &Path, store: Option<&Path>, patience: Duration) {
    let Err(trouble) = bounded(place, file, store, patience) else { return };
    let id = file.file_stem().map_or_else(String::new, |id| printable(&id.to_string_lossy()));
    let place = printable(place);
    say(&format!(
        "jobmeter: warning: the run was not uploaded to {place}: {trouble}; it is kept in {}; try again with: jobmeter push {id} \
         {place}",
        shown(file)
    ));
}

/// On a thread of its own: looking up a name cannot be timed out, and a signal must find us awake.
fn bounded(place: &str, file: &Path, store: Option<&Path>, patience: Duration) -> Result<(), String> {
    let deadline = Instant::now() + patience;
    let (sender, receiver) = mpsc::channel();
    let (place, file, store) = (place.to_owned(), file.to_owned(), store.map(Path::to_owned));
    std::thread::Builder::new()
        .name("jobmeter-upload".to_owned())
        .spawn(move || {
            // The receiver is gone after the time is over.
            drop(sender.send(push::upload(&place, &file, store.as_deref(), deadline)));
        })
        .map_err(|error| format!("no thread could be started for it: {error}"))?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left.min(NAP)) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => return Err("it failed for an unknown reason".to_owned()),
            Err(RecvTimeoutError::Timeout) if leave::is_hurried() => {
                return Err("a signal ended it".to_owned());
            }
            Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                return Err(format!("it was not done within {:.0} s", patience.as_secs_f64()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
