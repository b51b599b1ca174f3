//! From readings to figures: whose time and bytes they are, how large memory was at most, and how sure that is. Works on
//! plain readings; nothing here opens a file or asks for the time.

pub(crate) mod amounts;
pub(crate) mod busy;
pub(crate) mod cpu;
pub(crate) mod ended;
mod family;
pub(crate) mod grade;
pub(crate) mod growth;
pub(crate) mod ledger;
pub(crate) mod memory;
pub(crate) mod moments;
pub(crate) mod parts;
pub(crate) mod peaks;
pub(crate) mod reading;
pub(crate) mod sharing;
mod together;
pub(crate) mod unmapped;
pub(crate) mod windows;
