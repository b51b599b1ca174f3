//! In place of `upload` in a build without object storage.

use crate::say::{say, shown};
use jobmeter_model::text::printable;
use std::path::Path;
use std::time::Duration;

pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Says where the run is.
pub(crate) fn after_job(place: &str, file: &Path, _: Option<&Path>, _: Duration) {
    say(&format!(
        "jobmeter: warning: the run was not uploaded to {}: this jobmeter is built without object storage; it is kept in {}; a \
         build with the feature object-storage can push it",
        printable(place),
        shown(file)
    ));
}
