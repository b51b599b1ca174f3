//! Accounting mode: what the driver remembers of every process, also after its end.

use crate::calls::{NOT_FOUND, NOT_SUPPORTED, on_device, put, put_list};
use crate::device::figures;
use crate::parts::Accounting;
use crate::state::Device;
use std::ffi::{c_int, c_uint};

#[repr(C)]
pub struct Stats {
    gpu_util: c_uint,
    memory_util: c_uint,
    max_memory: u64,
    time_ms: u64,
    start_us: u64,
    running: c_uint,
    reserved: [c_uint; 5],
}

const BUFFER_SIZE: c_uint = 4000;

figures! {
    nvmlDeviceGetAccountingMode() -> c_uint =
        |device| device.accounting.as_ref().map(|own| c_uint::from(own.enabled));
    nvmlDeviceGetAccountingBufferSize() -> c_uint =
        |device| device.accounting.as_ref().map(|own| own.buffer_size.unwrap_or(BUFFER_SIZE));
}

fn enabled(device: &Device) -> Option<&Accounting> {
    device.accounting.as_ref().filter(|own| own.enabled)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetAccountingPids(
    device: usize,
    count: *mut c_uint,
    target: *mut c_uint,
) -> c_int {
    on_device("nvmlDeviceGetAccountingPids", device, |view, device| {
        let Some(own) = enabled(device) else { return NOT_SUPPORTED };
        let pids: Vec<c_uint> = own.processes.iter().filter_map(|process| view.pid(&process.pid)).collect();
        // SAFETY: the caller names the room that it gives.
        unsafe { put_list(&pids, count, target) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetAccountingStats(
    device: usize,
    pid: c_uint,
    target: *mut Stats,
) -> c_int {
    on_device("nvmlDeviceGetAccountingStats", device, |view, device| {
        let Some(own) = enabled(device) else { return NOT_SUPPORTED };
        let found = own.processes.iter().find(|process| view.pid(&process.pid) == Some(pid));
        let Some(process) = found else { return NOT_FOUND };
        let stats = Stats {
            gpu_util: process.gpu_util.unwrap_or(c_uint::MAX),
            memory_util: process.memory_util.unwrap_or(c_uint::MAX),
            max_memory: process.max_memory.unwrap_or(u64::MAX),
            time_ms: process.time_ms,
            start_us: process.start_us,
            running: c_uint::from(process.running),
            reserved: [0; 5],
        };
        // SAFETY: the caller gives a place for the structure.
        unsafe { put(target, Some(stats)) }
    })
}
