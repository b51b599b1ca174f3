//! Runs side by side: every figure, the difference, the ratio, and whether it is more than noise.
//!
//! With one run a side there is only arithmetic. With several, each figure of interest is put to an exact
//! rank test, which assumes nothing about the shape of the noise, and all tests of a comparison share one
//! false-alarm budget (Holm's method). So "regression" is said wrongly in at most 5 % of comparisons of equal
//! sets, however many figures and phases they have.

mod figure;
mod markdown;
mod notes;
mod stats;
mod table;
mod text;
mod verdict;
mod view;

pub use figure::{HEADLINE, WALL_KEY, WALL_TITLE};
pub use markdown::markdown;
pub use stats::{median, median_interval, rank_sum_p};
pub use text::text;
pub use verdict::Verdict;
pub use view::{Group, PhaseFigures, RunView};

use jobmeter_model::Unit;
use serde::Serialize;

/// Version of the JSON that [`Comparison`] becomes.
pub const COMPARISON_SCHEMA_VERSION: u32 = 1;

/// Why nothing could be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompareError {
    /// Fewer than two groups were given.
    TooFewGroups,
    /// A group of this name has no runs.
    EmptyGroup(String),
    /// Not a share between 0 and 1.
    BadOption(&'static str, String),
}

impl std::fmt::Display for CompareError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CompareError::TooFewGroups => write!(f, "a comparison needs at least two sets of runs"),
            CompareError::EmptyGroup(label) => write!(f, "the set {label:?} holds no run"),
            CompareError::BadOption(name, value) => {
                write!(f, "{name} is {value}, which is not a share between 0 and 1")
            }
        }
    }
}

impl std::error::Error for CompareError {}

/// How runs are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Chance of any false alarm in a whole comparison of equal sets.
    pub alpha: f64,
    /// Differences smaller than this share of the base are never called one, however certain.
    pub min_effect_ratio: f64,
    /// Keys of the combined scope to test besides [`HEADLINE`].
    pub also: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options { alpha: 0.05, min_effect_ratio: 0.01, also: Vec::new() }
    }
}

/// Groups of runs, figure by figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Of the JSON.
    pub schema_version: u32,
    /// The chance of a false alarm that was allowed.
    pub alpha: f64,
    /// Differences below this share of the baseline do not count.
    pub min_effect_ratio: f64,
    /// The first one is the base.
    pub groups: Vec<GroupInfo>,
    /// One row for each figure.
    pub rows: Vec<Row>,
    /// What to know before believing it.
    pub notes: Vec<String>,
}

/// A group as the comparison shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GroupInfo {
    /// Hostile text: escape on output.
    pub label: String,
    /// Its runs.
    pub run_ids: Vec<String>,
}

/// One figure over all sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// `run`, `main`, `descendants`, `combined`, `system`, `phase`, or a kind of device.
    pub scope: &'static str,
    /// Name of the phase or device. Hostile text: escape on output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// Key of the figure in the summary.
    pub key: String,
    /// What people call it.
    pub title: String,
    /// What its values count.
    pub unit: Unit,
    /// Put to the test, and shown without being asked for.
    pub headline: bool,
    /// One for each set.
    pub cells: Vec<Cell>,
    /// One for each set but the base.
    pub contrasts: Vec<Contrast>,
}

/// A figure over the runs of one group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// Runs that have it.
    pub runs: usize,
    /// Runs that know this figure.
    pub known: usize,
    /// The middle value.
    pub median: Option<f64>,
    /// The smallest value.
    pub min: Option<f64>,
    /// The largest value.
    pub max: Option<f64>,
    /// Interval that holds the true median with 95 % confidence, from order statistics; needs six runs.
    pub median_interval: Option<[f64; 2]>,
    /// Noise floor: robust spread (1.4826 times the median absolute deviation) as a share of the median.
    pub noise_ratio: Option<f64>,
    /// Why runs do not know it, from the first of those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A group against the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contrast {
    /// Median of the group less that of the baseline.
    pub difference: Option<f64>,
    /// New median over base median.
    pub ratio: Option<f64>,
    /// 95 % interval of the ratio (Hodges and Lehmann), this figure alone; needs positive values.
    pub ratio_interval: Option<[f64; 2]>,
    /// Exact two-sided rank test, this figure alone.
    pub p_value: Option<f64>,
    /// After sharing the false-alarm budget; below [`Comparison::alpha`] means a difference.
    pub p_adjusted: Option<f64>,
    /// What the difference means.
    pub verdict: Verdict,
}

impl Comparison {
    /// Rows whose verdict against any set is this.
    pub fn with_verdict(&self, verdict: Verdict) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.contrasts.iter().any(|contrast| contrast.verdict == verdict))
    }
}

/// Compares each set with the first.
pub fn compare(groups: &[Group], options: &Options) -> Result<Comparison, CompareError> {
    if groups.len() < 2 {
        return Err(CompareError::TooFewGroups);
    }
    if let Some(empty) = groups.iter().find(|group| group.runs.is_empty()) {
        return Err(CompareError::EmptyGroup(empty.label.clone()));
    }
    if !(options.alpha > 0.0 && options.alpha < 1.0) {
        return Err(CompareError::BadOption("the chance of a false alarm", options.alpha.to_string()));
    }
    if !(0.0..1.0).contains(&options.min_effect_ratio) {
        return Err(CompareError::BadOption("the least difference", options.min_effect_ratio.to_string()));
    }
    let mut rows = table::rows(groups, options);
    verdict::decide(&mut rows, groups.len(), options);
    Ok(Comparison {
        schema_version: COMPARISON_SCHEMA_VERSION,
        alpha: options.alpha,
        min_effect_ratio: options.min_effect_ratio,
        groups: groups
            .iter()
            .map(|group| GroupInfo {
                label: group.label.clone(),
                run_ids: group.runs.iter().map(|run| run.summary.run.id.clone()).collect(),
            })
            .collect(),
        notes: notes::notes(groups, &rows),
        rows: rows.into_iter().map(|row| row.row).collect(),
    })
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::run as test_run;
