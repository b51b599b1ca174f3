//! gpu-tracker's command line, files and layouts. Nothing is measured here: figures come from the engine's
//! summary and ticks, and leave in the words and units of the other program.

pub mod arguments;
pub mod command_file;
mod csv;
mod error;
pub mod help;
mod limits;
mod machine;
mod number;
pub mod output;
pub mod pickle;
pub mod settings;
pub mod sub_track;
pub mod table;
mod timepoints;
mod tracking_file;
mod tree;
mod units;
mod usage;

pub use error::CompatError;
pub use machine::{Look, Machine};
pub use timepoints::Timepoints;
pub use tracking_file::{Track, check_tracking_path};
pub use tree::Node;
pub use usage::usage;
