//! One line for each budget.

use super::budget::Origin;
use super::{Line, Outcome, Report};
use jobmeter_model::format::{Style, format};
use jobmeter_model::text::printable_within;

/// The report as text, for people.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    for line in &report.lines {
        out += &format!("{:<14}  {}\n", line.outcome.title(), sentence(line));
    }
    for note in &report.notes {
        out += &format!("note: {}\n", printable_within(note, 400));
    }
    out
}

/// The result of all budgets in one line.
pub fn closing(reports: &[Report]) -> String {
    let count = |outcomes: &[Outcome]| {
        reports
            .iter()
            .flat_map(|report| &report.lines)
            .filter(|line| outcomes.contains(&line.outcome))
            .count()
    };
    let exceeded = count(&[Outcome::Exceeded]);
    let possible = count(&[Outcome::CannotExclude]);
    let unknown = count(&[Outcome::Unknown, Outcome::NoBaseline]);
    let holding = count(&[Outcome::Holds]);
    let total = exceeded + possible + unknown + holding;
    let of_runs = if reports.len() > 1 { format!(" in {} runs", reports.len()) } else { String::new() };
    if holding == total {
        return match total {
            1 => format!("The budget holds{of_runs}.\n"),
            _ => format!("All {total} budgets hold{of_runs}.\n"),
        };
    }
    let parts: Vec<String> = [
        (exceeded, "exceeded"),
        (unknown, "not decided"),
        (possible, "within what was measured, but perhaps exceeded"),
        (holding, "held"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    let budgets = if total == 1 { "1 budget".to_owned() } else { format!("{total} budgets") };
    format!("Of {budgets}{of_runs}: {}.\n", parts.join(", "))
}

/// `RAM, peak 3.21 GB (at most 4.02 GB), budget 8.59 GB`
pub(super) fn sentence(line: &Line) -> String {
    let write = |value: f64| format(value, line.unit, Style::Full);
    let mut text = line.title.clone();
    match (line.value, line.lower) {
        (Some(value), _) => text += &format!(" {}", write(value)),
        (None, Some(lower)) => text += &format!(" at least {}", write(lower)),
        (None, None) if line.upper.is_some() => {}
        (None, None) => text += " unknown",
    }
    let is_only_bound = line.value.or(line.lower).is_none();
    if let Some(upper) = line.upper.filter(|_| is_only_bound) {
        text += &format!(" at most {}", write(upper));
    } else if let Some(upper) = line.upper.filter(|upper| Some(*upper) != line.value) {
        text += &format!(" (at most {})", write(upper));
    }
    if let Some(limit) = line.limit {
        text += &format!(", budget {}", line.written.clone().unwrap_or_else(|| write(limit)));
        if let Some(value) = line.value.filter(|value| *value > limit && limit > 0.0) {
            text += &format!(", over by {:.1} %", (value / limit - 1.0) * 100.0);
        }
    }
    if let Origin::Baseline { median: Some(median), runs, tolerance_ratio } = &line.origin {
        let runs = if *runs == 1 { "1 run".to_owned() } else { format!("median of {runs} runs") };
        text += &format!(" (baseline {} + {:.1} %, {runs})", write(*median), tolerance_ratio * 100.0);
    }
    if let Some(reason) = &line.reason {
        text += &format!("; {}", printable_within(reason, 300));
    }
    text
}
