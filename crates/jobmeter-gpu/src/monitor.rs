//! The handle on the work with the drivers, which never waits for them unless asked to.

use crate::config::GpuConfig;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::identity::Member;
use crate::link::{Link, View};
use crate::room::Room;
use crate::snapshot::{GpuSnapshot, Status};
use crate::source;
use crate::thread::ThreadLink;
use std::sync::Arc;
use std::time::Duration;

/// No healthy driver stays in one sample for so long.
const HUNG_AFTER: Duration = Duration::from_secs(2);
/// Initialising may take long on a machine that has just woken its GPUs.
const INIT_PATIENCE: Duration = Duration::from_secs(30);

/// How the work ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// The driver was unloaded, or never loaded.
    Clean {
        /// Why nothing could be measured; `None` where all went well.
        failure: Option<String>,
    },
    /// The work was still inside the driver and was left behind, or killed with its process. On a thread, end the
    /// process with `_exit` semantics: the library's own exit handlers may wait for the same lock.
    LeftBehind {
        /// What it hangs in.
        reason: String,
        /// How long.
        for_ms: u64,
    },
}

/// Watches the GPUs apart from the meter; the last sample is there without waiting.
pub struct GpuMonitor {
    link: Arc<dyn Link>,
}

impl GpuMonitor {
    /// Returns at once. `None`: switched off, or no trace of a GPU (see [`GpuConfig::looked_for`]).
    pub fn start(config: GpuConfig) -> Result<Option<GpuMonitor>, GpuError> {
        if !config.enabled {
            return Ok(None);
        }
        config.validate()?;
        let ways = source::ways(&config);
        if ways.is_empty() {
            return Ok(None);
        }
        let link: Arc<dyn Link> = if config.apart {
            // Where that fails no thread of ours takes its place: a driver that aborts would take the meter along.
            let room = Room::start(&config, &ways);
            Arc::new(room.map_err(|error| GpuError::NoProcess { reason: error.to_string() })?)
        } else {
            Arc::new(ThreadLink::start(config, ways)?)
        };
        Ok(Some(GpuMonitor { link }))
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
        let View { told, ended, lost, call, .. } =
            monitor.link.wait(timeout, &|view| view.told.ready || view.ended);
        monitor.stop(Duration::ZERO);
        match (told.failed, told.devices, lost) {
            (Some(error), ..) => Err(error),
            (None, _, Some(reason)) => Err(GpuError::Lost { reason }),
            (None, Some(devices), None) => Ok(devices.as_ref().clone()),
            (None, None, None) if ended => Ok(Vec::new()),
            (None, None, None) => Err(GpuError::Timeout { doing: call, after: timeout }),
        }
    }

    /// The living processes of the job; taken over by the next sample.
    pub fn set_processes(&self, members: Vec<Member>) {
        self.link.set_processes(members);
    }

    /// Asks for a sample. Requests that come while one is being taken become one.
    pub fn request(&self) {
        self.link.request();
    }

    /// The last finished sample.
    pub fn latest(&self) -> Option<Arc<GpuSnapshot>> {
        self.link.view().told.latest
    }

    /// The device list, once the drivers have answered.
    pub fn devices(&self) -> Option<Arc<Vec<GpuDevice>>> {
        self.link.view().told.devices
    }

    /// Which cards were left asleep, and their driver alone.
    pub fn asleep(&self) -> Option<String> {
        self.link.view().told.asleep
    }

    /// To ask for the device list later, also when the monitor is gone.
    pub fn listing(&self) -> Listing {
        Listing { link: Arc::clone(&self.link) }
    }

    /// The call into a driver that the work is in, and for how long it has been at it.
    pub fn in_call(&self) -> Option<(&'static str, Duration)> {
        let view = self.link.view();
        view.busy.map(|busy| (view.call, busy))
    }

    /// How the driver stands now.
    pub fn status(&self) -> Status {
        let View { told, lost, call, busy, .. } = self.link.view();
        let for_ms = |busy: Duration| busy.as_millis() as u64;
        if let Some(reason) = lost {
            return Status::Lost { reason };
        }
        if let Some(reason) = told.reason {
            return Status::Failed { reason };
        }
        match busy {
            Some(busy) if !told.ready && busy < HUNG_AFTER.max(INIT_PATIENCE) => {
                Status::Starting { call, for_ms: for_ms(busy) }
            }
            Some(busy) if busy >= HUNG_AFTER => Status::Hung { call, for_ms: for_ms(busy) },
            _ => Status::Ready,
        }
    }

    /// Asks for a sample and waits for it, at most so long: for the last figures of a run and for tests.
    pub fn sample_within(&self, timeout: Duration) -> Option<Arc<GpuSnapshot>> {
        let number = |view: &View| view.told.latest.as_ref().map_or(0, |snapshot| snapshot.sequence);
        let before = self.link.view();
        // A sample that is under way began before this request: it does not count.
        let wanted = number(&before) + 1 + u64::from(before.told.ready && before.busy.is_some());
        self.link.request();
        let view = self.link.wait(timeout, &|view| number(view) >= wanted || view.ended);
        view.told.latest.filter(|snapshot| snapshot.sequence >= wanted)
    }

    /// Ends the work. On a thread, waits for it no longer than `patience`; a process of its own is not waited for.
    pub fn stop(self, patience: Duration) -> Stopped {
        let View { told, ended, call, busy, .. } = self.link.stop(patience);
        match busy {
            Some(busy) if !ended => {
                let for_ms = busy.as_millis() as u64;
                let reason = format!("the GPU driver had not returned from {call} after {for_ms} ms");
                Stopped::LeftBehind { reason, for_ms }
            }
            _ => Stopped::Clean { failure: told.reason },
        }
    }
}

/// The device list of a monitor, for somebody who cannot wait for the driver.
pub struct Listing {
    link: Arc<dyn Link>,
}

impl Listing {
    /// The devices, or why there are none; `None` while the driver has not answered.
    pub fn now(&self) -> Option<Result<Arc<Vec<GpuDevice>>, String>> {
        let told = self.link.view().told;
        match (told.reason, told.devices) {
            (Some(reason), _) => Some(Err(reason)),
            (None, Some(devices)) => Some(Ok(devices)),
            (None, None) => None,
        }
    }
}
