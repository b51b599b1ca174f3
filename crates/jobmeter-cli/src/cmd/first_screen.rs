//! The first screen of a run, as `run`, `attach` and `show` print it.

use super::values::{Format, to_json};
use jobmeter_insight::advice::{Options, advise};
use jobmeter_model::Summary;
use jobmeter_record::Run;
use jobmeter_report::text::{self, Beside, Screen, Style};
use jobmeter_report::{RunData, SeriesBuilder};

/// Enough for a sparkline of ten cells.
const BUCKETS: usize = 64;

/// How a summary is to be shown.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) format: Format,
    /// Every figure and bound instead of the first screen.
    pub(crate) is_full: bool,
    pub(crate) style: Style,
    /// Columns of the terminal; `None` where it goes to a file or a pipe.
    pub(crate) width: Option<usize>,
    /// How commands call the run; without it none are shown.
    pub(crate) run: Option<&'a str>,
}

/// The summary as text, JSON or Markdown. `record` is read for the sparklines, only where they are shown.
pub(crate) fn render(summary: &Summary, view: View<'_>, record: impl FnOnce() -> Option<Run>) -> String {
    match view.format {
        Format::Json => to_json(summary),
        Format::Text if view.is_full => text::summary(summary, view.style, view.width),
        Format::Text | Format::Markdown => {
            let advice = text::is_advised(summary)
                .then(|| advise(std::slice::from_ref(summary), &Options::default()).ok())
                .flatten();
            let screen = Screen { width: view.width, is_utf8: text::speaks_utf8() };
            let draws = view.format == Format::Text && view.width.is_some() && screen.is_utf8;
            let data = draws.then(record).flatten().map(|run| series(&run, summary));
            let beside = Beside { advice: advice.as_ref(), data: data.as_ref(), run: view.run };
            match view.format {
                Format::Markdown => text::markdown(summary, beside, view.style.units),
                _ => text::brief(summary, beside, screen, view.style),
            }
        }
    }
}

fn series(run: &Run, summary: &Summary) -> RunData {
    let mut builder = SeriesBuilder::new(BUCKETS);
    run.replay(&mut builder);
    builder.finish(String::new(), summary.clone())
}
