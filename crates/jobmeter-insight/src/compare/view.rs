//! What a comparison looks at: a run's summary, its phases, and what to call it.

use jobmeter_model::Summary;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq)]
pub struct RunView {
    pub summary: Summary,
    pub phases: Vec<PhaseFigures>,
    /// How the user named it. Hostile text: escape on output.
    pub label: String,
}

/// Totals of one phase of a run; unknown is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseFigures {
    /// Hostile text: escape on output.
    pub name: String,
    pub calls: u64,
    pub time_ns: u64,
    pub cpu_ns: Option<u64>,
    pub peak_rss_bytes: Option<u64>,
    pub read_bytes: Option<u64>,
    pub write_bytes: Option<u64>,
}

/// Repeated runs of one thing: the base, or what is compared with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    pub label: String,
    pub runs: Vec<RunView>,
}
