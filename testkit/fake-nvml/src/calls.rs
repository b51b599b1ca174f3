//! How every call begins: reload the state if the file was replaced, then fail, hang or sleep as scripted.

use crate::state::{Device, State, unix_ms};
use std::collections::HashMap;
use std::ffi::{CStr, OsStr, c_char, c_int, c_uint};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub(crate) const SUCCESS: c_int = 0;
pub(crate) const UNINITIALIZED: c_int = 1;
pub(crate) const INVALID_ARGUMENT: c_int = 2;
pub(crate) const NOT_SUPPORTED: c_int = 3;
pub(crate) const NOT_FOUND: c_int = 6;
pub(crate) const INSUFFICIENT_SIZE: c_int = 7;
pub(crate) const GPU_IS_LOST: c_int = 15;
pub(crate) const UNKNOWN: c_int = 999;

/// A handle is a number: index of the GPU, and of the MIG instance in it counted from 1.
#[derive(Clone, Copy)]
pub(crate) struct Handle {
    pub(crate) gpu: usize,
    pub(crate) instance: usize,
}

impl Handle {
    pub(crate) fn from_raw(raw: usize) -> Option<Handle> {
        let number = raw.checked_sub(0x1000)?;
        Some(Handle { gpu: number / 64, instance: number % 64 })
    }

    pub(crate) fn into_raw(self) -> usize {
        0x1000 + self.gpu * 64 + self.instance
    }
}

#[derive(Default)]
struct World {
    state: Arc<State>,
    /// Inode and change time of the file that was read.
    stamp: Option<(u64, i64, i64)>,
    path: PathBuf,
    steps: u64,
    first_ms: u64,
    initialised: u32,
    pids: HashMap<String, u32>,
}

static WORLD: Mutex<Option<World>> = Mutex::new(None);

/// What a call sees of the world.
pub(crate) struct View {
    pub(crate) state: Arc<State>,
    steps: u64,
    first_ms: u64,
    pub(crate) folder: PathBuf,
}

impl View {
    pub(crate) fn devices(&self) -> &[Device] {
        self.state.devices_at(self.steps, self.first_ms)
    }

    pub(crate) fn device(&self, handle: Handle) -> Option<&Device> {
        let gpu = self.devices().get(handle.gpu)?;
        match handle.instance {
            0 => Some(gpu),
            instance => gpu.mig.as_ref()?.get(instance - 1),
        }
    }
}

/// Begins a call; `Err` is the code to return.
pub(crate) fn begin(name: &str, gpu: Option<usize>) -> Result<View, c_int> {
    let view = look(name, gpu)?;
    if view.state.hang.iter().any(|hung| hung == name) {
        loop {
            std::thread::sleep(Duration::from_secs(3600));
        }
    }
    if let Some(&ms) = view.state.delay_ms.get(name) {
        std::thread::sleep(Duration::from_millis(ms));
    }
    match view.state.fail.get(name) {
        Some(&code) => Err(code),
        None => Ok(view),
    }
}

fn look(name: &str, gpu: Option<usize>) -> Result<View, c_int> {
    let mut guard = WORLD.lock().unwrap_or_else(PoisonError::into_inner);
    let world = match guard.as_mut() {
        Some(world) => world,
        None => {
            let path = State::path().or_else(beside_library).ok_or(UNKNOWN)?;
            guard.insert(World { path, first_ms: unix_ms(), ..World::default() })
        }
    };
    let data = std::fs::metadata(&world.path).map_err(|_| UNKNOWN)?;
    let stamp = (data.ino(), data.ctime(), data.ctime_nsec());
    if world.stamp != Some(stamp) {
        world.state = Arc::new(State::load(&world.path).map_err(|error| {
            eprintln!("fake NVML: {error}");
            UNKNOWN
        })?);
        world.stamp = Some(stamp);
        world.steps = 0;
        world.pids.clear();
    }
    if gpu == Some(0) && world.state.step_on.as_deref() == Some(name) {
        world.steps += 1;
    }
    if world.initialised == 0 && !name.starts_with("nvmlInit") {
        return Err(UNINITIALIZED);
    }
    Ok(View {
        state: Arc::clone(&world.state),
        steps: world.steps,
        first_ms: world.first_ms,
        folder: world.path.parent().map(PathBuf::from).unwrap_or_default(),
    })
}

/// `fake-nvml.json` in the folder that this library was loaded from, so that copies of it are machines of
/// their own within one process.
fn beside_library() -> Option<PathBuf> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: asks where one of our own statics lies; the answer is written to `info`.
    let found = unsafe { libc::dladdr((&raw const WORLD).cast(), &mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr gave a C string that lives as long as the library.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())).parent()?.join("fake-nvml.json"))
}

/// Begins a call on a device and hands it to `then`.
pub(crate) fn on_device(name: &str, raw: usize, then: impl FnOnce(&View, &Device) -> c_int) -> c_int {
    let Some(handle) = Handle::from_raw(raw) else { return INVALID_ARGUMENT };
    let index = (handle.instance == 0).then_some(handle.gpu);
    let view = match begin(name, index) {
        Ok(view) => view,
        Err(code) => return code,
    };
    match view.device(handle) {
        None => INVALID_ARGUMENT,
        Some(device) if device.lost => GPU_IS_LOST,
        Some(device) => match device.fail.get(name) {
            Some(&code) => code,
            None => then(&view, device),
        },
    }
}

/// The number behind a name, read once per state file.
pub(crate) fn pid_of(view: &View, pid: &crate::state::Pid) -> Option<c_uint> {
    let mut guard = WORLD.lock().unwrap_or_else(PoisonError::into_inner);
    pid.resolve(&view.folder, &mut guard.as_mut()?.pids)
}

pub(crate) fn count_init(step: i32) {
    let mut guard = WORLD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(world) = guard.as_mut() {
        world.initialised = world.initialised.saturating_add_signed(step);
    }
}

/// # Safety
/// `target` is null or has room for `length` bytes.
pub(crate) unsafe fn put_text(target: *mut c_char, length: c_uint, text: &str) -> c_int {
    if target.is_null() {
        return INVALID_ARGUMENT;
    }
    if text.len() + 1 > length as usize {
        return INSUFFICIENT_SIZE;
    }
    // SAFETY: the room was checked above.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), target.cast(), text.len());
        *target.add(text.len()) = 0;
    }
    SUCCESS
}

/// # Safety
/// `target` is null or points to a `T`.
pub(crate) unsafe fn put<T>(target: *mut T, value: Option<T>) -> c_int {
    match value {
        None => NOT_SUPPORTED,
        Some(_) if target.is_null() => INVALID_ARGUMENT,
        Some(value) => {
            // SAFETY: promised by the caller.
            unsafe { target.write(value) };
            SUCCESS
        }
    }
}
