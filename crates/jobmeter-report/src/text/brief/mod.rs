//! The first screen of a run: what it needed, whether that was all right, what to ask for next time. Doubt is shown only
//! where it could change a decision; every figure with its bounds is in the full text.

mod headline;
mod layout;
mod rows;

pub(in crate::text) use headline::{command, headline};
pub(in crate::text) use layout::wrapped;
pub use layout::{Screen, speaks_utf8};
pub(in crate::text) use rows::rows;
pub(crate) use rows::{cores_words, gpu_name, gpu_words, only_bound, share_of, used_gpus};

use super::style::Style;
use super::timeline::strip;
use super::units::Units;
use crate::data::RunData;
use jobmeter_insight::advice::Advice;
use jobmeter_model::text::printable;
use jobmeter_model::{Metric, Summary, VerdictKind};

/// Below this a next run needs no advice.
const ADVICE_FROM_NS: u64 = 1_000_000_000;
/// Cells of a sparkline.
const STRIP_CELLS: usize = 10;

/// What stands beside the summary, where it is known.
#[derive(Clone, Copy, Default)]
pub struct Beside<'a> {
    /// What to ask for next time.
    pub advice: Option<&'a Advice>,
    /// The run over time, for the sparklines.
    pub data: Option<&'a RunData>,
    /// How commands call the run: `last`. Without it no commands are shown.
    pub run: Option<&'a str>,
}

/// The words of the first screen, for another medium than lines of text.
pub(crate) struct FirstScreen {
    /// Escaped for a terminal, not for HTML; so is the command.
    pub(crate) headline: String,
    pub(crate) command: String,
    pub(crate) rows: Vec<Row>,
}

impl FirstScreen {
    pub(crate) fn of(summary: &Summary, units: Units) -> FirstScreen {
        let headline = headline(summary, units);
        FirstScreen {
            headline: format!("{} {}", headline.name, headline.text),
            command: command(summary),
            rows: rows(summary, units),
        }
    }
}

/// One line: a label, the figure people look for, and what belongs to it.
pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) detail: String,
    /// The metric whose course stands at the right.
    pub(crate) course: Option<Metric>,
}

/// The whole screen, newline at the end. No line is wider than the screen.
pub fn brief(summary: &Summary, beside: Beside<'_>, screen: Screen, style: Style) -> String {
    let mut out = layout::Page::new(screen, style);
    let headline = headline(summary, style.units);
    out.headline(&headline, &command(summary));
    let rows = rows(summary, style.units);
    if !rows.is_empty() {
        out.gap();
    }
    for row in &rows {
        let course = row.course.zip(beside.data).and_then(|(metric, data)| strip(data, metric, STRIP_CELLS));
        out.row(row, course.as_deref());
    }
    let hints = hints(summary, beside);
    if !hints.is_empty() {
        out.gap();
    }
    out.hints(&hints);
    for warning in &summary.warnings {
        out.note(&printable(&warning.text));
    }
    out.finish()
}

/// What to do next, each a label, a text and a command.
fn hints(summary: &Summary, beside: Beside<'_>) -> Vec<(&'static str, String, String)> {
    let mut hints = Vec::new();
    let wanted = beside.advice.filter(|_| is_advised(summary)).map(crate::outlook::headline);
    if let (Some(text), Some(run)) = (wanted.filter(|text| !text.is_empty()), beside.run) {
        hints.push(("Next time", text, format!("jobmeter advise {run}")));
    }
    if let Some(run) = beside.run {
        let more = format!("jobmeter show {run} --full");
        hints.push(("More", more, format!("jobmeter report {run}")));
    }
    hints
}

/// A run that failed asks for a repair, not for other resources; one of a moment asks for nothing.
pub fn is_advised(summary: &Summary) -> bool {
    let verdict = &summary.verdict;
    let ended_well = match verdict.kind {
        VerdictKind::Exited => verdict.exit_code == Some(0),
        VerdictKind::Detached | VerdictKind::Unknown => true,
        _ => false,
    };
    ended_well && summary.run.wall_ns.is_some_and(|ns| ns >= ADVICE_FROM_NS)
}
