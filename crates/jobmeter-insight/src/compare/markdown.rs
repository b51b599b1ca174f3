//! The comparison as Markdown for a pull request.

use super::text::{change, headline, interval, name, noise, runs, value};
use super::{Comparison, Verdict};
use jobmeter_model::text::printable_within;

/// A sentence with the outcome, then a table for each set against the base.
pub fn markdown(comparison: &Comparison, all: bool) -> String {
    let mut out = String::from("## jobmeter comparison\n\n");
    out += &headline(comparison, |row| format!("**{}**", escape(&name(row), 80)));
    out += "\n\n";
    let base = &comparison.groups[0];
    for (index, group) in comparison.groups.iter().enumerate().skip(1) {
        out += &format!(
            "{} ({}) against {} ({})\n\n| figure | base | new | change | 95 % interval | noise | verdict |\n\
             |---|---:|---:|---:|---:|---:|---|\n",
            escape(&group.label, 60),
            runs(group.run_ids.len()),
            escape(&base.label, 60),
            runs(base.run_ids.len())
        );
        for row in comparison.rows.iter().filter(|row| all || row.headline) {
            let contrast = &row.contrasts[index - 1];
            let verdict = match contrast.verdict {
                verdict @ (Verdict::Regression | Verdict::Improvement) => format!("**{}**", verdict.title()),
                verdict => verdict.title().to_owned(),
            };
            out += &format!(
                "| {} | {} | {} | {} | {} | {} | {verdict} |\n",
                escape(&name(row), 80),
                value(row, &row.cells[0]),
                value(row, &row.cells[index]),
                change(row, contrast),
                interval(contrast),
                noise(&row.cells[0], &row.cells[index]),
            );
        }
        out.push('\n');
    }
    for note in &comparison.notes {
        out += &format!("- {}\n", escape(note, 400));
    }
    out
}

/// Foreign text as text: no markup, no links, no mentions, no table cells. Character references survive
/// every Markdown dialect.
fn escape(text: &str, longest: usize) -> String {
    printable_within(text, longest)
        .chars()
        .map(|c| match c {
            '&' | '<' | '>' | '"' | '\'' | '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '(' | ')' | '!'
            | '#' | '@' | '~' | '$' | ':' | '{' | '}' => format!("&#{};", c as u32),
            c => c.to_string(),
        })
        .collect()
}
