//! Sub-tracking: time stamps of code blocks joined with the measurements of a tracking file.

mod analysis;
mod comparison;
mod fixed;
mod results;

pub use analysis::{Call, analyze, calls};
pub use comparison::{CompareOptions, Comparison};
pub use results::{ComparisonResults, SubTrackingResults};
