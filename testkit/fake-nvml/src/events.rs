//! Event sets: XIDs, ECC errors and the like, each told once to every set that has registered for it.

use crate::calls::{
    Handle, INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS, TIMEOUT, View, look, on_device, on_library, put,
};
use crate::device::figures;
use crate::parts::Event;
use std::collections::HashSet;
use std::ffi::{c_int, c_uint};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// ECC errors, changes of the performance state and the clocks, XIDs.
const KINDS: u64 = 0x1f;
const POLL: Duration = Duration::from_millis(2);

/// Behind the handle of a set.
#[derive(Default)]
pub struct Set(Mutex<Registered>);

#[derive(Default)]
struct Registered {
    masks: Vec<(usize, u64)>,
    /// By GPU and place in its list.
    told: HashSet<(usize, usize)>,
}

figures! {
    nvmlDeviceGetSupportedEventTypes() -> u64 = |device| Some(device.events.as_ref().map_or(0, |_| KINDS));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetCreate(target: *mut *mut Set) -> c_int {
    // SAFETY: the caller gives a place for the handle.
    on_library("nvmlEventSetCreate", |_| unsafe { put(target, Some(Box::into_raw(Box::default()))) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetFree(set: *mut Set) -> c_int {
    on_library("nvmlEventSetFree", |_| {
        if !set.is_null() {
            // SAFETY: the handle came from the function above and is given back once.
            drop(unsafe { Box::from_raw(set) });
        }
        SUCCESS
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceRegisterEvents(device: usize, mask: u64, set: *mut Set) -> c_int {
    on_device("nvmlDeviceRegisterEvents", device, |view, own| {
        let Some((handle, set)) = Handle::from_raw(device).filter(|_| !set.is_null()).zip(Some(set)) else {
            return INVALID_ARGUMENT;
        };
        let Some(events) = &own.events else { return NOT_SUPPORTED };
        if mask & !KINDS != 0 {
            return NOT_SUPPORTED;
        }
        // SAFETY: a handle that was given out above.
        let mut set = unsafe { &*set }.0.lock().unwrap_or_else(PoisonError::into_inner);
        set.masks.push((handle.gpu, mask));
        let past = |event: &Event| event.at_ms.is_some_and(|at_ms| at_ms <= view.age_ms());
        let past = events.iter().enumerate().filter(|(_, event)| past(event));
        set.told.extend(past.map(|(place, _)| (handle.gpu, place)));
        SUCCESS
    })
}

#[repr(C)]
pub struct DataV1 {
    device: usize,
    kind: u64,
    data: u64,
}

#[repr(C)]
pub struct Data {
    first: DataV1,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

fn next(view: &View, set: &Set) -> Option<Data> {
    let mut set = set.0.lock().unwrap_or_else(PoisonError::into_inner);
    let age_ms = view.age_ms();
    for (gpu, mask) in set.masks.clone() {
        let events = view.devices().get(gpu).and_then(|device| device.events.as_ref());
        for (place, event) in events.into_iter().flatten().enumerate() {
            let due = event.kind & mask != 0 && event.at_ms.is_none_or(|at_ms| at_ms <= age_ms);
            if due && set.told.insert((gpu, place)) {
                let device = Handle { gpu, instance: 0 }.into_raw();
                return Some(Data {
                    first: DataV1 { device, kind: event.kind, data: event.data },
                    gpu_instance: event.gpu_instance.unwrap_or(c_uint::MAX),
                    compute_instance: event.compute_instance.unwrap_or(c_uint::MAX),
                });
            }
        }
    }
    None
}

fn wait(name: &str, set: *mut Set, timeout_ms: c_uint, then: impl Fn(Data) -> c_int) -> c_int {
    on_library(name, |_| {
        if set.is_null() {
            return INVALID_ARGUMENT;
        }
        // SAFETY: a handle that was given out above.
        let set = unsafe { &*set };
        let end = Instant::now() + Duration::from_millis(u64::from(timeout_ms));
        loop {
            match look(name, None) {
                Err(code) => return code,
                Ok(view) => {
                    if let Some(data) = next(&view, set) {
                        return then(data);
                    }
                }
            }
            if Instant::now() >= end {
                return TIMEOUT;
            }
            std::thread::sleep(POLL);
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetWait(set: *mut Set, target: *mut DataV1, timeout_ms: c_uint) -> c_int {
    // SAFETY: the caller gives a place for the structure.
    wait("nvmlEventSetWait", set, timeout_ms, |data| unsafe { put(target, Some(data.first)) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetWait_v2(set: *mut Set, target: *mut Data, timeout_ms: c_uint) -> c_int {
    // SAFETY: as above.
    wait("nvmlEventSetWait_v2", set, timeout_ms, |data| unsafe { put(target, Some(data)) })
}
