//! For how long the driver held a device's clocks down, by reason. The reasons are a set of bits: their mean says
//! nothing.

use crate::snapshot::GpuSnapshot;
use jobmeter_model::Stat;
use jobmeter_model::metric::Metric;
use jobmeter_model::summary::{Figure, Figures, Quality};

/// NVML's clocks event reasons.
const REASONS: [(u64, Metric); 9] = [
    (0x1, Metric::GpuClocksHeldIdleNs),
    (0x2, Metric::GpuClocksHeldApplicationSettingNs),
    (0x4, Metric::GpuClocksHeldPowerCapNs),
    (0x8, Metric::GpuClocksHeldHardwareSlowdownNs),
    (0x10, Metric::GpuClocksHeldSyncBoostNs),
    (0x20, Metric::GpuClocksHeldSoftwareThermalNs),
    (0x40, Metric::GpuClocksHeldHardwareThermalNs),
    (0x80, Metric::GpuClocksHeldPowerBrakeNs),
    (0x100, Metric::GpuClocksHeldDisplaySettingNs),
];

/// Reasons that are trouble. A power cap in normal work, chosen clocks and idleness are not.
const TROUBLES: [(u64, &str); 4] = [
    (0x8, "the hardware (heat, power or its supply)"),
    (0x20, "heat"),
    (0x40, "heat (hardware)"),
    (0x80, "a power brake"),
];

/// Held down for so long altogether.
const WORTH_A_WORD_NS: u64 = 1_000_000_000;

/// Time under each reason, per device. A sample's reasons stand for the time since the sample before.
#[derive(Debug, Default)]
pub(crate) struct Throttling {
    last_ns: Option<u64>,
    /// Devices and reasons that were warned of.
    told: Vec<(usize, u64)>,
    devices: Vec<Option<[u64; REASONS.len()]>>,
}

impl Throttling {
    /// Returns the warnings that this sample gives rise to, by kind and text.
    pub(crate) fn take(&mut self, snapshot: &GpuSnapshot) -> Vec<(&'static str, String)> {
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
        self.warn(snapshot)
    }

    fn warn(&mut self, snapshot: &GpuSnapshot) -> Vec<(&'static str, String)> {
        let mut warnings = Vec::new();
        for (index, (times, device)) in self.devices.iter().zip(snapshot.devices.iter()).enumerate() {
            for (time_ns, (bit, _)) in times.iter().flatten().zip(REASONS) {
                let trouble = TROUBLES.iter().find(|(trouble, _)| *trouble == bit);
                let Some((_, words)) = trouble.filter(|_| *time_ns >= WORTH_A_WORD_NS) else { continue };
                if !self.told.contains(&(index, bit)) {
                    self.told.push((index, bit));
                    let text = format!("GPU {} ({}): clocks held down by {words}", device.index, device.uuid);
                    warnings.push(("gpu_slowed", text));
                }
            }
        }
        warnings
    }

    /// `gpu_clocks_held_REASON_ns` of a device that tells its reasons.
    pub(crate) fn figures(&self, index: usize) -> Figures {
        let times = self.devices.get(index).copied().flatten();
        let mut figures = Figures::new();
        for (time_ns, (_, metric)) in times.into_iter().flatten().zip(REASONS) {
            figures.set(metric, Stat::Total, Figure::int(time_ns, Quality::Sampled));
        }
        figures
    }
}
