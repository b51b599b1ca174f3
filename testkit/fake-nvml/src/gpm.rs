//! GPM: activity metrics between two samples. Here they are those of the scene when the second sample was taken.

use crate::calls::{INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED, SUCCESS, on_device, on_library, put};
use crate::state::Device;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_uint};

/// The metrics that have a name in the state file; others go by their number.
const NAMES: [(&str, c_uint); 17] = [
    ("graphics_util", 1),
    ("sm_util", 2),
    ("sm_occupancy", 3),
    ("integer_util", 4),
    ("any_tensor_util", 5),
    ("dfma_tensor_util", 6),
    ("hmma_tensor_util", 7),
    ("dmma_tensor_util", 8),
    ("imma_tensor_util", 9),
    ("dram_bw_util", 10),
    ("fp64_util", 11),
    ("fp32_util", 12),
    ("fp16_util", 13),
    ("pcie_tx_per_sec", 20),
    ("pcie_rx_per_sec", 21),
    ("nvlink_total_rx_per_sec", 60),
    ("nvlink_total_tx_per_sec", 61),
];

fn number(name: &str) -> Option<c_uint> {
    name.parse().ok().or_else(|| NAMES.iter().find(|(known, _)| *known == name).map(|(_, id)| *id))
}

/// Behind the handle of a sample.
#[derive(Default)]
pub struct Sample {
    metrics: Option<BTreeMap<c_uint, f64>>,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmSampleAlloc(target: *mut *mut Sample) -> c_int {
    // SAFETY: the caller gives a place for the handle.
    on_library("nvmlGpmSampleAlloc", |_| unsafe { put(target, Some(Box::into_raw(Box::default()))) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmSampleFree(sample: *mut Sample) -> c_int {
    on_library("nvmlGpmSampleFree", |_| {
        if !sample.is_null() {
            // SAFETY: the handle came from the function above and is given back once.
            drop(unsafe { Box::from_raw(sample) });
        }
        SUCCESS
    })
}

fn take(device: &Device, sample: *mut Sample) -> c_int {
    let Some(gpm) = &device.gpm else { return NOT_SUPPORTED };
    if sample.is_null() {
        return INVALID_ARGUMENT;
    }
    let metrics = gpm.iter().filter_map(|(name, value)| Some((number(name)?, *value))).collect();
    // SAFETY: a handle that was given out above.
    unsafe { (*sample).metrics = Some(metrics) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmSampleGet(device: usize, sample: *mut Sample) -> c_int {
    on_device("nvmlGpmSampleGet", device, |_, device| take(device, sample))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmMigSampleGet(device: usize, instance: c_uint, sample: *mut Sample) -> c_int {
    on_device("nvmlGpmMigSampleGet", device, |_, device| {
        let mut instances = device.mig.iter().flatten();
        match instances.find(|own| own.gpu_instance == Some(instance)) {
            Some(own) => take(own, sample),
            None => NOT_FOUND,
        }
    })
}

#[repr(C)]
pub struct Support {
    version: c_uint,
    supported: c_uint,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmQueryDeviceSupport(device: usize, target: *mut Support) -> c_int {
    on_device("nvmlGpmQueryDeviceSupport", device, |_, device| {
        // SAFETY: the caller gives a place for the structure.
        unsafe { put(target, Some(Support { version: 1, supported: c_uint::from(device.gpm.is_some()) })) }
    })
}

#[repr(C)]
pub struct Metric {
    id: c_uint,
    code: c_int,
    value: f64,
    names: [*const c_char; 3],
}

/// The metrics follow; how many there is room for grew with the versions of the header.
#[repr(C)]
pub struct Request {
    version: c_uint,
    count: c_uint,
    first: *mut Sample,
    second: *mut Sample,
    metrics: [Metric; 0],
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmMetricsGet(request: *mut Request) -> c_int {
    on_library("nvmlGpmMetricsGet", |_| {
        // SAFETY: the caller gives a structure with two samples and the numbers of its metrics filled in.
        unsafe {
            let (first, second) = ((*request).first, (*request).second);
            if first.is_null() || second.is_null() || first == second || (*first).metrics.is_none() {
                return INVALID_ARGUMENT;
            }
            let Some(known) = &(*second).metrics else { return INVALID_ARGUMENT };
            let metrics = (&raw mut (*request).metrics).cast::<Metric>();
            for place in 0..(*request).count as usize {
                let metric = &mut *metrics.add(place);
                metric.code = NOT_SUPPORTED;
                if let Some(value) = known.get(&metric.id) {
                    (metric.code, metric.value) = (SUCCESS, *value);
                }
            }
        }
        SUCCESS
    })
}
