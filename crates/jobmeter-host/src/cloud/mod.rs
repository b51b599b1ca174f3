//! Which cloud, which instance type, which region: firmware first, the vendor's metadata service only when
//! the firmware names the vendor and the user allowed it.

pub(crate) mod ask;
mod deadline;
mod dmi;
pub(crate) mod http;
mod vendor;

pub use http::Failure;
pub use vendor::Vendor;

use crate::root::Root;
use deadline::Deadline;
use dmi::Dmi;
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, Instant};

/// Names the variable that points discovery at another address, for tests and for proxies.
pub const BASE_VARIABLE: &str = "JOBMETER_METADATA_BASE";

/// The user's permission to ask a metadata service, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataConfig {
    /// Instead of the vendor's own address: `http://ADDRESS[:PORT]`.
    pub base: Option<String>,
    /// For all requests together, connecting included.
    pub timeout: Duration,
}

impl Default for MetadataConfig {
    fn default() -> MetadataConfig {
        MetadataConfig { base: None, timeout: Duration::from_millis(500) }
    }
}

impl MetadataConfig {
    /// The default, with the base that the environment names, if any.
    pub fn from_environment() -> MetadataConfig {
        MetadataConfig {
            base: std::env::var(BASE_VARIABLE).ok().filter(|base| !base.is_empty()),
            ..MetadataConfig::default()
        }
    }
}

/// What told of the cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CloudSource {
    /// Nothing names a cloud.
    None,
    /// The firmware's tables.
    Dmi,
    /// DMI named the vendor and its metadata service answered.
    Metadata,
}

/// The rented machine, as far as it is known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CloudInfo {
    /// `None`: nothing names a cloud. It may still be one that hides.
    pub vendor: Option<Vendor>,
    /// The vendor's name for the type of machine.
    pub instance_type: Option<String>,
    /// The vendor's name for the region.
    pub region: Option<String>,
    /// The vendor's name for the zone.
    pub zone: Option<String>,
    /// How long it took to find out, seconds.
    pub discovery_time_s: f64,
    /// What told it.
    pub source: CloudSource,
    /// Why something is missing, or what the vendor rests on.
    pub reason: Option<String>,
}

/// Finds out where the machine below `root` is. Without permission no socket is opened. With it, the call
/// takes at most the configured time.
pub fn discover(root: &Path, allow_metadata: Option<&MetadataConfig>) -> CloudInfo {
    let started = Instant::now();
    let dmi = Dmi::read(Root::new(root));
    let mut info = match dmi.vendor() {
        None => CloudInfo {
            vendor: None,
            instance_type: None,
            region: None,
            zone: None,
            discovery_time_s: 0.0,
            source: CloudSource::None,
            reason: Some(if dmi.is_empty() {
                "this machine has no readable DMI strings (sys/class/dmi/id), which would name its cloud"
                    .into()
            } else {
                "the DMI strings (sys/class/dmi/id) name no known cloud".into()
            }),
        },
        Some(named) => {
            let known =
                ask::Facts { instance_type: dmi.instance_type(named.vendor), ..ask::Facts::default() };
            let (vendor, facts, source, reason) = match allow_metadata {
                None => (
                    named.vendor,
                    known,
                    CloudSource::Dmi,
                    Some(format!(
                        "{} named the vendor; its metadata service was not asked (not allowed)",
                        named.evidence
                    )),
                ),
                Some(config) => {
                    let deadline = Deadline::of_call(started, config.timeout);
                    ask_service(named.vendor, known, config, deadline)
                }
            };
            CloudInfo {
                vendor: Some(vendor),
                instance_type: facts.instance_type,
                region: facts.region,
                zone: facts.zone,
                discovery_time_s: 0.0,
                source,
                reason,
            }
        }
    };
    info.discovery_time_s = started.elapsed().as_secs_f64();
    info
}

fn ask_service(
    vendor: Vendor,
    known: ask::Facts,
    config: &MetadataConfig,
    deadline: Deadline,
) -> (Vendor, ask::Facts, CloudSource, Option<String>) {
    let base = config.base.as_deref().unwrap_or(vendor.base());
    let asked = http::Client::new(base, deadline).and_then(|client| ask::ask(vendor, &client));
    match asked {
        Ok(mut facts) => {
            facts.instance_type = facts.instance_type.or(known.instance_type);
            (facts.vendor.unwrap_or(vendor), facts.clone(), CloudSource::Metadata, facts.reason)
        }
        Err(failure) => (vendor, known, CloudSource::Dmi, Some(format!("the metadata service {failure}"))),
    }
}
