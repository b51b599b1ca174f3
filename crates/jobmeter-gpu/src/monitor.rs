//! The thread that talks to the drivers, and the handle that never waits for it.

use crate::asleep;
use crate::attribute;
use crate::config::{GpuConfig, NVML_DEFAULT};
use crate::device::GpuDevice;
use crate::drm::DrmSource;
use crate::error::GpuError;
use crate::gather::Gather;
use crate::identity::{Member, Members};
use crate::notes::{ALL_DEVICES, Notes};
use crate::nvml::{NvmlSource, Progress};
use crate::snapshot::{GpuSnapshot, Status};
use crate::{kfd, select, visible};
use jobmeter_engine::linux::signal_mask::SignalsBlocked;
use jobmeter_engine::meter::OwnThread;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// No healthy driver stays in one sample for so long.
const HUNG_AFTER: Duration = Duration::from_secs(2);

/// What the handle and the thread share. The lock is held for the swap of a pointer, never during a call
/// into a driver.
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    progress: Arc<Progress>,
}

struct State {
    members: Arc<Vec<Member>>,
    requested: bool,
    stop: bool,
    ended: bool,
    ready: bool,
    failed: Option<GpuError>,
    reason: Option<String>,
    /// Why the NVIDIA driver is not asked: all its cards sleep.
    asleep: Option<String>,
    devices: Option<Arc<Vec<GpuDevice>>>,
    latest: Option<Arc<GpuSnapshot>>,
    /// Since when the thread is inside a driver.
    busy_since: Option<Instant>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the thread ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// `failure`: why nothing could be measured, if so.
    Clean { failure: Option<String> },
    /// The thread is still inside the driver and was left behind. End the process with `_exit` semantics:
    /// the library's own exit handlers may wait for the same lock.
    LeftBehind { reason: String, for_ms: u64 },
}

pub struct GpuMonitor {
    shared: Arc<Shared>,
}

impl GpuMonitor {
    /// Returns at once. `None`: switched off, or no trace of a GPU (see [`GpuConfig::looked_for`]).
    pub fn start(config: GpuConfig) -> Result<Option<GpuMonitor>, GpuError> {
        if !config.enabled {
            return Ok(None);
        }
        config.validate()?;
        let nvml = config.nvml_worth_trying();
        let drm = config.drm_worth_trying();
        if !nvml && !drm {
            return Ok(None);
        }
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                members: Arc::default(),
                requested: false,
                stop: false,
                ended: false,
                ready: false,
                failed: None,
                reason: None,
                asleep: None,
                devices: None,
                latest: None,
                busy_since: Some(Instant::now()),
            }),
            changed: Condvar::new(),
            progress: Arc::new(Progress::new()),
        });
        let worker = Arc::clone(&shared);
        let own_thread = OwnThread::enter();
        let _blocked = SignalsBlocked::new();
        std::thread::Builder::new()
            .name("jobmeter-gpu".to_owned())
            .spawn(move || run(config, nvml, drm, &worker, own_thread))
            .map_err(|error| GpuError::Thread { reason: error.to_string() })?;
        Ok(Some(GpuMonitor { shared }))
    }

    /// Lists the devices, waiting for the drivers no longer than `timeout`.
    pub fn list(config: GpuConfig, timeout: Duration) -> Result<Vec<GpuDevice>, GpuError> {
        let wanted = config.uuids.clone();
        let Some(monitor) = GpuMonitor::start(config)? else {
            return match wanted {
                Some(unknown) => Err(GpuError::UnknownUuids { unknown, valid: Vec::new() }),
                None => Ok(Vec::new()),
            };
        };
        let shared = &monitor.shared;
        let (state, _) = shared
            .changed
            .wait_timeout_while(shared.lock(), timeout, |state| !state.ready && !state.ended)
            .unwrap_or_else(PoisonError::into_inner);
        let result = match (&state.failed, &state.devices) {
            (Some(error), _) => Err(error.clone()),
            (None, Some(devices)) => Ok(devices.as_ref().clone()),
            (None, None) if state.ended => Ok(Vec::new()),
            (None, None) => Err(GpuError::Timeout { doing: shared.progress.current(), after: timeout }),
        };
        drop(state);
        monitor.stop(Duration::ZERO);
        result
    }

    /// The living processes of the job; taken over by the next sample.
    pub fn set_processes(&self, members: Vec<Member>) {
        self.shared.lock().members = Arc::new(members);
    }

    /// Asks for a sample. Requests that come while one is being taken become one.
    pub fn request(&self) {
        self.shared.lock().requested = true;
        self.shared.changed.notify_all();
    }

    /// The last finished sample.
    pub fn latest(&self) -> Option<Arc<GpuSnapshot>> {
        self.shared.lock().latest.clone()
    }

    /// The device list, once the drivers have answered.
    pub fn devices(&self) -> Option<Arc<Vec<GpuDevice>>> {
        self.shared.lock().devices.clone()
    }

    /// Which cards were left asleep, and their driver alone.
    pub fn asleep(&self) -> Option<String> {
        self.shared.lock().asleep.clone()
    }

    /// To ask for the device list later, also when the monitor is gone.
    pub fn listing(&self) -> Listing {
        Listing { shared: Arc::clone(&self.shared) }
    }

    /// The call into a driver that the thread is in, and for how long it has been at it.
    pub fn in_call(&self) -> Option<(&'static str, Duration)> {
        let since = self.shared.lock().busy_since?;
        Some((self.shared.progress.current(), since.elapsed()))
    }

    pub fn status(&self) -> Status {
        let state = self.shared.lock();
        let for_ms = |since: Instant| since.elapsed().as_millis() as u64;
        let call = self.shared.progress.current();
        if let Some(reason) = &state.reason {
            return Status::Failed { reason: reason.clone() };
        }
        match state.busy_since {
            Some(since) if !state.ready && since.elapsed() < HUNG_AFTER.max(INIT_PATIENCE) => {
                Status::Starting { call, for_ms: for_ms(since) }
            }
            Some(since) if since.elapsed() >= HUNG_AFTER => Status::Hung { call, for_ms: for_ms(since) },
            _ => Status::Ready,
        }
    }

    /// Asks for a sample and waits for it, at most so long: for the last figures of a run and for tests.
    pub fn sample_within(&self, timeout: Duration) -> Option<Arc<GpuSnapshot>> {
        let mut state = self.shared.lock();
        // A sample that is under way began before this request: it does not count.
        let before = state.latest.as_ref().map_or(0, |snapshot| snapshot.sequence);
        let wanted = before + 1 + u64::from(state.ready && state.busy_since.is_some());
        state.requested = true;
        self.shared.changed.notify_all();
        let (state, waited) = self
            .shared
            .changed
            .wait_timeout_while(state, timeout, |state| {
                let sequence = state.latest.as_ref().map_or(0, |snapshot| snapshot.sequence);
                sequence < wanted && !state.ended
            })
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return None;
        }
        state.latest.clone().filter(|snapshot| snapshot.sequence >= wanted)
    }

    /// Ends the thread and waits for it no longer than `patience`.
    pub fn stop(self, patience: Duration) -> Stopped {
        let mut state = self.shared.lock();
        state.stop = true;
        self.shared.changed.notify_all();
        let (state, _) = self
            .shared
            .changed
            .wait_timeout_while(state, patience, |state| !state.ended)
            .unwrap_or_else(PoisonError::into_inner);
        if state.ended {
            return Stopped::Clean { failure: state.reason.clone() };
        }
        let for_ms = state.busy_since.map_or(0, |since| since.elapsed().as_millis() as u64);
        let call = self.shared.progress.current();
        let reason = format!("the GPU driver had not returned from {call} after {for_ms} ms");
        Stopped::LeftBehind { reason, for_ms }
    }
}

/// The device list of a monitor, for somebody who cannot wait for the driver.
pub struct Listing {
    shared: Arc<Shared>,
}

impl Listing {
    /// The devices, or why there are none; `None` while the driver has not answered.
    pub fn now(&self) -> Option<Result<Arc<Vec<GpuDevice>>, String>> {
        let state = self.shared.lock();
        match (&state.reason, &state.devices) {
            (Some(reason), _) => Some(Err(reason.clone())),
            (None, Some(devices)) => Some(Ok(Arc::clone(devices))),
            (None, None) => None,
        }
    }
}

/// Initialising may take long on a machine that has just woken its GPUs.
const INIT_PATIENCE: Duration = Duration::from_secs(30);

struct Sources {
    nvml: Option<NvmlSource>,
    drm: Option<DrmSource>,
}

/// Body of the thread. A panic in here (it should not) ends the GPU figures, not the run.
fn run(config: GpuConfig, nvml: bool, drm: bool, shared: &Shared, mut own_thread: OwnThread) {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        work(&config, nvml, drm, shared, &mut own_thread);
    }));
    let mut state = shared.lock();
    if outcome.is_err() && state.reason.is_none() {
        state.reason = Some("the GPU thread failed".to_owned());
    }
    state.busy_since = None;
    state.ended = true;
    shared.changed.notify_all();
}

fn work(config: &GpuConfig, nvml: bool, drm: bool, shared: &Shared, own_thread: &mut OwnThread) {
    let mut notes = Notes::default();
    let mut devices = Vec::new();
    let mut asleep = asleep::all_of_nvidia(&config.root).filter(|_| nvml && config.lets_sleep());
    let mut sources = Sources { nvml: None, drm: None };
    if nvml && asleep.is_none() {
        sources.nvml = open_nvml(config, shared, &mut devices, &mut notes);
    }
    if drm {
        shared.progress.enter("sysfs");
        let source = DrmSource::start(&config.root, &mut devices);
        sources.drm = (!source.is_empty()).then_some(source);
    }
    own_thread.account();
    let rocm_order: Vec<String> = kfd::gpus(&config.root).into_iter().map(|gpu| gpu.pci_id).collect();
    visible::mark(&mut devices, &config.job_env, &rocm_order);
    let selected = select::select(&mut devices, config);
    let mut devices = Arc::new(devices);
    {
        let mut state = shared.lock();
        if let Err(error) = selected {
            state.reason = Some(error.to_string());
            state.failed = Some(error);
        } else if devices.is_empty() && asleep.is_none() {
            let why: Vec<String> = notes.failures().iter().map(|failure| failure.reason.clone()).collect();
            let why = if why.is_empty() { config.looked_for() } else { why.join("; ") };
            state.reason = Some(format!("no GPU found ({why})"));
        }
        state.devices = Some(Arc::clone(&devices));
        state.asleep = asleep.clone();
        state.ready = state.reason.is_none();
        state.busy_since = None;
        shared.changed.notify_all();
        if !state.ready {
            return;
        }
    }
    let mut members = Members::new(&config.root, config.pid_view);
    let mut sequence = 0;
    while let Some(list) = next_request(shared) {
        sequence += 1;
        members.update(&list);
        if asleep.is_some() && asleep::all_of_nvidia(&config.root).is_none() {
            asleep = None;
            // Somebody has woken a card: its devices come behind those that are known.
            let all = Arc::make_mut(&mut devices);
            sources.nvml = open_nvml(config, shared, all, &mut notes);
            visible::mark(all, &config.job_env, &rocm_order);
        }
        let snapshot = sample(sequence, &mut sources, &mut devices, &mut members, &mut notes);
        own_thread.account();
        let mut state = shared.lock();
        state.devices = Some(Arc::clone(&devices));
        state.asleep.clone_from(&asleep);
        state.latest = Some(Arc::new(snapshot));
        state.busy_since = None;
        shared.changed.notify_all();
    }
    if let Some(nvml) = &sources.nvml {
        nvml.shutdown();
    }
}

fn open_nvml(
    config: &GpuConfig,
    shared: &Shared,
    devices: &mut Vec<GpuDevice>,
    notes: &mut Notes,
) -> Option<NvmlSource> {
    let path = config.nvml_named().unwrap_or_else(|| PathBuf::from(NVML_DEFAULT));
    match NvmlSource::start(&path, &config.root, Arc::clone(&shared.progress), devices, notes) {
        Ok(source) => Some(source),
        Err(reason) => {
            notes.fail(ALL_DEVICES, None, "nvml", || reason);
            None
        }
    }
}

/// Waits for the next request; `None` ends the thread.
fn next_request(shared: &Shared) -> Option<Arc<Vec<Member>>> {
    let mut state = shared
        .changed
        .wait_while(shared.lock(), |state| !state.requested && !state.stop)
        .unwrap_or_else(PoisonError::into_inner);
    if state.stop {
        state.busy_since = Some(Instant::now());
        return None;
    }
    state.requested = false;
    state.busy_since = Some(Instant::now());
    Some(Arc::clone(&state.members))
}

fn sample(
    sequence: u64,
    sources: &mut Sources,
    devices: &mut Arc<Vec<GpuDevice>>,
    members: &mut Members,
    notes: &mut Notes,
) -> GpuSnapshot {
    let monotonic_ns = monotonic_ns();
    let mut gather = Gather::new(monotonic_ns, devices, members, notes);
    if let Some(nvml) = &mut sources.nvml {
        nvml.sample(&mut gather);
    }
    if let Some(drm) = &mut sources.drm {
        drm.sample(&mut gather);
    }
    let Gather { readings, coverage, energy_methods, guessed, clients, .. } = gather;
    let scopes = attribute::attribute(&coverage, &clients);
    let is_news = |(device, (method, guessed)): (&GpuDevice, (&Option<&'static str>, &bool))| {
        device.energy_method != *method || (*guessed && !device.is_guessed)
    };
    if devices.iter().zip(energy_methods.iter().zip(&guessed)).any(is_news) {
        let news = energy_methods.into_iter().zip(guessed);
        for (device, (method, guessed)) in Arc::make_mut(devices).iter_mut().zip(news) {
            device.energy_method = device.energy_method.or(method);
            device.is_guessed |= guessed;
        }
    }
    GpuSnapshot {
        sequence,
        monotonic_ns,
        devices: Arc::clone(devices),
        readings,
        clients,
        scopes,
        failures: notes.failures(),
        warnings: notes.warnings(),
    }
}

fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
