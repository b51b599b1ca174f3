//! The functions that speak of the library, the system, and handles of devices.

use crate::calls::{
    DRIVER_NOT_LOADED, GPU_IS_LOST, Handle, INVALID_ARGUMENT, NOT_FOUND, SUCCESS, View, count_init,
    on_library, put, put_text,
};
use std::ffi::{CStr, c_char, c_int, c_uint};

fn init(name: &str) -> c_int {
    on_library(name, |view| {
        if view.state.driver_missing {
            return DRIVER_NOT_LOADED;
        }
        view.devices().iter().for_each(|device| view.wake(device));
        count_init(1);
        SUCCESS
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> c_int {
    init("nvmlInit_v2")
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit() -> c_int {
    init("nvmlInit")
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> c_int {
    init("nvmlInitWithFlags")
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> c_int {
    on_library("nvmlShutdown", |_| {
        count_init(-1);
        SUCCESS
    })
}

/// Functions that write a text on the library.
macro_rules! texts {
    ($($name:ident = |$view:ident| $value:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(text: *mut c_char, length: c_uint) -> c_int {
            // SAFETY: the caller gives the room that it names.
            on_library(stringify!($name), |$view| unsafe { put_text(text, length, &$value) })
        }
    )*};
}

texts! {
    nvmlSystemGetDriverVersion = |view| view.state.driver_version();
    nvmlSystemGetNVMLVersion = |view| format!("12.{}", view.state.driver_version());
}

/// Functions that write one number on the library.
macro_rules! numbers {
    ($($name:ident -> $type:ty = |$view:ident| $value:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(target: *mut $type) -> c_int {
            // SAFETY: the caller gives a place for the number.
            on_library(stringify!($name), |$view| unsafe { put(target, Some($value)) })
        }
    )*};
}

numbers! {
    nvmlSystemGetCudaDriverVersion -> c_int = |view| view.state.cuda_version.unwrap_or(12_040);
    nvmlSystemGetCudaDriverVersion_v2 -> c_int = |view| view.state.cuda_version.unwrap_or(12_040);
    nvmlDeviceGetCount -> c_uint = |view| view.devices().len() as c_uint;
    nvmlDeviceGetCount_v2 -> c_uint = |view| view.devices().len() as c_uint;
    nvmlUnitGetCount -> c_uint = |_view| 0;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetProcessName(pid: c_uint, text: *mut c_char, length: c_uint) -> c_int {
    on_library("nvmlSystemGetProcessName", |_| match std::fs::read_link(format!("/proc/{pid}/exe")) {
        // SAFETY: the caller gives the room that it names.
        Ok(path) => unsafe { put_text(text, length, &path.to_string_lossy()) },
        Err(_) => NOT_FOUND,
    })
}

/// Finds a device; a lost one has no handle.
fn find(view: &View, target: *mut usize, wanted: impl Fn(Handle, &crate::state::Device) -> bool) -> c_int {
    match view.handles().find(|(handle, device)| wanted(*handle, device)) {
        None => NOT_FOUND,
        Some((_, device)) if device.lost => GPU_IS_LOST,
        // SAFETY: the caller gives a place for the handle.
        Some((handle, _)) => unsafe { put(target, Some(handle.into_raw())) },
    }
}

fn by_index(name: &str, index: c_uint, target: *mut usize) -> c_int {
    on_library(name, |view| match index as usize {
        index if index < view.devices().len() => {
            find(view, target, |handle, _| handle.instance == 0 && handle.gpu == index)
        }
        _ => INVALID_ARGUMENT,
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex(index: c_uint, target: *mut usize) -> c_int {
    by_index("nvmlDeviceGetHandleByIndex", index, target)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, target: *mut usize) -> c_int {
    by_index("nvmlDeviceGetHandleByIndex_v2", index, target)
}

/// # Safety
/// `text` is null or a C string.
unsafe fn read_text(text: *const c_char) -> Option<String> {
    // SAFETY: promised by the caller.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, target: *mut usize) -> c_int {
    on_library("nvmlDeviceGetHandleByUUID", |view| {
        // SAFETY: the caller gives a C string.
        let Some(uuid) = (unsafe { read_text(uuid) }) else { return INVALID_ARGUMENT };
        find(view, target, |_, device| device.uuid == uuid)
    })
}

fn by_bus(name: &str, bus: *const c_char, target: *mut usize) -> c_int {
    on_library(name, |view| {
        // SAFETY: the caller gives a C string.
        let Some(bus) = (unsafe { read_text(bus) }) else { return INVALID_ARGUMENT };
        let bus = bus.to_lowercase();
        find(view, target, |handle, device| {
            let address = device.pci.as_deref().map(str::to_lowercase);
            handle.instance == 0
                && address.is_some_and(|address| bus.ends_with(&address) || address.ends_with(&bus))
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId(bus: *const c_char, target: *mut usize) -> c_int {
    by_bus("nvmlDeviceGetHandleByPciBusId", bus, target)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(bus: *const c_char, target: *mut usize) -> c_int {
    by_bus("nvmlDeviceGetHandleByPciBusId_v2", bus, target)
}

/// NVML's own texts are not needed: the name of the code says it.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(code: c_int) -> *const c_char {
    let text = match code {
        0 => c"SUCCESS",
        1 => c"UNINITIALIZED",
        2 => c"INVALID_ARGUMENT",
        3 => c"NOT_SUPPORTED",
        4 => c"NO_PERMISSION",
        6 => c"NOT_FOUND",
        7 => c"INSUFFICIENT_SIZE",
        9 => c"DRIVER_NOT_LOADED",
        10 => c"TIMEOUT",
        15 => c"GPU_IS_LOST",
        16 => c"RESET_REQUIRED",
        25 => c"ARGUMENT_VERSION_MISMATCH",
        _ => c"fake NVML error",
    };
    text.as_ptr()
}
