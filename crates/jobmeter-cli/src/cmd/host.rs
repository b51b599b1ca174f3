//! `jobmeter host`: the machine, its limits, and whose it is.

use jobmeter_gpu::{GpuConfig, GpuMonitor};
use jobmeter_host::GpuFact;
use jobmeter_host::{HostInfo, MetadataConfig, discover, text};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A driver that takes longer is not going to tell.
const GPU_PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --cloud the cloud is told from the firmware alone and nothing is sent to any network.

Examples:
  jobmeter host
  jobmeter host --cloud --json | jq .cloud.instance_type"
)]
pub(crate) struct HostArgs {
    /// Ask the metadata service of the cloud that the firmware names, for 500 ms at the most
    #[arg(long)]
    cloud: bool,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Describe the machine whose files lie below DIR
    #[arg(long, value_name = "DIR", default_value = "/", hide_default_value = true)]
    root: PathBuf,
}

#[derive(serde::Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    host: &'a HostInfo,
    cloud: &'a jobmeter_host::CloudInfo,
}

pub(crate) fn main(args: HostArgs) -> Result<u8, String> {
    if !args.root.is_dir() {
        return Err(format!("{:?} is not a directory; --root wants one that stands for /", args.root));
    }
    let mut host = HostInfo::of(&args.root);
    host.gpus = gpus(&args.root);
    let allowed = args.cloud.then(MetadataConfig::from_environment);
    let cloud = discover(&args.root, allowed.as_ref());
    let out = if args.json {
        let json = serde_json::to_string_pretty(&Answer { host: &host, cloud: &cloud });
        json.map_err(|error| format!("cannot write the description as JSON: {error}"))? + "\n"
    } else {
        // Nobody asked and nothing names one: a row about it would only be noise.
        let shown = (args.cloud || cloud.vendor.is_some()).then_some(&cloud);
        text::render(&host, shown)
    };
    super::out::print(&out)
}

/// Unknown where the driver failed or hung; empty where there is none.
fn gpus(root: &Path) -> Option<Vec<GpuFact>> {
    let config = GpuConfig { root: root.to_owned(), apart: true, ..GpuConfig::default() };
    let devices = GpuMonitor::list(config, GPU_PATIENCE).ok()?;
    let fact = |device: jobmeter_gpu::GpuDevice| GpuFact {
        name: device.name,
        uuid: Some(device.uuid),
        memory_bytes: device.memory_total_bytes,
    };
    Some(devices.into_iter().map(fact).collect())
}
