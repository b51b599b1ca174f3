//! GPUs and energy: NVIDIA through NVML (loaded at run time), AMD and Intel through DRM sysfs and
//! `/proc/PID/fdinfo`, CPU energy through powercap.
//!
//! A driver may take seconds to initialise, fail in any call, never return, or end the process that it was loaded into.
//! So everything that touches a GPU is done by one worker behind [`GpuMonitor`], in a process of its own (`room`) or,
//! inside of other people's programs, on a thread; the caller swaps in the members of the job, asks for a sample and picks
//! up the last finished [`GpuSnapshot`], and none of that waits for the driver. A worker that hangs is left behind at the
//! end and named in the record.
//!
//! [`powercap`] is plain file reading and is called directly from the tick.

mod asleep;
pub mod attribute;
pub mod columns;
mod config;
mod device;
mod drm;
mod energy;
mod error;
mod extra;
mod gather;
mod hash;
mod health;
mod identity;
mod idle;
mod kfd;
mod link;
mod monitor;
mod notes;
mod nvml;
mod origin;
pub mod powercap;
mod room;
mod select;
mod sign;
mod snapshot;
mod source;
mod sums;
mod textfile;
mod thread;
mod throttle;
mod used;
mod visible;
mod work;

pub use columns::Layout;
pub use config::{Brand, GpuConfig, PidView};
pub use device::{DeviceReading, GpuDevice};
pub use error::GpuError;
pub use extra::{GpuExtra, PowercapExtra};
pub use identity::Member;
pub use monitor::{GpuMonitor, Listing, Stopped};
pub use room::helpers;
pub use snapshot::{Client, Failure, GpuSnapshot, GpuWarning, Owner, ScopeReading, Status};
pub use visible::JobEnv;

/// Completes a summary once all sources have told their part: grades the job's figures over all GPUs, names the source
/// of each figure, and adds energy and shares of the hardware.
pub fn complete(summary: &mut jobmeter_model::Summary, carbon_g_per_kwh: Option<f64>) {
    if !summary.gpus.is_empty() {
        sums::grade(summary);
        origin::name(summary);
    }
    jobmeter_model::footprint::estimate(summary, carbon_g_per_kwh);
    jobmeter_model::hardware::add_ratios(summary);
}
