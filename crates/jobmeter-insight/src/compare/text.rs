//! The comparison for the terminal.

use super::{Cell, Comparison, Contrast, Row, Verdict};
use jobmeter_model::format::{Style, format};
use jobmeter_model::layout::{fitting, wrap};
use jobmeter_model::text::printable_within;

/// Left out where a terminal is narrow: the spread, then the interval, which the verdict rests on.
const DISPENSABLE: [usize; 2] = [5, 4];

/// The outcome in one line, then a table for each set against the base; all figures or the headline ones and the
/// phases. Lines fit into `width`, where given.
pub fn text(comparison: &Comparison, all: bool, width: Option<usize>) -> String {
    let mut out = wrap(&format!("{}\n\n", headline(comparison, name)), width);
    let base = &comparison.groups[0];
    for (index, group) in comparison.groups.iter().enumerate().skip(1) {
        let sets = format!(
            "{} ({}) against {} ({})\n\n",
            printable_within(&group.label, 60),
            runs(group.run_ids.len()),
            printable_within(&base.label, 60),
            runs(base.run_ids.len())
        );
        out += &wrap(&sets, width);
        let mut lines =
            vec![["", "base", "new", "change", "95 % interval", "noise", "verdict"].map(str::to_owned)];
        for row in comparison.rows.iter().filter(|row| all || row.headline) {
            lines.push(line(row, index));
        }
        out += &columns(&lines, width);
        out.push('\n');
    }
    for note in &comparison.notes {
        out += &wrap(&format!("note: {}\n", printable_within(note, 400)), width);
    }
    out
}

/// What the comparison found, with the figures named as `named` has them.
pub(super) fn headline(comparison: &Comparison, named: impl Fn(&Row) -> String) -> String {
    let all = |verdict: Verdict| comparison.with_verdict(verdict).map(&named).collect::<Vec<_>>().join(", ");
    let (worse, better) = (all(Verdict::Regression), all(Verdict::Improvement));
    match (worse.is_empty(), better.is_empty()) {
        // Silence for lack of runs is not the same as silence for lack of a difference.
        (true, true) if comparison.with_verdict(Verdict::Noise).next().is_none() => {
            "Too few runs to tell a difference from noise.".to_owned()
        }
        (true, true) => "No difference beyond noise was found.".to_owned(),
        (false, true) => format!("Regression: {worse}."),
        (true, false) => format!("Improvement: {better}."),
        (false, false) => format!("Regression: {worse}. Improvement: {better}."),
    }
}

pub(super) fn runs(count: usize) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}

fn line(row: &Row, index: usize) -> [String; 7] {
    let (base, new, contrast) = (&row.cells[0], &row.cells[index], &row.contrasts[index - 1]);
    [
        printable_within(&name(row), 48),
        value(row, base),
        value(row, new),
        change(row, contrast),
        interval(contrast),
        noise(base, new),
        contrast.verdict.title().to_owned(),
    ]
}

/// `RAM, peak`, `system: Load`, `phase load: time`.
pub(super) fn name(row: &Row) -> String {
    match (row.scope, &row.entity) {
        ("run" | "combined", None) => row.title.clone(),
        (scope, None) => format!("{scope}: {}", row.title),
        (scope, Some(entity)) => format!("{scope} {}: {}", printable_within(entity, 32), row.title),
    }
}

pub(super) fn value(row: &Row, cell: &Cell) -> String {
    match cell.median {
        Some(median) if cell.known < cell.runs => {
            format!("{} ({} of {})", format(median, row.unit, Style::Full), cell.known, cell.runs)
        }
        Some(median) => format(median, row.unit, Style::Full),
        None => "unknown".to_owned(),
    }
}

pub(super) fn change(row: &Row, contrast: &Contrast) -> String {
    match (contrast.difference, contrast.ratio) {
        (Some(0.0), _) => "0".to_owned(),
        (Some(_), Some(ratio)) => percent(ratio),
        (Some(difference), None) => {
            format!(
                "{}{}",
                if difference > 0.0 { "+" } else { "" },
                format(difference, row.unit, Style::Full)
            )
        }
        (None, _) => String::new(),
    }
}

pub(super) fn interval(contrast: &Contrast) -> String {
    contrast
        .ratio_interval
        .map_or_else(String::new, |[low, high]| format!("{} … {}", percent(low), percent(high)))
}

/// The larger of both sets' spreads.
pub(super) fn noise(base: &Cell, new: &Cell) -> String {
    [base.noise_ratio, new.noise_ratio]
        .into_iter()
        .flatten()
        .max_by(f64::total_cmp)
        .map_or_else(String::new, |ratio| format!("±{:.1} %", ratio * 100.0))
}

/// A ratio as a signed percentage; beyond tenfold as a factor.
fn percent(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    match ratio {
        10.0.. => format!("×{ratio:.1}"),
        // Neither +0.0 nor -0.0: there is no direction in it.
        _ if percent.abs() < 0.05 => "0.0 %".to_owned(),
        _ => format!("{percent:+.1} %"),
    }
}

/// First column to the left, the others to the right, the verdict to the left.
fn columns(lines: &[[String; 7]], width: Option<usize>) -> String {
    let mut widths = [0; 7];
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let shown = fitting(&widths, 2, width, &DISPENSABLE);
    // The names give way last.
    let used: usize = (1..7).filter(|place| shown[*place]).map(|place| widths[place] + 2).sum();
    widths[0] = width.map_or(widths[0], |width| widths[0].min(width.saturating_sub(used).max(10)));
    let mut out = String::new();
    for line in lines {
        let mut text = String::new();
        for (place, (cell, width)) in line.iter().zip(widths).enumerate() {
            if !shown[place] {
                continue;
            }
            let cell = if place == 0 { &printable_within(cell, width) } else { cell };
            text += &match place {
                0 => format!("{cell:width$}"),
                6 => format!("  {cell}"),
                _ => format!("  {cell:>width$}"),
            };
        }
        out += text.trim_end();
        out.push('\n');
    }
    out
}
