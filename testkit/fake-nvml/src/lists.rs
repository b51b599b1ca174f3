//! The process lists and the utilisation samples.
#![allow(non_snake_case, reason = "the names are those of the NVML header")]
#![allow(clippy::missing_safety_doc, reason = "the contract is that of the NVML header")]

use crate::calls::{INSUFFICIENT_SIZE, NOT_FOUND, NOT_SUPPORTED, SUCCESS, View, on_device, pid_of};
use crate::state::{Device, Process};
use std::ffi::{c_int, c_uint};
use std::time::{SystemTime, UNIX_EPOCH};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Entry {
    pid: c_uint,
    used: u64,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct EntryV1 {
    pid: c_uint,
    used: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct UtilizationSample {
    pid: c_uint,
    time_us: u64,
    sm: c_uint,
    memory: c_uint,
    encoder: c_uint,
    decoder: c_uint,
}

fn entries(view: &View, device: &Device, list: &[Process]) -> Vec<Entry> {
    let entry = |process: &Process| {
        Some(Entry {
            pid: pid_of(view, &process.pid)?,
            used: process.memory.unwrap_or(u64::MAX),
            gpu_instance: process.gpu_instance.or(device.gpu_instance).unwrap_or(c_uint::MAX),
            compute_instance: process.compute_instance.or(device.compute_instance).unwrap_or(c_uint::MAX),
        })
    };
    list.iter().filter_map(entry).collect()
}

/// # Safety
/// `count` names the room in `target`, which may be null when it is 0.
unsafe fn put_list<T: Copy>(list: &[T], count: *mut c_uint, target: *mut T) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        let room = *count as usize;
        *count = list.len() as c_uint;
        if list.len() > room || (target.is_null() && !list.is_empty()) {
            return INSUFFICIENT_SIZE;
        }
        for (place, value) in list.iter().enumerate() {
            target.add(place).write(*value);
        }
    }
    SUCCESS
}

macro_rules! process_lists {
    ($($name:ident: $list:ident as $entry:ty = $make:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(device: usize, count: *mut c_uint, target: *mut $entry) -> c_int {
            on_device(stringify!($name), device, |view, device| {
                let list: Vec<$entry> = entries(view, device, &device.$list).iter().map($make).collect();
                // SAFETY: the caller names the room that it gives.
                unsafe { put_list(&list, count, target) }
            })
        }
    )*};
}

process_lists! {
    nvmlDeviceGetComputeRunningProcesses_v3: compute as Entry = |entry| *entry;
    nvmlDeviceGetComputeRunningProcesses_v2: compute as Entry = |entry| *entry;
    nvmlDeviceGetComputeRunningProcesses: compute as EntryV1 = |e| EntryV1 { pid: e.pid, used: e.used };
    nvmlDeviceGetGraphicsRunningProcesses_v3: graphics as Entry = |entry| *entry;
    nvmlDeviceGetGraphicsRunningProcesses_v2: graphics as Entry = |entry| *entry;
    nvmlDeviceGetGraphicsRunningProcesses: graphics as EntryV1 = |e| EntryV1 { pid: e.pid, used: e.used };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetProcessUtilization(
    device: usize,
    target: *mut UtilizationSample,
    count: *mut c_uint,
    since_us: u64,
) -> c_int {
    on_device("nvmlDeviceGetProcessUtilization", device, |view, device| {
        let Some(samples) = &device.samples else { return NOT_SUPPORTED };
        let now_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_micros() as u64);
        let list: Vec<UtilizationSample> = samples
            .iter()
            .filter(|sample| sample.at_us.unwrap_or(now_us) > since_us)
            .filter_map(|sample| {
                Some(UtilizationSample {
                    pid: pid_of(view, &sample.pid)?,
                    time_us: sample.at_us.unwrap_or(now_us),
                    sm: sample.sm,
                    memory: sample.memory,
                    encoder: 0,
                    decoder: 0,
                })
            })
            .collect();
        if list.is_empty() {
            return NOT_FOUND;
        }
        // SAFETY: the caller names the room that it gives.
        unsafe { put_list(&list, count, target) }
    })
}
