//! The drivers that a machine may have. Each is one [`Way`] to its devices and, once opened, one [`GpuSource`].

use crate::config::{Brand, GpuConfig, NVML_DEFAULT};
use crate::device::GpuDevice;
use crate::drm::DrmSource;
use crate::gather::Gather;
use crate::notes::{ALL_DEVICES, Notes};
use crate::nvml::{NvmlSource, Progress};
use crate::{asleep, sign};
use std::path::PathBuf;
use std::sync::Arc;

/// A driver that has listed its devices.
pub(crate) trait GpuSource {
    /// Reads all its devices once, and who uses them.
    fn sample(&mut self, gather: &mut Gather<'_>);

    /// At the end of an orderly run.
    fn shutdown(&self) {}
}

/// What a driver needs to begin, and where it puts what it finds.
pub(crate) struct Begin<'a> {
    pub(crate) config: &'a GpuConfig,
    pub(crate) progress: &'a Arc<Progress>,
    pub(crate) devices: &'a mut Vec<GpuDevice>,
    pub(crate) notes: &'a mut Notes,
}

pub(crate) enum Opened {
    Source(Box<dyn GpuSource>),
    /// It has no device, or failed; the notes say why.
    Nothing,
    /// All its cards sleep and were not woken, in the words of the record. Ask again later.
    Asleep(String),
}

/// A way to GPUs.
pub(crate) trait Way: Sync {
    /// Whether the machine shows a sign of it. Cheap: asked at the start of every run.
    fn has_sign(&self, config: &GpuConfig) -> bool;

    /// Asks the driver for its devices; may take seconds or never return.
    fn open(&self, begin: Begin<'_>) -> Opened;
}

const WAYS: [&dyn Way; 2] = [&Nvml, &Drm];

/// The ways that this machine shows a sign of.
pub(crate) fn ways(config: &GpuConfig) -> Vec<&'static dyn Way> {
    WAYS.into_iter().filter(|way| way.has_sign(config)).collect()
}

struct Nvml;

impl Way for Nvml {
    fn has_sign(&self, config: &GpuConfig) -> bool {
        config.wants(Brand::Nvidia) && (config.nvml_named().is_some() || sign::of_nvidia(&config.root))
    }

    fn open(&self, begin: Begin<'_>) -> Opened {
        let Begin { config, progress, devices, notes } = begin;
        if let Some(names) = asleep::all_of_nvidia(&config.root).filter(|_| config.lets_sleep()) {
            return Opened::Asleep(names);
        }
        let path = config.nvml_named().unwrap_or_else(|| PathBuf::from(NVML_DEFAULT));
        match NvmlSource::start(&path, &config.root, Arc::clone(progress), devices, notes) {
            Ok(source) => Opened::Source(Box::new(source)),
            Err(reason) => {
                notes.fail(ALL_DEVICES, None, "nvml", || reason);
                Opened::Nothing
            }
        }
    }
}

struct Drm;

impl Way for Drm {
    fn has_sign(&self, config: &GpuConfig) -> bool {
        config.brand != Some(Brand::Nvidia) && sign::of_drm(&config.root)
    }

    fn open(&self, begin: Begin<'_>) -> Opened {
        begin.progress.enter("sysfs");
        let source = DrmSource::start(&begin.config.root, begin.devices);
        match source.is_empty() {
            true => Opened::Nothing,
            false => Opened::Source(Box::new(source)),
        }
    }
}
