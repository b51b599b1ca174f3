//! Utilisation by process: per PID one entry, the mean over the driver's samples since the caller's time stamp,
//! with the time of the newest of them. Whoever was idle has none.

use crate::calls::{
    ARGUMENT_VERSION_MISMATCH, NOT_FOUND, NOT_SUPPORTED, View, on_device, put_list, version_of,
};
use crate::parts::Sample;
use crate::state::{Device, unix_us};
use std::ffi::{c_int, c_uint};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Entry {
    pid: c_uint,
    time_us: u64,
    sm: c_uint,
    memory: c_uint,
    encoder: c_uint,
    decoder: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Info {
    time_us: u64,
    pid: c_uint,
    sm: c_uint,
    memory: c_uint,
    encoder: c_uint,
    decoder: c_uint,
    jpeg: c_uint,
    optical_flow: c_uint,
}

fn is_idle(sample: &Sample) -> bool {
    [sample.sm, sample.memory, sample.encoder, sample.decoder] == [0; 4]
}

fn mean(samples: &[(u64, &Sample)], of: fn(&Sample) -> u32) -> c_uint {
    let sum: u64 = samples.iter().map(|(_, sample)| u64::from(of(sample))).sum();
    (sum / samples.len() as u64) as c_uint
}

/// `None` if the device does not know it.
fn entries(view: &View, device: &Device, since_us: u64) -> Option<Vec<Entry>> {
    let rules = view.rules();
    let period_us = (device.sample_period_ms * 1000).max(1);
    let last_us = unix_us() / period_us * period_us;
    let mut by_pid: Vec<(c_uint, Vec<(u64, &Sample)>)> = Vec::new();
    let mut garbage = Vec::new();
    for sample in device.samples.as_ref()? {
        let Some(pid) = view.pid(&sample.pid).and_then(|pid| rules.sampled(pid, sample.outside)) else {
            continue;
        };
        let ago_us = sample.ago_ms.map(|ago_ms| view.first_ms().saturating_sub(ago_ms) * 1000);
        let time_us = sample.at_us.or(ago_us).unwrap_or(last_us);
        if sample.garbage {
            garbage.push((pid, vec![(time_us, sample)]));
        } else if time_us > since_us && !is_idle(sample) {
            match by_pid.iter_mut().find(|(known, _)| *known == pid) {
                Some((_, list)) => list.push((time_us, sample)),
                None => by_pid.push((pid, vec![(time_us, sample)])),
            }
        }
    }
    let entry = |(pid, samples): &(c_uint, Vec<(u64, &Sample)>)| Entry {
        pid: *pid,
        time_us: samples.iter().map(|(time_us, _)| *time_us).max().unwrap_or(0),
        sm: mean(samples, |sample| sample.sm),
        memory: mean(samples, |sample| sample.memory),
        encoder: mean(samples, |sample| sample.encoder),
        decoder: mean(samples, |sample| sample.decoder),
    };
    Some(by_pid.iter().chain(&garbage).map(entry).collect())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetProcessUtilization(
    device: usize,
    target: *mut Entry,
    count: *mut c_uint,
    since_us: u64,
) -> c_int {
    on_device("nvmlDeviceGetProcessUtilization", device, |view, device| {
        match entries(view, device, since_us) {
            None => NOT_SUPPORTED,
            Some(list) if list.is_empty() => NOT_FOUND,
            // SAFETY: the caller names the room that it gives.
            Some(list) => unsafe { put_list(&list, count, target) },
        }
    })
}

#[repr(C)]
pub struct InfoList {
    version: c_uint,
    count: c_uint,
    since_us: u64,
    target: *mut Info,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetProcessesUtilizationInfo(device: usize, list: *mut InfoList) -> c_int {
    on_device("nvmlDeviceGetProcessesUtilizationInfo", device, |view, device| {
        // SAFETY: the caller gives a structure with version, time and room filled in.
        let list = unsafe { &mut *list };
        if list.version != version_of::<InfoList>(1) {
            return ARGUMENT_VERSION_MISMATCH;
        }
        let Some(entries) = entries(view, device, list.since_us) else { return NOT_SUPPORTED };
        let info = |entry: &Entry| Info {
            time_us: entry.time_us,
            pid: entry.pid,
            sm: entry.sm,
            memory: entry.memory,
            encoder: entry.encoder,
            decoder: entry.decoder,
            jpeg: 0,
            optical_flow: 0,
        };
        let infos: Vec<Info> = entries.iter().map(info).collect();
        if infos.is_empty() {
            return NOT_FOUND;
        }
        // SAFETY: as above.
        unsafe { put_list(&infos, &raw mut list.count, list.target) }
    })
}
