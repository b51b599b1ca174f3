//! Runs by selector: a path, or what the store knows.

use jobmeter_record::{Damage, Run};
use std::io::Write;
use std::path::Path;

/// Opens the run that `selector` names.
pub(crate) fn run(selector: &str) -> Result<Run, String> {
    let path = Path::new(selector);
    let path = if path.is_file() {
        path.to_owned()
    } else {
        let store = crate::config::store()?;
        store.select(selector).map_err(|error| error.to_string())?
    };
    Run::open(&path).map_err(|error| error.to_string())
}

/// Says on standard error that a file could not be read whole. A run that was cut short is no damage.
pub(crate) fn tell(damage: Option<&Damage>) {
    if let Some(warning) = damage.and_then(Damage::warning) {
        // A write error on standard error cannot be reported anywhere.
        let _told = writeln!(std::io::stderr(), "jobmeter: {}", warning.text);
    }
}
