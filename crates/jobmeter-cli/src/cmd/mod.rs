//! One file per subcommand: arguments and wiring; the work is in the libraries.

pub(crate) mod advise;
#[cfg(target_os = "linux")]
pub(crate) mod attach;
pub(crate) mod busy;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod drawn;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
pub(crate) mod export;
pub(crate) mod first_screen;
#[cfg(target_os = "linux")]
pub(crate) mod gpu;
#[cfg(target_os = "linux")]
#[cfg_attr(not(feature = "sqlite"), path = "no_gpu_tracker.rs")]
pub(crate) mod gpu_tracker;
#[cfg(target_os = "linux")]
pub(crate) mod host;
#[cfg(target_os = "linux")]
pub(crate) mod job;
pub(crate) mod jobs;
pub(crate) mod load;
pub(crate) mod ls;
#[cfg(target_os = "linux")]
pub(crate) mod mark;
#[cfg(target_os = "linux")]
pub(crate) mod measure;
#[cfg(target_os = "linux")]
mod node;
#[cfg(target_os = "linux")]
pub(crate) mod notify;
pub(crate) mod out;
pub(crate) mod phases_from;
pub(crate) mod plot;
pub(crate) mod pricing;
pub(crate) mod prune;
#[cfg(feature = "object-storage")]
pub(crate) mod pull;
#[cfg(feature = "object-storage")]
pub(crate) mod push;
pub(crate) mod report;
pub(crate) mod rm;
#[cfg(target_os = "linux")]
pub(crate) mod run;
pub(crate) mod seff;
pub(crate) mod servers;
pub(crate) mod show;
pub(crate) mod terminal;
#[cfg(target_os = "linux")]
#[cfg_attr(not(feature = "object-storage"), path = "no_upload.rs")]
pub(crate) mod upload;
pub(crate) mod values;
pub(crate) mod version;
pub(crate) mod views;

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{attach, gpu_tracker, host, mark, run};
