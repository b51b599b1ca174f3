//! Sub-tracking: time stamps of code blocks joined with the measurements of a tracking file.

mod analysis;
mod combine;
mod comparison;
mod fixed;
mod results;

pub use analysis::{Call, analyze, calls};
pub use combine::combine;
pub use comparison::{CompareOptions, Comparison};
pub use results::{ComparisonResults, SubTrackingResults};
