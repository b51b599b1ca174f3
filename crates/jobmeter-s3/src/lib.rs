//! Run files to and from S3-compatible object storage: put, list, get, each within a deadline.
//!
//! Where and as whom is asked of the usual environment ([`Account`]); no metadata service is contacted. Requests are
//! signed with AWS Signature Version 4 ([`sign`]). Plain HTTP goes through `jobmeter-http`, https needs the feature `tls`.
//! Looking up a name cannot be timed out, so that a caller that must not wait runs a call on a thread of its own.

mod account;
mod client;
mod error;
mod local;
mod place;
pub mod sign;
mod wire;
mod xml;

pub use account::Account;
pub use client::{Client, Object};
pub use error::Error;
pub use local::{local_place, relative_key};
pub use place::Place;
