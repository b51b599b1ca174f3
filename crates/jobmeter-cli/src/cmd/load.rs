//! Runs by selector: a path, or what the store knows.

use jobmeter_core::summary::Summary;
use jobmeter_record::Run;
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

/// Its summary, recomputed from the ticks where the run was cut short.
pub(crate) fn summary_of(run: &Run) -> Summary {
    run.summary().unwrap_or_else(|| {
        let mut replay = jobmeter_core::replay::Replay::default();
        let replayed = run.replay(&mut replay);
        let lost = replayed.damage.map(|damage| damage.to_string());
        replay.summary(run.info(), lost)
    })
}
