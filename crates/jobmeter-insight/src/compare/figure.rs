//! Which figures decide whether a change is good or bad, and what a row is called.

use jobmeter_model::{FigureId, Metric, Scope, Stat};

/// Key of the wall time, which is a fact of the run and not among its figures.
pub const WALL_KEY: &str = "wall_ns";
/// What the wall time is called.
pub const WALL_TITLE: &str = "Wall time";

/// Figures of the job of which more is worse; besides them, the wall time.
pub const HEADLINE: [(Metric, Stat); 6] = [
    (Metric::CpuNs, Stat::Total),
    (Metric::RssBytes, Stat::Max),
    (Metric::GpuMemoryBytes, Stat::Max),
    (Metric::ReadStorageBytes, Stat::Total),
    (Metric::WriteStorageBytes, Stat::Total),
    (Metric::Processes, Stat::Max),
];

/// Whether a figure is put to the test without being asked for.
pub(super) fn is_headline(id: &FigureId) -> bool {
    id.scope == Scope::Combined && id.entity.is_none() && HEADLINE.contains(&(id.metric, id.stat))
}

/// What a row is called. Figures with a name of their own are called by their key, as in every version of the JSON.
pub(super) fn row_title(id: Option<&FigureId>, key: &str) -> String {
    match id {
        Some(id) if id.metric != Metric::Processes && id.has_own_name() => key.replace('_', " "),
        Some(id) => id.title(),
        None => key.replace('_', " "),
    }
}
