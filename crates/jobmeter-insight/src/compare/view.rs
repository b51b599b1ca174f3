//! What a comparison looks at: a run's summary, its phases, and what to call it.

use jobmeter_model::Summary;
use serde::{Deserialize, Serialize};

/// What a comparison needs of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunView {
    /// Its summary.
    pub summary: Summary,
    /// Its phases.
    pub phases: Vec<PhaseFigures>,
    /// How the user named it. Hostile text: escape on output.
    pub label: String,
}

/// Totals of one phase of a run; unknown is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseFigures {
    /// Hostile text: escape on output.
    pub name: String,
    /// How often the phase ran.
    pub calls: u64,
    /// Time spent in it.
    pub time_ns: u64,
    /// CPU time used in it.
    pub cpu_ns: Option<u64>,
    /// The most memory held in it.
    pub peak_rss_bytes: Option<u64>,
    /// Bytes read from storage in it.
    pub read_bytes: Option<u64>,
    /// Bytes written to storage in it.
    pub write_bytes: Option<u64>,
}

/// Repeated runs of one thing: the base, or what is compared with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// What the group is called.
    pub label: String,
    /// Its runs.
    pub runs: Vec<RunView>,
}
