//! Annotations for GitHub Actions: workflow commands on standard output.

use super::text::sentence;
use super::{Outcome, Report};

/// An error for each budget that is exceeded or undecided, a warning for what cannot be excluded, and one
/// notice when there is nothing else to say.
pub fn github(reports: &[Report]) -> String {
    let mut out = String::new();
    for report in reports {
        for line in &report.lines {
            let command = match line.outcome {
                Outcome::Exceeded | Outcome::Unknown => "error",
                Outcome::CannotExclude | Outcome::NoBaseline => "warning",
                Outcome::Holds => continue,
            };
            let title = property(&format!("{} ({})", line.title, report.label));
            let text = message(&format!("{}: {}", line.outcome.title(), sentence(line)));
            out += &format!("::{command} title={title}::{text}\n");
        }
        for note in &report.notes {
            out += &format!("::notice title={}::{}\n", property(&report.label), message(note));
        }
    }
    if out.is_empty() {
        let budgets: usize = reports.iter().map(|report| report.lines.len()).sum();
        out = format!("::notice title=jobmeter check::all budgets hold ({budgets} checked)\n");
    }
    out
}

/// The runner reads line by line and undoes these escapes in the text of a command.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Properties end at a comma or a colon, so those are escaped there too.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
