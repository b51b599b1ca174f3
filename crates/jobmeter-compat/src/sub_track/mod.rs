//! Sub-tracking: time stamps of code blocks joined with the measurements of a tracking file.

mod analysis;
mod comparison;
mod fixed;
mod results;

pub use analysis::{Call, Span, analyze, calls, code_block_names, overall, spans_of, timepoints};
pub use comparison::{CompareOptions, Comparison, read_results};
pub use results::{ComparisonResults, SubTrackingResults, text_of};
