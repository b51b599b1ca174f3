//! What the samples told of each device's health and of the driver's own accounts, for the end of the run.

use crate::columns::{ACTIVITY, activity_metrics};
use crate::snapshot::{Failure, GpuSnapshot};
use jobmeter_model::summary::{Figure, Figures, Quality};
use jobmeter_model::{Metric, Scope, Stat};

#[derive(Debug, Clone, Copy, Default)]
struct Last {
    ecc_corrected: Option<u64>,
    ecc_uncorrected: Option<u64>,
    xid_events: Option<u64>,
    accounted_peak_bytes: Option<u64>,
}

/// The last that was told, per device: all of it only grows.
#[derive(Debug, Default)]
pub(crate) struct Health(Vec<Last>);

impl Health {
    pub(crate) fn take(&mut self, snapshot: &GpuSnapshot) {
        self.0.resize(snapshot.readings.len(), Last::default());
        for (last, reading) in self.0.iter_mut().zip(&snapshot.readings) {
            last.ecc_corrected = reading.ecc_corrected.or(last.ecc_corrected);
            last.ecc_uncorrected = reading.ecc_uncorrected.or(last.ecc_uncorrected);
            last.xid_events = reading.xid_events.or(last.xid_events);
            last.accounted_peak_bytes = reading.accounted_peak_bytes.or(last.accounted_peak_bytes);
        }
    }

    pub(crate) fn figures(&self, index: usize) -> Figures {
        let last = self.0.get(index).copied().unwrap_or_default();
        let mut figures = Figures::new();
        for (scope, metric, value) in [
            (Scope::System, Metric::GpuEccCorrectedErrors, last.ecc_corrected),
            (Scope::System, Metric::GpuEccUncorrectedErrors, last.ecc_uncorrected),
            (Scope::System, Metric::GpuXidEvents, last.xid_events),
            (Scope::Combined, Metric::GpuAccountedPeakBytes, last.accounted_peak_bytes),
        ] {
            if let Some(value) = value {
                figures.set_of(scope, metric, Stat::Total, Figure::int(value, Quality::Sampled));
            }
        }
        figures
    }
}

/// Why a device of NVIDIA's tells no activity, on each figure of it.
pub(crate) fn missing_activity(snapshot: &GpuSnapshot, uuid: &str) -> Figures {
    let is_why = |failure: &&Failure| failure.figure == ACTIVITY && failure.uuid.as_deref() == Some(uuid);
    let why = snapshot.failures.iter().find(is_why).map(|failure| failure.reason.as_str());
    let why = why.unwrap_or("NVML: activity (GPM) is told of Hopper and newer, by drivers from 520 on");
    let mut figures = Figures::new();
    activity_metrics().for_each(|metric| figures.set(metric, metric.first_stat(), Figure::unavailable(why)));
    figures
}
