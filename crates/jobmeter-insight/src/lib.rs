//! What a measured run means for the next one: how much to ask for, which server is cheapest, what it
//! costs, and whether the machine was shared. Reads summaries, never a kernel file.

pub mod advice;
pub mod allocation;
pub mod catalogue;
pub mod check;
pub mod compare;
pub mod cost;
pub mod error;
pub mod gpus;
pub mod job;
pub mod policy;
pub mod schedulers;
pub mod units;

pub use error::Error;
