//! The process lists, in every version of their entries.

use crate::calls::{
    ARGUMENT_VERSION_MISMATCH, INVALID_ARGUMENT, NOT_SUPPORTED, View, on_device, put_list, version_of,
};
use crate::namespace::long_entries;
use crate::parts::Process;
use crate::state::Device;
use std::ffi::{c_int, c_uint};

/// The second and third version.
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

/// Of the detail lists, and of the third version in some drivers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LongEntry {
    pid: c_uint,
    used: u64,
    gpu_instance: c_uint,
    compute_instance: c_uint,
    protected: u64,
}

#[derive(Clone, Copy)]
enum List {
    Compute,
    Graphics,
    Mps,
}

impl List {
    fn of(self, device: &Device) -> Option<&[Process]> {
        match self {
            List::Compute => Some(&device.compute),
            List::Graphics => Some(&device.graphics),
            List::Mps => device.mps.as_deref(),
        }
    }
}

/// The list of a device, as it is shown to this caller. A GPU in MIG mode lists what its instances list.
fn entries(view: &View, device: &Device, list: List) -> Option<Vec<LongEntry>> {
    let rules = view.rules();
    let entry = |owner: &Device, process: &Process| {
        Some(LongEntry {
            pid: rules.listed(view.pid(&process.pid)?, process.outside)?,
            used: process.memory.map_or(u64::MAX, |bytes| rules.memory(bytes)),
            gpu_instance: process.gpu_instance.or(owner.gpu_instance).unwrap_or(c_uint::MAX),
            compute_instance: process.compute_instance.or(owner.compute_instance).unwrap_or(c_uint::MAX),
            protected: process.protected.unwrap_or(u64::MAX),
        })
    };
    let own = list.of(device)?;
    let mut all: Vec<LongEntry> = own.iter().filter_map(|process| entry(device, process)).collect();
    if own.is_empty() {
        for instance in device.mig.iter().flatten() {
            let processes = list.of(instance).into_iter().flatten();
            all.extend(processes.filter_map(|process| entry(instance, process)));
        }
    }
    Some(all)
}

fn listed<T: Copy>(
    name: &str,
    device: usize,
    list: List,
    (count, target): (*mut c_uint, *mut T),
    make: fn(&LongEntry) -> T,
) -> c_int {
    on_device(name, device, |view, device| {
        let Some(entries) = entries(view, device, list) else { return NOT_SUPPORTED };
        if name.ends_with("_v3") && long_entries(view.state.driver_version()) {
            // SAFETY: the caller's entries are as long as this driver's header says.
            return unsafe { put_list(&entries, count, target.cast()) };
        }
        let entries: Vec<T> = entries.iter().map(make).collect();
        // SAFETY: the caller names the room that it gives.
        unsafe { put_list(&entries, count, target) }
    })
}

macro_rules! process_lists {
    ($($name:ident: $list:ident as $entry:ty = $make:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(device: usize, count: *mut c_uint, target: *mut $entry) -> c_int {
            listed(stringify!($name), device, List::$list, (count, target), $make)
        }
    )*};
}

fn first(entry: &LongEntry) -> EntryV1 {
    EntryV1 { pid: entry.pid, used: entry.used }
}

fn second(entry: &LongEntry) -> Entry {
    Entry {
        pid: entry.pid,
        used: entry.used,
        gpu_instance: entry.gpu_instance,
        compute_instance: entry.compute_instance,
    }
}

process_lists! {
    nvmlDeviceGetComputeRunningProcesses_v3: Compute as Entry = second;
    nvmlDeviceGetComputeRunningProcesses_v2: Compute as Entry = second;
    nvmlDeviceGetComputeRunningProcesses: Compute as EntryV1 = first;
    nvmlDeviceGetGraphicsRunningProcesses_v3: Graphics as Entry = second;
    nvmlDeviceGetGraphicsRunningProcesses_v2: Graphics as Entry = second;
    nvmlDeviceGetGraphicsRunningProcesses: Graphics as EntryV1 = first;
    nvmlDeviceGetMPSComputeRunningProcesses_v3: Mps as Entry = second;
    nvmlDeviceGetMPSComputeRunningProcesses_v2: Mps as Entry = second;
    nvmlDeviceGetMPSComputeRunningProcesses: Mps as EntryV1 = first;
}

#[repr(C)]
pub struct DetailList {
    version: c_uint,
    mode: c_uint,
    count: c_uint,
    entries: *mut LongEntry,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetRunningProcessDetailList(
    device: usize,
    target: *mut DetailList,
) -> c_int {
    on_device("nvmlDeviceGetRunningProcessDetailList", device, |view, device| {
        // SAFETY: the caller gives a structure with version, mode and room filled in.
        let target = unsafe { &mut *target };
        if target.version != version_of::<DetailList>(1) {
            return ARGUMENT_VERSION_MISMATCH;
        }
        let list = match target.mode {
            0 => List::Compute,
            1 => List::Graphics,
            2 => List::Mps,
            _ => return INVALID_ARGUMENT,
        };
        let Some(entries) = entries(view, device, list) else { return NOT_SUPPORTED };
        // SAFETY: as above.
        unsafe { put_list(&entries, &raw mut target.count, target.entries) }
    })
}
