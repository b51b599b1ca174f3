//! GPUs for single readings: the devices, and one sample of them whenever it is wanted. The driver is started
//! once per thread that asks, because starting it takes long, and belongs to the process that started it.

use jobmeter_gpu::{GpuConfig, GpuDevice, GpuMonitor, GpuSnapshot, Member};
use jobmeter_model::ProcessId;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

/// A driver that takes longer to start is reported as such.
const START_PATIENCE: Duration = Duration::from_secs(10);
/// A sample that takes longer leaves its figures unknown.
const SAMPLE_PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn list() -> PyResult<Vec<GpuDevice>> {
    GpuMonitor::list(GpuConfig::default(), START_PATIENCE)
        .map_err(|error| PyOSError::new_err(error.to_string()))
}

struct Kept {
    pid: u32,
    /// `None`: no driver is there.
    monitor: Option<GpuMonitor>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        let Some(monitor) = self.monitor.take() else { return };
        if self.pid == std::process::id() {
            monitor.stop(Duration::ZERO);
        } else {
            // In a forked child its thread does not exist and its lock may be held for ever.
            std::mem::forget(monitor);
        }
    }
}

thread_local! {
    static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

/// What the devices do now, and what these processes do on them. `None` without a driver that answers.
pub(crate) fn sample(main: Option<ProcessId>, others: &[ProcessId]) -> Option<Arc<GpuSnapshot>> {
    KEPT.with_borrow_mut(|kept| {
        let pid = std::process::id();
        if kept.as_ref().is_none_or(|kept| kept.pid != pid) {
            let config = GpuConfig::default();
            *kept = Some(Kept { pid, monitor: GpuMonitor::start(config).ok().flatten() });
        }
        let monitor = kept.as_ref()?.monitor.as_ref()?;
        let members = main.into_iter().map(|id| Member { id, main: true });
        monitor
            .set_processes(members.chain(others.iter().map(|id| Member { id: *id, main: false })).collect());
        let first = monitor.latest().is_none();
        monitor.sample_within(if first { START_PATIENCE } else { SAMPLE_PATIENCE })
    })
}

/// Sums of figures that are known; `None` where none is.
pub(crate) fn total(values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    values.fold(None, |sum, value| match (sum, value) {
        (Some(sum), Some(value)) => Some(sum + value),
        (known, None) | (None, known) => known,
    })
}
