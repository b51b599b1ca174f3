//! ECC counters, remapped rows, and the time under each performance policy.

use crate::calls::{NOT_SUPPORTED, SUCCESS, on_device, put};
use crate::device::{figures, pairs};
use crate::state::unix_us;
use std::ffi::{c_int, c_uint};

/// The counters of L1, L2, device memory and register file.
#[repr(C)]
pub struct EccCounts([u64; 4]);

#[repr(C)]
pub struct Violation {
    reference_us: u64,
    violation_ns: u64,
}

const DEVICE_MEMORY: c_uint = 2;

figures! {
    nvmlDeviceGetTotalEccErrors(error, counter) -> u64 = |device| device.ecc.as_ref()?.count(error, counter);
    nvmlDeviceGetMemoryErrorCounter(error, counter, location) -> u64 = |device| {
        let count = device.ecc.as_ref()?.count(error, counter)?;
        Some(if location == DEVICE_MEMORY { count } else { 0 })
    };
    nvmlDeviceGetDetailedEccErrors(error, counter) -> EccCounts = |device| {
        Some(EccCounts([0, 0, device.ecc.as_ref()?.count(error, counter)?, 0]))
    };
    nvmlDeviceGetViolationStatus(policy) -> Violation = |device| {
        let violation_ns = *device.violation_ns.get(&policy)?;
        Some(Violation { reference_us: unix_us(), violation_ns })
    };
}

pairs! {
    nvmlDeviceGetEccMode = |device| {
        let mode = c_uint::from(device.ecc.as_ref()?.enabled);
        Some((mode, mode))
    };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetRemappedRows(
    device: usize,
    corrected: *mut c_uint,
    uncorrected: *mut c_uint,
    pending: *mut c_uint,
    failed: *mut c_uint,
) -> c_int {
    on_device("nvmlDeviceGetRemappedRows", device, |_, device| {
        let Some(rows) = &device.remapped else { return NOT_SUPPORTED };
        let numbers =
            [rows.corrected, rows.uncorrected, c_uint::from(rows.pending), c_uint::from(rows.failed)];
        for (target, number) in [corrected, uncorrected, pending, failed].into_iter().zip(numbers) {
            // SAFETY: the caller gives places for all four.
            unsafe { put(target, Some(number)) };
        }
        SUCCESS
    })
}
