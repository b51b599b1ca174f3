//! Activity by GPM (Hopper and newer): what the multiprocessors and pipes did between two samples of the driver, instead
//! of whether any kernel ran.

use super::api::{Api, Fault};
use super::sys::{self, Device};
use crate::device::DeviceReading;
use std::ffi::{c_uint, c_void};
use std::time::{Duration, Instant};

/// Samples that are closer together tell noise.
const APART: Duration = Duration::from_millis(100);

type Put = fn(&mut DeviceReading, Option<u64>);

/// Number of the metric, how many of ours its unit is, and where it goes. Shares come in per cent, rates in MiB/s.
const METRICS: [(c_uint, f64, Put); 11] = [
    (2, 1e4, |reading, value| reading.sm_active_ppm = value),
    (3, 1e4, |reading, value| reading.sm_occupancy_ppm = value),
    (5, 1e4, |reading, value| reading.tensor_ppm = value),
    (10, 1e4, |reading, value| reading.dram_ppm = value),
    (11, 1e4, |reading, value| reading.fp64_ppm = value),
    (12, 1e4, |reading, value| reading.fp32_ppm = value),
    (13, 1e4, |reading, value| reading.fp16_ppm = value),
    (20, MIB, |reading, value| reading.pcie_transmit_bytes_per_s = value),
    (21, MIB, |reading, value| reading.pcie_receive_bytes_per_s = value),
    (60, MIB, |reading, value| reading.nvlink_receive_bytes_per_s = value),
    (61, MIB, |reading, value| reading.nvlink_transmit_bytes_per_s = value),
];

const MIB: f64 = (1u64 << 20) as f64;

/// The two samples of a device or MIG instance between which activity is told.
pub(super) struct Activity {
    device: Device,
    instance: Option<u32>,
    older: *mut c_void,
    newer: *mut c_void,
    taken: Option<Instant>,
    values: [Option<u64>; METRICS.len()],
}

impl Activity {
    /// `Ok(None)`: the device has none.
    pub(super) fn open(api: &Api, device: Device, instance: Option<u32>) -> Result<Option<Activity>, Fault> {
        if !api.has_gpm(device)? {
            return Ok(None);
        }
        let (older, newer) = (api.gpm_alloc()?, api.gpm_alloc()?);
        let values = [None; METRICS.len()];
        Ok(Some(Activity { device, instance, older, newer, taken: None, values }))
    }

    /// Renews the figures where that is due, and puts them into the reading.
    pub(super) fn read(&mut self, api: &Api, reading: &mut DeviceReading) -> Result<(), Fault> {
        let result = match self.taken {
            Some(taken) if taken.elapsed() < APART => Ok(()),
            _ => self.renew(api),
        };
        if result.is_err() {
            self.values = [None; METRICS.len()];
            self.taken = None;
        }
        for ((.., put), value) in METRICS.iter().zip(self.values) {
            put(reading, value);
        }
        result
    }

    fn renew(&mut self, api: &Api) -> Result<(), Fault> {
        std::mem::swap(&mut self.older, &mut self.newer);
        api.gpm_sample(self.device, self.instance, self.newer)?;
        if self.taken.replace(Instant::now()).is_none() {
            return Ok(());
        }
        let empty = sys::GpmMetric { id: 0, code: 0, value: 0.0, names: [std::ptr::null(); 3] };
        let mut request = sys::GpmRequest {
            version: 1,
            count: METRICS.len() as c_uint,
            first: self.older,
            second: self.newer,
            metrics: [empty; sys::GPM_ROOM],
        };
        for (metric, (id, ..)) in request.metrics.iter_mut().zip(METRICS) {
            metric.id = id;
        }
        api.gpm_metrics(&mut request)?;
        for ((value, metric), (_, unit, _)) in self.values.iter_mut().zip(&request.metrics).zip(METRICS) {
            let is_true = metric.code == 0 && metric.value.is_finite() && metric.value >= 0.0;
            *value = is_true.then(|| (metric.value * unit).round() as u64);
        }
        Ok(())
    }
}
