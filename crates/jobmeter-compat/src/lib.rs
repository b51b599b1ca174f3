//! gpu-tracker's command line, files and layouts. Nothing is measured here: figures come from the engine's
//! summary and ticks, and leave in the words and units of the other program.

#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, unused_imports, reason = "the writing half is used on Linux only")
)]

mod csv;
#[cfg_attr(not(target_os = "linux"), path = "database_elsewhere.rs")]
mod database;
mod error;
pub mod help;
mod limits;
mod number;
pub mod output;
pub mod pickle;
pub mod sub_track;
pub mod table;
#[cfg(target_os = "linux")]
mod tracker;
mod tree;

pub use error::CompatError;
#[cfg(target_os = "linux")]
pub use tracker::*;
pub use tree::Node;
