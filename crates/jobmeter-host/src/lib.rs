//! Where does the job run: operating system, processors, memory, disks, limits, container, scheduler, cloud.
//!
//! Everything is read from files below a root, `/` or a fake one in tests, and from an environment that the
//! caller hands over. What cannot be read is `None`, never a guess. The network is touched by one function
//! only, [`cloud::discover`], and only when DMI names a cloud and the caller allows it.

pub mod cloud;
pub mod compat;
mod container;
mod cpu;
mod disk;
mod identity;
mod info;
mod job;
mod limits;
#[cfg(test)]
#[allow(dead_code, reason = "shared with the tests of the conversations, which use the rest")]
#[path = "../tests/loopback/mod.rs"]
mod loopback;
mod os;
mod root;
pub mod text;

pub use cloud::{CloudInfo, CloudSource, MetadataConfig, Vendor, discover};
pub use compat::{cloud_info_compat, server_info_compat};
pub use container::ContainerInfo;
pub use cpu::CpuInfo;
pub use disk::DiskInfo;
pub use identity::{JobEnvironment, job_of_this_process};
pub use info::{GpuFact, HostInfo, MemoryInfo};
pub use job::JobIdentity;
pub use limits::HostLimits;
pub use os::OsInfo;
pub use root::Root;
