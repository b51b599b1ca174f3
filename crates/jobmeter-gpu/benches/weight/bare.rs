//! The library alone: the same calls that a sample makes, with nothing done with the answers.

use std::ffi::{CString, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

type Simple = unsafe extern "C" fn(usize, *mut u8) -> c_int;
type Kinded = unsafe extern "C" fn(usize, c_uint, *mut u8) -> c_int;
type List = unsafe extern "C" fn(usize, *mut c_uint, *mut u8) -> c_int;
type Samples = unsafe extern "C" fn(usize, *mut u8, *mut c_uint, u64) -> c_int;

pub(crate) struct Bare {
    handles: Vec<usize>,
    memory: Simple,
    simple: Vec<Simple>,
    kinded: Vec<(Kinded, c_uint)>,
    lists: Vec<List>,
    samples: Samples,
}

/// Room for one answer: the longest list has 64 entries of 32 bytes.
const ROOM: usize = 64 * 1024;

impl Bare {
    pub(crate) fn open(library: &Path, count: usize) -> Bare {
        let name = CString::new(library.as_os_str().as_bytes()).expect("path");
        // SAFETY: the fake library, the signatures are those of the NVML header.
        unsafe {
            let handle = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY);
            assert!(!handle.is_null());
            let find = |name: &str| -> *mut c_void {
                let name = CString::new(name).expect("name");
                let address = libc::dlsym(handle, name.as_ptr());
                assert!(!address.is_null(), "{name:?}");
                address
            };
            let init: extern "C" fn() -> c_int = std::mem::transmute(find("nvmlInit_v2"));
            assert_eq!(init(), 0);
            let by_index: unsafe extern "C" fn(c_uint, *mut usize) -> c_int =
                std::mem::transmute(find("nvmlDeviceGetHandleByIndex_v2"));
            let handles = (0..count).map(|index| {
                let mut handle = 0;
                assert_eq!(by_index(index as c_uint, &mut handle), 0);
                handle
            });
            let simple = [
                "nvmlDeviceGetUtilizationRates",
                "nvmlDeviceGetPowerUsage",
                "nvmlDeviceGetTotalEnergyConsumption",
                "nvmlDeviceGetCurrentClocksEventReasons",
            ];
            let kinded = [
                ("nvmlDeviceGetTemperature", 0),
                ("nvmlDeviceGetClockInfo", 1),
                ("nvmlDeviceGetClockInfo", 2),
                ("nvmlDeviceGetPcieThroughput", 0),
                ("nvmlDeviceGetPcieThroughput", 1),
            ];
            let lists =
                ["nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3"];
            Bare {
                handles: handles.collect(),
                memory: std::mem::transmute::<*mut c_void, Simple>(find("nvmlDeviceGetMemoryInfo_v2")),
                simple: simple.map(|name| std::mem::transmute::<*mut c_void, Simple>(find(name))).to_vec(),
                kinded: kinded
                    .map(|(name, kind)| (std::mem::transmute::<*mut c_void, Kinded>(find(name)), kind))
                    .to_vec(),
                lists: lists.map(|name| std::mem::transmute::<*mut c_void, List>(find(name))).to_vec(),
                samples: std::mem::transmute::<*mut c_void, Samples>(find("nvmlDeviceGetProcessUtilization")),
            }
        }
    }

    pub(crate) fn sample(&self) {
        let mut room = vec![0u64; ROOM / 8];
        let room = room.as_mut_ptr().cast::<u8>();
        let mut count: c_uint;
        // SAFETY: the buffer is larger than any answer and aligned for all of them.
        unsafe {
            for &handle in &self.handles {
                // Structure version 2 of 40 bytes.
                room.cast::<c_uint>().write(40 | (2 << 24));
                assert_eq!((self.memory)(handle, room), 0);
                for call in &self.simple {
                    assert_eq!(call(handle, room), 0);
                }
                for (call, kind) in &self.kinded {
                    assert_eq!(call(handle, *kind, room), 0);
                }
                for list in &self.lists {
                    count = 1024;
                    assert_eq!(list(handle, &mut count, room), 0);
                }
                count = 1024;
                assert_eq!((self.samples)(handle, room, &mut count, 0), 0);
            }
        }
    }
}
