//! The summary as text: a dozen aligned lines for people, then what to know about the numbers.

mod gpu;
mod lines;
mod style;

pub use style::{Color, Style};

use jobmeter_core::Summary;

/// The whole summary, newline at the end.
pub fn summary(summary: &Summary, style: Style) -> String {
    let mut out = String::new();
    for (label, text) in lines::lines(summary) {
        out.push_str(&style.label(&format!("{label:>12}")));
        out.push_str("  ");
        out.push_str(&style.value(label, &text, summary));
        out.push('\n');
    }
    for note in lines::notes(summary) {
        out.push_str(&style.note(&note));
        out.push('\n');
    }
    out
}
