//! A run as text: the first screen, the full summary with what to know about the numbers, and the tables and sparklines
//! of `show`.

mod brief;
mod gpu;
mod lines;
mod markdown;
mod phases;
mod processes;
mod style;
mod table;
mod timeline;
mod tree;
mod units;

pub use brief::{Beside, Screen, brief, is_advised, speaks_utf8};
pub(crate) use brief::{FirstScreen, gpu_name, gpu_words, only_bound, share_of, used_gpus};
pub use markdown::markdown;
pub use phases::phases;
pub use processes::{ProcessLine, processes};
pub use style::{Color, Style};
pub(crate) use timeline::course;
pub use timeline::{TimelineRow, timeline, timeline_rows};
pub use tree::process_tree;
pub use units::Units;

use jobmeter_model::Summary;

/// Every figure of the summary with its bounds, newline at the end.
pub fn summary(summary: &Summary, style: Style) -> String {
    let mut out = String::new();
    for (label, text) in lines::lines(summary, style.units) {
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
