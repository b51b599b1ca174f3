//! JUnit XML, which most CI services show as test results.

use super::text::sentence;
use super::{Outcome, Report};
use jobmeter_model::text::xml;

/// One suite for each run, one case for each budget: exceeded is a failure, unknown an error.
pub fn junit(reports: &[Report]) -> String {
    let total = |of: fn(&Report) -> usize| reports.iter().map(of).sum::<usize>();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"jobmeter check\" tests=\"{}\" \
         failures=\"{}\" errors=\"{}\">\n",
        total(|report| report.lines.len()),
        total(|report| report.count(Outcome::Exceeded)),
        total(|report| report.count(Outcome::Unknown)),
    );
    for report in reports {
        out += &format!(
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
            xml(&report.label),
            report.lines.len(),
            report.count(Outcome::Exceeded),
            report.count(Outcome::Unknown),
            report.count(Outcome::NoBaseline),
        );
        for line in &report.lines {
            let text = xml(&sentence(line));
            let inside = match line.outcome {
                Outcome::Holds => format!("<system-out>{text}</system-out>"),
                Outcome::CannotExclude => format!("<system-out>warning: {text}</system-out>"),
                Outcome::Exceeded => format!("<failure message=\"{text}\" type=\"budget\"/>"),
                Outcome::Unknown => format!("<error message=\"{text}\" type=\"unknown\"/>"),
                Outcome::NoBaseline => format!("<skipped message=\"{text}\"/>"),
            };
            out += &format!(
                "    <testcase classname=\"{}\" name=\"{}\">{inside}</testcase>\n",
                xml(&report.label),
                line.budget
            );
        }
        for note in &report.notes {
            out += &format!("    <system-out>{}</system-out>\n", xml(note));
        }
        out += "  </testsuite>\n";
    }
    out + "</testsuites>\n"
}
