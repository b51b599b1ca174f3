//! MIG: a GPU that is divided into instances.

use crate::calls::{Handle, INVALID_ARGUMENT, NOT_FOUND, on_device, put};
use crate::device::{figures, pairs};
use std::ffi::{c_int, c_uint};

#[repr(C)]
pub struct Attributes {
    multiprocessors: c_uint,
    copy_engines: c_uint,
    decoders: c_uint,
    encoders: c_uint,
    jpeg: c_uint,
    optical_flow: c_uint,
    gpu_slices: c_uint,
    compute_slices: c_uint,
    memory_mib: u64,
}

figures! {
    nvmlDeviceGetMaxMigDeviceCount() -> c_uint = |device| Some(device.mig.as_ref().map_or(0, |_| 7));
    nvmlDeviceGetGpuInstanceId() -> c_uint = |device| device.gpu_instance;
    nvmlDeviceGetComputeInstanceId() -> c_uint = |device| device.compute_instance;
    nvmlDeviceGetAttributes_v2() -> Attributes = |device| device.attributes.as_ref().map(|own| Attributes {
        multiprocessors: own.multiprocessors,
        copy_engines: 1,
        decoders: 0,
        encoders: 0,
        jpeg: 0,
        optical_flow: 0,
        gpu_slices: own.gpu_slices,
        compute_slices: own.compute_slices,
        memory_mib: device.memory_total >> 20,
    });
}

pairs! {
    nvmlDeviceGetMigMode = |device| {
        let mode = c_uint::from(device.mig.is_some());
        Some((mode, mode))
    };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceIsMigDeviceHandle(device: usize, target: *mut c_uint) -> c_int {
    on_device("nvmlDeviceIsMigDeviceHandle", device, |_, _| {
        let instance = Handle::from_raw(device).map(|handle| c_uint::from(handle.instance > 0));
        // SAFETY: the caller gives a place for the number.
        unsafe { put(target, instance) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    device: usize,
    index: c_uint,
    target: *mut usize,
) -> c_int {
    on_device("nvmlDeviceGetMigDeviceHandleByIndex", device, |_, gpu| {
        let Some(handle) = Handle::from_raw(device) else { return INVALID_ARGUMENT };
        let count = gpu.mig.as_ref().map_or(0, Vec::len);
        if index as usize >= count {
            return NOT_FOUND;
        }
        let instance = Handle { gpu: handle.gpu, instance: index as usize + 1 };
        // SAFETY: the caller gives a place for the handle.
        unsafe { put(target, Some(instance.into_raw())) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(
    device: usize,
    target: *mut usize,
) -> c_int {
    on_device("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", device, |_, _| match Handle::from_raw(device) {
        Some(handle) if handle.instance > 0 => {
            // SAFETY: the caller gives a place for the handle.
            unsafe { put(target, Some(Handle { gpu: handle.gpu, instance: 0 }.into_raw())) }
        }
        _ => INVALID_ARGUMENT,
    })
}
