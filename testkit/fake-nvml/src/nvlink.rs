//! NVLink: state and error counters by link. The throughput is a field value.

use crate::device::figures;
use crate::parts::Link;
use crate::state::Device;
use std::ffi::{c_int, c_uint};

fn link(device: &Device, number: c_uint) -> Option<&Link> {
    device.nvlink.as_ref()?.get(number as usize)
}

figures! {
    nvmlDeviceGetNvLinkState(number) -> c_uint = |device| Some(c_uint::from(link(device, number)?.active));
    nvmlDeviceGetNvLinkVersion(number) -> c_uint = |device| link(device, number)?.version;
    nvmlDeviceGetNvLinkErrorCounter(number, counter) -> u64 =
        |device| Some(link(device, number)?.errors.get(&counter).copied().unwrap_or(0));
}
