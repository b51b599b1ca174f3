//! Phases: stretches of a run that the job named, and what it used meanwhile.

mod builder;
mod span;
mod used;

pub use builder::{PhaseBuilder, TakeSpan};
pub use span::{Phase, PhaseTable, Span};
pub use used::{Course, Used, UsedValue};
