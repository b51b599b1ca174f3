//! What a measured run means for the next one: how much to ask for, which server is cheapest, what it
//! costs, and whether the machine was shared. Reads summaries, never a kernel file.

//A pub mod advice;
//A pub mod allocation;
pub mod catalogue;
//A pub mod cost;
pub mod error;
pub mod policy;
//A pub mod schedulers;
pub mod units;

pub use error::Error;
