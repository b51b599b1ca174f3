//! From readings to figures: whose time and bytes they are, how large memory was at most, and how sure that is.

pub(crate) mod ledger;
pub(crate) mod memory;
pub(crate) mod peaks;
