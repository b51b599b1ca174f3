//! gpu-tracker's command line, files and layouts. Nothing is measured here: figures come from the engine's
//! summary and ticks, and leave in the words and units of the other program.

#![cfg_attr(
    not(all(target_os = "linux", feature = "sqlite")),
    allow(dead_code, unused_imports, reason = "the writing half needs Linux and SQLite")
)]

mod csv;
#[cfg_attr(not(all(target_os = "linux", feature = "sqlite")), path = "database_elsewhere.rs")]
mod database;
mod error;
pub mod help;
pub mod layout;
mod limits;
mod number;
pub mod output;
pub mod pickle;
mod rows;
pub mod sub_track;
pub mod table;
#[cfg(all(target_os = "linux", feature = "sqlite"))]
mod tracker;
mod tree;
mod window;

pub use error::CompatError;
#[cfg(all(target_os = "linux", feature = "sqlite"))]
pub use tracker::*;
pub use tree::Node;
