//! Which GPUs to look at and where to look for them.

use crate::error::GpuError;
use crate::visible::JobEnv;
use jobmeter_engine::linux::elevated::is_elevated;
use std::path::PathBuf;
use std::str::FromStr;

/// Who made a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Brand {
    /// NVIDIA, by NVML.
    Nvidia,
    /// AMD, by amdgpu.
    Amd,
    /// Intel, by i915 and xe.
    Intel,
    /// Any other maker whose DRM driver speaks the common keys.
    Other,
}

impl Brand {
    /// The word in options and keys.
    pub fn key(self) -> &'static str {
        match self {
            Brand::Nvidia => "nvidia",
            Brand::Amd => "amd",
            Brand::Intel => "intel",
            Brand::Other => "other",
        }
    }
}

impl FromStr for Brand {
    type Err = GpuError;

    fn from_str(text: &str) -> Result<Brand, GpuError> {
        match text.to_ascii_lowercase().as_str() {
            "nvidia" => Ok(Brand::Nvidia),
            "amd" => Ok(Brand::Amd),
            "intel" => Ok(Brand::Intel),
            _ => Err(GpuError::UnknownBrand { given: text.to_owned() }),
        }
    }
}

/// Whose process numbers the NVIDIA driver reports: old drivers report the host's even inside a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PidView {
    /// Ours when we live in the machine's own PID namespace; else map or corroborate each.
    #[default]
    Detect,
    /// They are the numbers that we see too.
    Ours,
    /// They are the host's, and only `NSpid` may translate them.
    Host,
}

impl PidView {
    /// What `JOBMETER_GPU_PIDS` says: in a container its user may know the driver, and need not wait for proof.
    fn named() -> Result<PidView, GpuError> {
        match named("JOBMETER_GPU_PIDS") {
            None => Ok(PidView::Detect),
            Some(word) if word.as_os_str() == "ours" => Ok(PidView::Ours),
            Some(word) if word.as_os_str() == "host" => Ok(PidView::Host),
            Some(word) => Err(GpuError::UnknownPidView { given: word.to_string_lossy().into_owned() }),
        }
    }
}

/// Which GPUs are watched, and how.
#[derive(Debug, Clone)]
pub struct GpuConfig {
    /// `false` asks no driver at all.
    pub enabled: bool,
    /// NVML to load; else `JOBMETER_NVML_PATH`, else `libnvidia-ml.so.1` from the system.
    pub nvml_path: Option<PathBuf>,
    /// Of this maker only.
    pub brand: Option<Brand>,
    /// Take these devices only. An empty list is an error.
    pub uuids: Option<Vec<String>>,
    /// Take the devices of the first of these brands that the machine has; all, where it has none of them.
    pub first_of: &'static [Brand],
    /// Where `sys/` and `proc/` are: what `JOBMETER_GPU_ROOT` names, else `/`.
    pub root: PathBuf,
    /// What the job's environment lets it see.
    pub job_env: JobEnv,
    /// What `JOBMETER_GPU_PIDS` says, else found out.
    pub pid_view: PidView,
    /// Let the drivers live in a process of their own: what they do to their process is then nobody else's concern.
    /// The caller must have but one thread. See [`crate::helpers`].
    pub apart: bool,
}

impl Default for GpuConfig {
    fn default() -> GpuConfig {
        GpuConfig {
            enabled: true,
            nvml_path: None,
            brand: None,
            uuids: None,
            first_of: &[],
            root: named("JOBMETER_GPU_ROOT").unwrap_or_else(|| PathBuf::from("/")),
            job_env: JobEnv::default(),
            // A wrong word is told by `validate`.
            pid_view: PidView::named().unwrap_or_default(),
            apart: false,
        }
    }
}

pub(crate) const NVML_DEFAULT: &str = "libnvidia-ml.so.1";

impl GpuConfig {
    pub(crate) fn validate(&self) -> Result<(), GpuError> {
        PidView::named()?;
        match &self.uuids {
            Some(list) if list.iter().all(|uuid| uuid.trim().is_empty()) => Err(GpuError::EmptyUuidList),
            _ => Ok(()),
        }
    }

    /// The NVML file named by option or environment, if any. With more rights than our caller's we load nothing that
    /// the caller names.
    pub(crate) fn nvml_named(&self) -> Option<PathBuf> {
        if is_elevated() {
            return None;
        }
        self.nvml_path.clone().or_else(|| named("JOBMETER_NVML_PATH"))
    }

    pub(crate) fn wants(&self, brand: Brand) -> bool {
        self.brand.is_none_or(|wanted| wanted == brand)
    }

    /// Whether sleeping cards are left asleep: not those that the user names, and not where the choice of the others
    /// depends on them.
    pub(crate) fn lets_sleep(&self) -> bool {
        self.uuids.is_none() && self.brand.is_none() && self.first_of.is_empty()
    }

    /// What a run without any GPU looked for, for `-v`.
    pub fn looked_for(&self) -> String {
        let nvml = match self.nvml_named() {
            Some(path) => path.display().to_string(),
            None => format!("{NVML_DEFAULT}, /dev/nvidiactl"),
        };
        match self.brand {
            Some(Brand::Nvidia) => nvml,
            Some(_) => "/sys/class/drm/card*".to_owned(),
            None => format!("{nvml}, /sys/class/drm/card*"),
        }
    }
}

/// The path in an environment variable; an empty one counts as not set, and none counts for a program that has more
/// rights than whoever set it.
fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|path| !path.is_empty() && !is_elevated()).map(PathBuf::from)
}
