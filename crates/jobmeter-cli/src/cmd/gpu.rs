//! What `run` and `attach` have to say of GPUs and energy.

use super::values::parse_intensity;
use crate::config::Settings;
use crate::trust;
use jobmeter_engine::linux::elevated::is_elevated;
use jobmeter_engine::linux::sys::{Helper, charge_helper};
use jobmeter_engine::meter::Meter;
use jobmeter_gpu::{Brand, GpuConfig, GpuError, GpuExtra, GpuMonitor, JobEnv, PowercapExtra};
use jobmeter_model::WarningKind;
use jobmeter_model::summary::Summary;
use std::path::PathBuf;
use std::time::Duration;

/// A UUID is checked before the job starts; a driver that takes longer is not going to tell.
const LISTING_PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Default, clap::Args)]
pub(crate) struct GpuArgs {
    /// Only these GPUs or MIG instances
    #[arg(long, value_name = "U1,U2", value_delimiter = ',', help_heading = "GPU and energy")]
    gpu_uuids: Option<Vec<String>>,
    /// Only GPUs of nvidia, amd or intel
    #[arg(long, value_name = "BRAND", value_parser = parse_brand, help_heading = "GPU and energy")]
    gpu_brand: Option<Brand>,
    /// Leave GPUs alone
    #[arg(long, conflicts_with_all = ["gpu_uuids", "gpu_brand"], help_heading = "GPU and energy")]
    no_gpu: bool,
    /// NVML library to load instead of libnvidia-ml.so.1
    #[arg(long, value_name = "FILE", help_heading = "GPU and energy")]
    nvml: Option<PathBuf>,
    /// Grams of CO2 per kWh of your electricity, to estimate the job's emissions
    #[arg(long, value_name = "G", value_parser = parse_intensity, help_heading = "GPU and energy")]
    carbon_intensity: Option<f64>,
}

fn parse_brand(text: &str) -> Result<Brand, String> {
    text.parse().map_err(|error: GpuError| error.to_string())
}

/// Whose environment says which GPUs the job sees.
#[derive(Debug, Clone, Copy)]
pub(crate) enum GpuJob {
    Started,
    Attached(i32),
}

impl GpuArgs {
    /// Fills in what no flag has said.
    pub(crate) fn configure(&mut self, settings: &Settings) {
        let is_asked_for = self.gpu_uuids.is_some() || self.gpu_brand.is_some();
        self.no_gpu |= settings.gpu == Some(false) && !is_asked_for;
        self.carbon_intensity = self.carbon_intensity.or(settings.carbon_intensity);
    }

    /// Refuses a list of GPUs that names none or a wrong one, before the job begins. Says what is ignored.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.nvml.is_some() && is_elevated() {
            trust::warn_ignored("--nvml");
        }
        if self.gpu_uuids.is_none() {
            return Ok(());
        }
        let listed = GpuMonitor::list(self.config(GpuJob::Started), LISTING_PATIENCE);
        listed.map(|_| ()).map_err(|error| format!("--gpu-uuids: {error}"))
    }

    /// Starts the drivers, if there is a sign of any. To be called while the program has one thread: they get a process
    /// of their own by a fork.
    pub(crate) fn start(&self, job: GpuJob) -> Started {
        let config = self.config(job);
        Started { energy: PowercapExtra::open(&config.root), gpus: GpuExtra::start(config) }
    }

    /// What -v says of a run without GPU; nothing where none was wanted.
    pub(crate) fn none_found(&self) -> Option<String> {
        let looked_for = || self.config(GpuJob::Started).looked_for();
        (!self.no_gpu).then(|| format!("jobmeter: no GPU found (looked for {})", looked_for()))
    }

    pub(crate) fn estimate(&self, summary: &mut Summary) {
        jobmeter_gpu::complete(summary, self.carbon_intensity);
    }

    fn config(&self, job: GpuJob) -> GpuConfig {
        let job_env = match job {
            GpuJob::Started => JobEnv::from_lookup(|key| std::env::var(key).ok()),
            GpuJob::Attached(pid) => environment_of(pid),
        };
        GpuConfig {
            enabled: !self.no_gpu,
            brand: self.gpu_brand,
            uuids: self.gpu_uuids.clone(),
            nvml_path: self.nvml.clone(),
            job_env,
            apart: true,
            ..GpuConfig::default()
        }
    }
}

/// Sources that were started.
pub(crate) struct Started {
    energy: PowercapExtra,
    gpus: Result<Option<GpuExtra>, GpuError>,
}

impl Started {
    /// Adds the sources; returns whether there is no sign of a GPU.
    pub(crate) fn add_to(self, meter: &mut Meter) -> bool {
        meter.add_extra(Box::new(self.energy));
        match self.gpus {
            Ok(Some(extra)) => {
                leave_out_drivers(meter);
                meter.add_extra(Box::new(extra));
            }
            Ok(None) => return true,
            Err(error) => meter.warn(WarningKind::Gpu, error.to_string()),
        }
        false
    }
}

/// The process of the drivers is ours: its time is in our account, and it is no part of the job.
pub(crate) fn leave_out_drivers(meter: &mut Meter) {
    for pid in jobmeter_gpu::helpers() {
        meter.exclude_session(pid);
        charge_helper(Helper::Drivers, pid);
    }
}

/// As the process was started; what it has set since cannot be seen.
fn environment_of(pid: i32) -> JobEnv {
    let bytes = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    JobEnv::from_lookup(|key| {
        bytes.split(|&byte| byte == 0).find_map(|entry| {
            let value = entry.strip_prefix(key.as_bytes())?.strip_prefix(b"=")?;
            Some(String::from_utf8_lossy(value).into_owned())
        })
    })
}
