//! The half of gpu-tracker that measures and writes: its command line, settings, the machine, the tracking file. Linux
//! only, as the engine is.

pub mod arguments;
mod combine;
pub mod command_file;
mod machine;
pub mod settings;
mod sub_file;
mod timepoints;
mod tracking_file;
mod units;
mod usage;

pub use combine::combine;
pub use machine::{KnownMachine, Look, Machine};
pub use sub_file::SubFile;
pub use timepoints::Timepoints;
pub use tracking_file::{Track, check_tracking_path};
pub use usage::{Usage, usage};
