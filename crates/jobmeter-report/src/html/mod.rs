//! The report: one self-contained page that asks nothing of any network. Everything to read is written here
//! as escaped HTML and works without scripts; the bundle of `web/` adds the interactive charts and the process
//! timeline. Where the bundle was not built in, the charts of [`crate::plot`] take their place.

mod bundle;
mod compare;
mod csp;
mod details;
mod entities;
mod figures;
mod overview;
mod pack;
mod page;
mod payload;
mod phases;
mod run;
mod server;

use crate::data::RunData;
use crate::error::Error;

/// Whether the interactive charts were built in.
pub fn is_interactive() -> bool {
    bundle::BUNDLE.is_some()
}

/// The page of one run, or of several with a comparison first.
pub fn render(runs: &[RunData]) -> Result<String, Error> {
    page::render(runs, bundle::BUNDLE)
}

/// The page with drawn charts only, whatever was built in.
pub fn render_static(runs: &[RunData]) -> Result<String, Error> {
    page::render(runs, None)
}
