//! For how long each device was held and not computed on by the job, and what it drew meanwhile.

use crate::device::GpuDevice;
use crate::snapshot::GpuSnapshot;
use jobmeter_model::summary::{Figure, Figures, Quality};
use jobmeter_model::{Metric, Stat};

/// What one sample says of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Busy,
    Unknown,
}

#[derive(Debug, Clone, Copy, Default)]
struct Times {
    watched_ns: u64,
    idle_ns: u64,
    unknown_ns: u64,
    idle_uj: u64,
    last_uj: Option<u64>,
    /// Energy was known at every idle sample.
    lacks_energy: bool,
}

/// A sample's state stands for the time since the sample before.
#[derive(Debug, Default)]
pub(crate) struct Idleness {
    last_ns: Option<u64>,
    devices: Vec<Times>,
}

impl Idleness {
    pub(crate) fn take(&mut self, snapshot: &GpuSnapshot) {
        let step_ns = self.last_ns.map_or(0, |last_ns| snapshot.monotonic_ns.saturating_sub(last_ns));
        self.last_ns = Some(snapshot.monotonic_ns);
        self.devices.resize(snapshot.devices.len(), Times::default());
        for (index, times) in self.devices.iter_mut().enumerate() {
            let energy_uj = snapshot.readings.get(index).and_then(|reading| reading.energy_uj);
            let grown_uj = energy_uj.zip(times.last_uj).map(|(now, before)| now.saturating_sub(before));
            times.last_uj = energy_uj;
            times.watched_ns += step_ns;
            match state(snapshot, index) {
                State::Busy => {}
                State::Unknown => times.unknown_ns += step_ns,
                State::Idle if step_ns > 0 => {
                    times.idle_ns += step_ns;
                    times.idle_uj += grown_uj.unwrap_or(0);
                    times.lacks_energy |= grown_uj.is_none();
                }
                State::Idle => {}
            }
        }
    }

    /// `gpu_watched_ns`, `gpu_idle_ns` and `gpu_idle_energy_uj` of a device.
    pub(crate) fn figures(&self, index: usize, device: &GpuDevice) -> Figures {
        let mut figures = Figures::new();
        let Some(times) = self.devices.get(index).filter(|times| times.watched_ns > 0) else {
            return figures;
        };
        let watched = Figure::int(times.watched_ns, Quality::Sampled);
        figures.set(Metric::GpuWatchedNs, Stat::Total, watched);
        let idle = |value: u64| match (times.unknown_ns, value) {
            (0, _) => Figure::int(value, Quality::Sampled),
            (_, 0) => Figure::unavailable("whether the job was idle is not known"),
            _ => Figure::int(value, Quality::LowerBound)
                .because("whether the job was idle is not known for a part of the time"),
        };
        figures.set(Metric::GpuIdleNs, Stat::Total, idle(times.idle_ns));
        // Only the whole GPU has energy.
        if !times.lacks_energy && device.mig_parent.is_none() {
            figures.set(Metric::GpuIdleEnergyUj, Stat::Total, idle(times.idle_uj));
        }
        figures
    }
}

fn state(snapshot: &GpuSnapshot, index: usize) -> State {
    let (Some(device), Some(scopes), Some(reading)) =
        (snapshot.devices.get(index), snapshot.scopes.get(index), snapshot.readings.get(index))
    else {
        return State::Unknown;
    };
    let job = &scopes[2];
    match (job.busy_ppm, reading.busy_ppm) {
        _ if reading.asleep => State::Idle,
        (Some(0), _) => State::Idle,
        (Some(_), _) => State::Busy,
        // Where nobody computes, the job does not.
        (None, Some(0)) => State::Idle,
        // NVML lists every process with a context: one that is not listed does not compute.
        (None, _) if device.driver == "nvml" && job.memory_bytes == Some(0) => State::Idle,
        (None, _) => State::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Brand;
    use crate::device::DeviceReading;
    use crate::snapshot::ScopeReading;
    use std::sync::Arc;

    fn device() -> GpuDevice {
        GpuDevice {
            uuid: "GPU-0".to_owned(),
            brand: Brand::Nvidia,
            name: "x".to_owned(),
            driver: "nvml".to_owned(),
            driver_version: None,
            pci_id: None,
            index: 0,
            mig_parent: None,
            mig_ids: None,
            mig_enabled: false,
            memory_total_bytes: None,
            visible: None,
            selected: true,
            energy_method: None,
            has_activity: false,
            is_guessed: false,
        }
    }

    fn at(second: u64, busy: Option<u64>, memory: Option<u64>, watts: u64) -> GpuSnapshot {
        let job = ScopeReading { memory_bytes: memory, busy_ppm: busy, memory_busy_ppm: None };
        let energy_uj = Some(second * watts * 1_000_000);
        GpuSnapshot {
            monotonic_ns: second * 1_000_000_000,
            devices: Arc::new(vec![device()]),
            readings: vec![DeviceReading { busy_ppm: Some(500_000), energy_uj, ..Default::default() }],
            scopes: vec![[job; 3]],
            ..GpuSnapshot::default()
        }
    }

    #[test]
    fn idle_time_and_its_energy_are_counted_and_unknown_time_makes_a_lower_bound() {
        let mut idleness = Idleness::default();
        for (second, busy) in [(0, Some(0)), (1, Some(0)), (2, Some(900_000)), (3, Some(0))] {
            idleness.take(&at(second, busy, Some(5), 100));
        }
        let figures = idleness.figures(0, &device());
        assert_eq!(figures["gpu_watched_ns"].as_u64(), Some(3_000_000_000));
        assert_eq!(figures["gpu_idle_ns"].as_u64(), Some(2_000_000_000));
        assert_eq!(figures["gpu_idle_energy_uj"].as_u64(), Some(200_000_000));
        assert_eq!(figures["gpu_idle_ns"].quality, Quality::Sampled);
        idleness.take(&at(4, None, Some(5), 100));
        assert_eq!(idleness.figures(0, &device())["gpu_idle_ns"].quality, Quality::LowerBound);
    }

    #[test]
    fn only_unknown_time_is_no_idle_time_of_0() {
        let mut idleness = Idleness::default();
        for second in 0..3 {
            idleness.take(&at(second, None, None, 100));
        }
        assert_eq!(idleness.figures(0, &device())["gpu_idle_ns"].value, None);
    }
}
