//! The run file, the run store and the exports: everything about a run once its numbers are measured.
//!
//! [`Writer`] takes the engine's stream and appends it to a `*.jobmeter` file, [`Run`] reads one back,
//! whole or broken. docs/run-file.md describes the bytes. Runs are written on Linux only and read anywhere.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "the writing half is used on Linux only"))]

mod attach;
#[cfg(target_os = "linux")]
mod carrier;
pub mod clock;
mod compose;
mod damage;
mod digest;
pub mod downsample;
mod encoder;
mod error;
mod event_codec;
pub mod export;
mod frame;
pub mod id;
mod lane;
mod limits;
mod os;
mod output;
#[cfg_attr(not(target_os = "linux"), path = "place/elsewhere.rs")]
pub mod place;
mod progress;
mod reader;
pub mod redact;
mod size_limit;
mod source;
mod store;
#[cfg(target_os = "linux")]
mod store_time;
pub mod table;
mod tick;
mod varint;
#[cfg(target_os = "linux")]
mod writer;

pub use attach::{Attached, PhaseCall};
#[cfg(target_os = "linux")]
pub use carrier::CarrierKind;
pub use damage::{Damage, DamageKind};
pub use digest::Digest;
pub use error::RecordError;
pub use frame::{OLDEST_VERSION as OLDEST_RUN_FILE_VERSION, VERSION as RUN_FILE_VERSION};
pub use jobmeter_model::text;
pub use limits::READ_LIMIT_VARIABLE;
pub use os::open_without_waiting;
pub use output::{SharedBuffer, Target};
pub use progress::Progress;
pub use reader::{Frame, Frames, Replayed, Run, read_digest};
pub use size_limit::{LEAST_LIMIT_BYTES, USUAL_LIMIT_BYTES};
pub use source::open_regular;
pub use store::{
    ExitFilter, Filter, Listing, PruneRule, RunGroup, Selected, State, Store, StoredRun, listing,
};
#[cfg(target_os = "linux")]
pub use writer::Writer;
