//! How every call begins: reload the state if the file was replaced, then fail, hang or sleep as scripted.

use crate::misbehave::misbehave;
use crate::namespace::Rules;
use crate::parts::Pid;
use crate::state::{Device, Frame, State, unix_ms};
use std::collections::HashMap;
use std::ffi::{CStr, OsStr, c_char, c_int, c_uint};
use std::io::Write;
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
pub(crate) const DRIVER_NOT_LOADED: c_int = 9;
pub(crate) const TIMEOUT: c_int = 10;
pub(crate) const GPU_IS_LOST: c_int = 15;
pub(crate) const RESET_REQUIRED: c_int = 16;
pub(crate) const ARGUMENT_VERSION_MISMATCH: c_int = 25;
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
        self.frame().map_or(&self.state.devices, |frame| &frame.devices)
    }

    pub(crate) fn device(&self, handle: Handle) -> Option<&Device> {
        let gpu = self.devices().get(handle.gpu)?;
        match handle.instance {
            0 => Some(gpu),
            instance => gpu.mig.as_ref()?.get(instance - 1),
        }
    }

    /// Every device and MIG instance with its handle.
    pub(crate) fn handles(&self) -> impl Iterator<Item = (Handle, &Device)> {
        self.devices().iter().enumerate().flat_map(|(gpu, device)| {
            let instances = device.mig.iter().flatten().enumerate();
            let instances =
                instances.map(move |(place, instance)| (Handle { gpu, instance: place + 1 }, instance));
            std::iter::once((Handle { gpu, instance: 0 }, device)).chain(instances)
        })
    }

    pub(crate) fn rules(&self) -> Rules {
        Rules::new(self.state.pid_namespace.as_ref(), self.state.driver_version())
    }

    /// When the library was first called.
    pub(crate) fn first_ms(&self) -> u64 {
        self.first_ms
    }

    /// Milliseconds since the scene began.
    pub(crate) fn age_ms(&self) -> u64 {
        self.state.age_ms(&self.folder, self.first_ms)
    }

    /// The number behind a name, read once per state file.
    pub(crate) fn pid(&self, pid: &Pid) -> Option<c_uint> {
        if let Pid::Number(number) = pid {
            return Some(*number);
        }
        let mut guard = WORLD.lock().unwrap_or_else(PoisonError::into_inner);
        pid.resolve(&self.folder, &mut guard.as_mut()?.pids)
    }

    fn frame(&self) -> Option<&Frame> {
        self.state.frame_at(self.steps, || self.age_ms())
    }

    fn hangs(&self, name: &str) -> bool {
        let here = |list: &[String]| list.iter().any(|hung| hung == name);
        here(&self.state.hang) || self.frame().is_some_and(|frame| here(&frame.hang))
    }

    fn failure(&self, name: &str) -> Option<c_int> {
        let code = self.state.fail.get(name);
        code.or_else(|| self.frame()?.fail.get(name)).copied()
    }

    fn misdeed(&self, name: &str) -> Option<crate::state::Misdeed> {
        let misdeed = self.state.misbehave.get(name);
        misdeed.or_else(|| self.frame()?.misbehave.get(name)).copied()
    }

    fn log(&self, name: &str, gpu: Option<usize>) {
        let Some(file) = &self.state.call_log else { return };
        let gpu = gpu.map_or("-".to_owned(), |gpu| gpu.to_string());
        let line = format!("{} {name} {gpu}\n", unix_ms());
        let file = std::fs::OpenOptions::new().create(true).append(true).open(self.folder.join(file));
        if file.and_then(|mut file| file.write_all(line.as_bytes())).is_err() {
            eprintln!("fake NVML: the call log cannot be written");
        }
    }

    /// The energy counter: what the scene says, and what came together at its rate since the scene began.
    pub(crate) fn energy_mj(&self, device: &Device) -> Option<u64> {
        Some(device.energy_mj? + device.energy_mj_per_s * self.age_ms() / 1000)
    }

    /// A card that sleeps is woken by whoever asks it something.
    pub(crate) fn wake(&self, device: &Device) {
        let Some(path) = device.runtime_status.as_ref().map(|path| self.folder.join(path)) else { return };
        let asleep = std::fs::read_to_string(&path).is_ok_and(|status| status.trim() == "suspended");
        if asleep && std::fs::write(&path, "active\n").is_err() {
            eprintln!("fake NVML: {} cannot be written", path.display());
        }
    }
}

/// Begins a call; `Err` is the code to return.
pub(crate) fn begin(name: &str, gpu: Option<usize>) -> Result<View, c_int> {
    let view = look(name, gpu)?;
    view.log(name, gpu);
    if let Some(misdeed) = view.misdeed(name) {
        misbehave(misdeed);
    }
    if view.hangs(name) {
        loop {
            std::thread::sleep(Duration::from_secs(3600));
        }
    }
    if let Some(&ms) = view.state.delay_ms.get(name) {
        std::thread::sleep(Duration::from_millis(ms));
    }
    match view.failure(name) {
        Some(code) => Err(code),
        None => Ok(view),
    }
}

/// A call that concerns no device.
pub(crate) fn on_library(name: &str, then: impl FnOnce(&View) -> c_int) -> c_int {
    match begin(name, None) {
        Ok(view) => then(&view),
        Err(code) => code,
    }
}

pub(crate) fn look(name: &str, gpu: Option<usize>) -> Result<View, c_int> {
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

/// What is told of a device that needs a reset, since no register of it is read for that.
const TOLD_FROM_MEMORY: [&str; 8] = [
    "nvmlDeviceGetName",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetIndex",
    "nvmlDeviceGetSerial",
    "nvmlDeviceGetPciInfo",
    "nvmlDeviceGetPciInfo_v2",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetMinorNumber",
];

/// Begins a call on a device and hands it to `then`.
pub(crate) fn on_device(name: &str, raw: usize, then: impl FnOnce(&View, &Device) -> c_int) -> c_int {
    let Some(handle) = Handle::from_raw(raw) else { return INVALID_ARGUMENT };
    let index = (handle.instance == 0).then_some(handle.gpu);
    let view = match begin(name, index) {
        Ok(view) => view,
        Err(code) => return code,
    };
    let Some((gpu, device)) = view.devices().get(handle.gpu).zip(view.device(handle)) else {
        return INVALID_ARGUMENT;
    };
    if gpu.lost || device.lost {
        return GPU_IS_LOST;
    }
    if gpu.reset_required && !TOLD_FROM_MEMORY.contains(&name) {
        return RESET_REQUIRED;
    }
    view.wake(gpu);
    match device.fail.get(name) {
        Some(&code) => code,
        None => then(&view, device),
    }
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

/// # Safety
/// `count` names the room in `target`, which may be null.
pub(crate) unsafe fn put_list<T: Copy>(list: &[T], count: *mut c_uint, target: *mut T) -> c_int {
    if count.is_null() {
        return INVALID_ARGUMENT;
    }
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

/// The version word of a structure: its size and the number of its version.
pub(crate) const fn version_of<T>(number: c_uint) -> c_uint {
    size_of::<T>() as c_uint | (number << 24)
}
