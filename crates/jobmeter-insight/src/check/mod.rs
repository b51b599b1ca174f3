//! Budgets: does a run stay within what it may use? Every budget gets its own line and its own outcome, and a
//! figure that is not known is never a pass.

mod baseline;
mod budget;
mod github;
mod junit;
mod text;

pub use baseline::baseline_budgets;
pub use budget::{Budget, BudgetKind, Origin};
pub use github::github;
pub use junit::junit;
pub use text::{closing, text};

use crate::compare::RunView;
use jobmeter_model::{Figure, Quality, Unit, VerdictKind};
use serde::Serialize;
use std::borrow::Cow;

/// Version of the JSON that [`Report`] becomes.
pub const CHECK_SCHEMA_VERSION: u32 = 1;

/// Exit code when a budget is exceeded: beside 124 to 127, which are taken, and far from what jobs use.
pub const EXIT_EXCEEDED: u8 = 123;
/// Exit code when no budget is exceeded but one could not be decided.
pub const EXIT_UNDECIDED: u8 = 122;

/// How a run stands against one budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Within the limit, whatever the doubt about the figure.
    Holds,
    /// Above the limit, whatever the doubt about the figure.
    Exceeded,
    /// The measured value is within the budget, but the truth may be above it.
    CannotExclude,
    /// The run does not know the figure.
    Unknown,
    /// The baseline does not know the figure, so it sets no budget.
    NoBaseline,
}

impl Outcome {
    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Outcome::Holds => "holds",
            Outcome::Exceeded => "EXCEEDED",
            Outcome::CannotExclude => "cannot exclude",
            Outcome::Unknown => "UNKNOWN",
            Outcome::NoBaseline => "no baseline",
        }
    }
}

/// One budget against one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// As the option is called: `ram`, `cpu-time`.
    pub budget: &'static str,
    /// What people call the budget.
    pub title: String,
    /// The scope of the figure.
    pub scope: &'static str,
    /// The key of the figure in the summary.
    pub key: Cow<'static, str>,
    /// What limit and value count.
    pub unit: Unit,
    /// The most that is allowed.
    pub limit: Option<f64>,
    /// The limit as the user wrote it, for people.
    #[serde(skip)]
    pub written: Option<String>,
    /// Where the limit comes from.
    pub origin: Origin,
    /// What was measured.
    pub value: Option<f64>,
    /// The least that it can have been.
    pub lower: Option<f64>,
    /// The most that it can have been.
    pub upper: Option<f64>,
    /// How true the figure is.
    pub quality: Quality,
    /// How it stands.
    pub outcome: Outcome,
    /// Why, where the outcome does not say it all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A run against its budgets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Of the JSON.
    pub schema_version: u32,
    /// The run that was checked.
    pub run_id: String,
    /// Hostile text: escape on output.
    pub label: String,
    /// One line for each budget.
    pub lines: Vec<Line>,
    /// What to know besides, such as a run that failed and so may have needed less.
    pub notes: Vec<String>,
}

impl Report {
    /// How many budgets have this outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.lines.iter().filter(|line| line.outcome == outcome).count()
    }

    /// 0, [`EXIT_EXCEEDED`] or [`EXIT_UNDECIDED`]. `strict` counts what cannot be excluded as undecided.
    pub fn exit_code(&self, strict: bool) -> u8 {
        let undecided =
            self.count(Outcome::Unknown) + usize::from(strict) * self.count(Outcome::CannotExclude);
        // A baseline that sets no budget at all checks nothing, which must not look like success.
        let nothing = !self.lines.is_empty() && self.count(Outcome::NoBaseline) == self.lines.len();
        match (self.count(Outcome::Exceeded), undecided) {
            (1.., _) => EXIT_EXCEEDED,
            (0, 1..) => EXIT_UNDECIDED,
            (0, 0) if nothing => EXIT_UNDECIDED,
            (0, 0) => 0,
        }
    }
}

/// Exit code of a command whose budgets were checked inline: its own if it failed, else that of the check.
pub fn inline_exit_code(command: u8, report: &Report, strict: bool) -> u8 {
    if command == 0 { report.exit_code(strict) } else { command }
}

/// Puts a run to its budgets.
pub fn check(run: &RunView, budgets: &[Budget]) -> Report {
    let mut notes = Vec::new();
    let verdict = &run.summary.verdict;
    if verdict.kind == VerdictKind::Running {
        notes.push("the run is still running; what holds now may not hold at its end".to_owned());
    } else if verdict.kind != VerdictKind::Exited || verdict.exit_code != Some(0) {
        notes.push(format!(
            "the run did not end well ({}); it may have needed less than a whole one",
            verdict.kind
        ));
    }
    Report {
        schema_version: CHECK_SCHEMA_VERSION,
        run_id: run.summary.run.id.clone(),
        label: run.label.clone(),
        lines: budgets.iter().map(|budget| line(run, budget)).collect(),
        notes,
    }
}

/// The figure of a kind in a run; wall time is not among the figures but exact.
pub(crate) fn figure(run: &RunView, kind: BudgetKind) -> Figure {
    let absent = || Figure::unavailable("the run's summary has no such figure");
    match (kind.figure(), run.summary.run.wall_ns) {
        (Some((metric, stat)), _) => run.summary.combined.get(metric, stat).cloned().unwrap_or_else(absent),
        (None, Some(wall_ns)) => Figure::int(wall_ns, Quality::Exact),
        (None, None) => Figure::unavailable("the run has not ended, or its end was not recorded"),
    }
}

fn line(run: &RunView, budget: &Budget) -> Line {
    let figure = figure(run, budget.kind);
    let number =
        |number: Option<jobmeter_model::Number>| number.map(|n| n.as_f64()).filter(|n| n.is_finite());
    let (value, lower, upper) = (number(figure.value), number(figure.lower), number(figure.upper));
    let (outcome, why) = match budget.limit {
        None => (Outcome::NoBaseline, Some("no run of the baseline knows this figure".to_owned())),
        Some(limit) => decide(limit, value, lower, upper, figure.quality),
    };
    Line {
        budget: budget.kind.name(),
        title: budget.kind.title(),
        scope: budget.kind.scope(),
        key: budget.kind.key(),
        unit: budget.kind.unit(),
        limit: budget.limit,
        written: budget.written.clone(),
        origin: budget.origin.clone(),
        value,
        lower,
        upper,
        quality: figure.quality,
        outcome,
        reason: match (why, figure.reason) {
            (Some(why), Some(reason)) if value.is_none() => Some(format!("{why}: {reason}")),
            (why, reason) => why.or(reason),
        },
    }
}

fn decide(
    limit: f64,
    value: Option<f64>,
    lower: Option<f64>,
    upper: Option<f64>,
    quality: Quality,
) -> (Outcome, Option<String>) {
    let least = [value, lower].into_iter().flatten().max_by(f64::total_cmp);
    if least.is_some_and(|least| least > limit) {
        return (Outcome::Exceeded, None);
    }
    if let Some(upper) = upper {
        let is_measured = value.is_some() && quality != Quality::LowerBound;
        return match (upper > limit, least) {
            (false, _) if is_measured => (Outcome::Holds, None),
            (false, _) => (Outcome::Holds, Some("decided by the upper bound: even that is within it".into())),
            (true, Some(_)) => (
                Outcome::CannotExclude,
                Some("the truth lies below an upper bound that is above the budget".into()),
            ),
            (true, None) => {
                (Outcome::Unknown, Some("only an upper bound is known, and that is above the budget".into()))
            }
        };
    }
    match (value, quality) {
        (None, _) => (Outcome::Unknown, Some("the figure is not known".into())),
        (Some(_), Quality::LowerBound) => {
            (Outcome::CannotExclude, Some("the figure is a lower bound and no upper bound is known".into()))
        }
        (Some(_), Quality::Sampled) => (Outcome::Holds, Some("as sampled; no upper bound is known".into())),
        (Some(_), Quality::Estimate) => (Outcome::Holds, Some("an estimate".into())),
        (Some(_), _) => (Outcome::Holds, None),
    }
}

#[cfg(test)]
mod tests;
