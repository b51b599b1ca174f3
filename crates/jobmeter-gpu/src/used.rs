//! Whether the job used a device: yes, no, or unknown. "No" is said only where every sample could have told of a use.

use crate::device::GpuDevice;
use crate::snapshot::GpuSnapshot;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Yes,
    No,
    Unknown,
}

impl Use {
    /// The value of the fact `used`.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Use::Yes => "yes",
            Use::No => "no",
            Use::Unknown => "unknown",
        }
    }
}

/// What the samples so far say, per device.
#[derive(Debug, Default)]
pub(crate) struct Uses(Vec<Use>);

impl Uses {
    pub(crate) fn take(&mut self, snapshot: &GpuSnapshot) {
        self.0.resize(snapshot.devices.len(), Use::No);
        for (index, known) in self.0.iter_mut().enumerate() {
            *known = match (*known, at_sample(snapshot, index)) {
                (Use::Yes, _) | (_, Use::Yes) => Use::Yes,
                (Use::Unknown, _) | (_, Use::Unknown) => Use::Unknown,
                (Use::No, Use::No) => Use::No,
            };
        }
    }

    /// The samples ended before the run did.
    pub(crate) fn doubt(&mut self) {
        self.0.iter_mut().filter(|known| **known == Use::No).for_each(|known| *known = Use::Unknown);
    }

    /// A MIG GPU is used through its instances.
    pub(crate) fn get(&self, devices: &[GpuDevice], index: usize) -> Use {
        let own = |index: usize| self.0.get(index).copied().unwrap_or(Use::Unknown);
        let Some(device) = devices.get(index) else { return Use::Unknown };
        let is_part = |other: &GpuDevice| other.mig_parent.as_ref() == Some(&device.uuid);
        let mut parts = devices
            .iter()
            .enumerate()
            .filter(|(_, other)| is_part(other))
            .map(|(part, _)| own(part))
            .peekable();
        if parts.peek().is_none() {
            return own(index);
        }
        let parts: Vec<Use> = parts.collect();
        match parts.iter().find(|part| **part == Use::Yes) {
            Some(_) => Use::Yes,
            None if parts.contains(&Use::Unknown) => Use::Unknown,
            None => Use::No,
        }
    }
}

fn at_sample(snapshot: &GpuSnapshot, index: usize) -> Use {
    let (Some(device), Some(scopes)) = (snapshot.devices.get(index), snapshot.scopes.get(index)) else {
        return Use::Unknown;
    };
    let job = &scopes[2];
    // Whoever is on NVIDIA's list has a context there; a DRM descriptor may be opened just to look.
    let is_listed = device.driver == "nvml" && snapshot.clients.iter().any(|client| client.device == index);
    let is_accounted =
        snapshot.readings.get(index).is_some_and(|reading| reading.accounted_peak_bytes.is_some());
    if is_listed
        || is_accounted
        || job.memory_bytes.is_some_and(|bytes| bytes > 0)
        || job.busy_ppm.is_some_and(|ppm| ppm > 0)
    {
        return Use::Yes;
    }
    // A card on which a process works does not fall asleep.
    if snapshot.readings.get(index).is_some_and(|reading| reading.asleep) {
        return Use::No;
    }
    match (job.memory_bytes, job.busy_ppm) {
        // NVML lists every process that uses the device: one that is not listed does not use it, even where
        // utilisation is unknown.
        (Some(_), _) if device.driver == "nvml" => Use::No,
        (Some(_), Some(_)) => Use::No,
        _ => Use::Unknown,
    }
}
