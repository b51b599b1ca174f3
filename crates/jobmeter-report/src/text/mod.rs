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
pub(crate) use brief::{FirstScreen, cores_words, gpu_name, gpu_words, only_bound, share_of, used_gpus};
pub use markdown::markdown;
pub use phases::phases;
pub use processes::{ProcessLine, processes};
pub use style::{Color, Style};
pub(crate) use timeline::course;
pub use timeline::{TimelineRow, timeline, timeline_rows};
pub use tree::process_tree;
pub use units::Units;

use jobmeter_model::Summary;

/// Every figure of the summary with its bounds, newline at the end. Where `width` is given, lines are broken between words
/// so that none is longer.
pub fn summary(summary: &Summary, style: Style, width: Option<usize>) -> String {
    const LABEL_WIDTH: usize = 12;
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(LABEL_WIDTH + 2).max(LABEL_WIDTH));
    let mut out = String::new();
    for (label, text) in lines::lines(summary, style.units) {
        let mut title = style.label(&format!("{label:>LABEL_WIDTH$}"));
        for part in brief::wrapped(&text, room, 0) {
            out.push_str(&format!("{title}  {}\n", style.value(label, &part, summary)));
            title = " ".repeat(LABEL_WIDTH);
        }
    }
    for note in lines::notes(summary) {
        out.push_str(&style.noted(&note, width));
    }
    out
}
