//! How jobmeter shows a run: SVG and PNG plots and the HTML report. It is given data and returns text or
//! bytes; it opens no file and no kernel source.

mod apart;
pub mod data;
pub mod downsample;
mod error;
pub mod format;
pub mod html;
mod outlook;
pub mod panels;
pub mod plot;
pub mod text;

pub use data::{
    AdviceBlock, CostRow, PhaseSpan, PointMark, ProcessRow, RunData, Series, ServerBlock, Snippet,
};
pub use downsample::SeriesBuilder;
pub use error::Error;
