//! What runs mean for the next one.

pub mod check;
pub mod compare;
