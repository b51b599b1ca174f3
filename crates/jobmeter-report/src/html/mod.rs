//! The report: one self-contained page that asks nothing of any network. Everything to read is written here
//! as escaped HTML and works without scripts; `script/` adds the interactive charts and the process timeline. On a
//! page without scripts the charts of [`crate::plot`] take their place.

mod assets;
mod compare;
mod csp;
mod details;
mod entities;
mod figures;
mod groups;
mod notebook;
mod overview;
mod pack;
mod page;
mod payload;
mod phases;
mod rank_map;
mod ranks;
mod run;
mod server;

use crate::data::RunData;
use crate::error::Error;
pub use notebook::fragment;

/// The page of one run, or of several with a comparison first.
///
/// ```
/// use jobmeter_record::Run;
/// use jobmeter_report::{SeriesBuilder, html};
///
/// let run = Run::open("../../fixtures/runs/v1-plain.jobmeter".as_ref())?;
/// let mut series = SeriesBuilder::new(500);
/// run.replay(&mut series);
/// let page = html::render(&[series.finish("plain", run.summary().expect("it has ended"))])?;
/// assert!(page.starts_with("<!DOCTYPE html>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn render(runs: &[RunData]) -> Result<String, Error> {
    page::render(runs, true)
}

/// The page with drawn charts and without scripts.
pub fn render_static(runs: &[RunData]) -> Result<String, Error> {
    page::render(runs, false)
}
