//! The first screen as Markdown, for pull requests and chats.

use super::brief::{Beside, command, headline, is_advised, rows};
use super::units::Units;
use jobmeter_model::Summary;
use jobmeter_model::text::printable;

/// A headline, a table, what to ask for next time; newline at the end.
pub fn markdown(summary: &Summary, beside: Beside<'_>, units: Units) -> String {
    let headline = headline(summary, units);
    let mut out = format!("**{} {}**", escaped(&headline.name), escaped(&headline.text));
    let command = command(summary);
    if !command.is_empty() {
        out += &format!(" {}", code(&command));
    }
    out += "\n\n| | | |\n|---|---|---|\n";
    for row in rows(summary, units) {
        out += &format!("| {} | {} | {} |\n", escaped(&row.label), escaped(&row.value), escaped(&row.detail));
    }
    if let Some(advice) = beside.advice.filter(|_| is_advised(summary)).map(crate::outlook::headline) {
        out += &format!("| Next time | {} | |\n", escaped(&advice));
    }
    for warning in &summary.warnings {
        out += &format!("\n> {}\n", escaped(&printable(&warning.text)));
    }
    out
}

/// Signs that Markdown or HTML would take for its own are escaped.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '@' => {
                out.push('\\');
                out.push(letter);
            }
            _ => out.push(letter),
        }
    }
    out
}

/// As code, in more backticks than the text has in a row.
fn code(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        assert_eq!(escaped("a|b_<img>*c*"), "a\\|b\\_&lt;img&gt;\\*c\\*");
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("``x`"), "``` ``x` ```");
    }
}
