//! For how long the driver held a device's clocks down, by reason. The reasons are a set of bits: their mean says
//! nothing.

use crate::snapshot::GpuSnapshot;
use jobmeter_model::summary::{Figure, Figures, Quality};

/// NVML's clocks event reasons.
const REASONS: [(u64, &str); 9] = [
    (0x1, "idle"),
    (0x2, "application_setting"),
    (0x4, "power_cap"),
    (0x8, "hardware_slowdown"),
    (0x10, "sync_boost"),
    (0x20, "software_thermal"),
    (0x40, "hardware_thermal"),
    (0x80, "power_brake"),
    (0x100, "display_setting"),
];

/// Time under each reason, per device. A sample's reasons stand for the time since the sample before.
#[derive(Debug, Default)]
pub(crate) struct Throttling {
    last_ns: Option<u64>,
    devices: Vec<Option<[u64; REASONS.len()]>>,
}

impl Throttling {
    pub(crate) fn take(&mut self, snapshot: &GpuSnapshot) {
        let step_ns = self.last_ns.map_or(0, |last_ns| snapshot.monotonic_ns.saturating_sub(last_ns));
        self.last_ns = Some(snapshot.monotonic_ns);
        self.devices.resize(snapshot.readings.len(), None);
        for (times, reading) in self.devices.iter_mut().zip(&snapshot.readings) {
            let Some(bits) = reading.throttle_bits else { continue };
            let times = times.get_or_insert_default();
            for (time_ns, (bit, _)) in times.iter_mut().zip(REASONS) {
                *time_ns += if bits & bit == 0 { 0 } else { step_ns };
            }
        }
    }

    /// `gpu_clocks_held_REASON_ns` of a device that tells its reasons.
    pub(crate) fn figures(&self, index: usize) -> Figures {
        let times = self.devices.get(index).copied().flatten();
        let named = times.into_iter().flatten().zip(REASONS);
        named
            .map(|(time_ns, (_, reason))| {
                (format!("gpu_clocks_held_{reason}_ns"), Figure::int(time_ns, Quality::Sampled))
            })
            .collect()
    }
}
