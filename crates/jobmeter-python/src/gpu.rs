//! GPUs as columns of the run: the monitor's snapshots, one per tick, never waited for.

use jobmeter_core::Column;
use jobmeter_core::meter::{Extra, Member};
use jobmeter_core::summary::{EntityFigures, Figures, Source, Warning};
use jobmeter_gpu::{GpuConfig, GpuError, GpuMonitor, Layout, Status, Stopped};
use std::time::Duration;

/// How long the end of a run waits for a driver that is in the middle of a call.
const PATIENCE: Duration = Duration::from_millis(200);

pub(crate) struct GpuColumns {
    monitor: Option<GpuMonitor>,
    layout: Option<Layout>,
    values: Vec<Option<u64>>,
    told_warnings: usize,
}

impl GpuColumns {
    /// `None` where no driver is there to ask.
    pub(crate) fn start(config: GpuConfig) -> Result<Option<GpuColumns>, GpuError> {
        let monitor = GpuMonitor::start(config)?;
        Ok(monitor.map(|monitor| GpuColumns {
            monitor: Some(monitor),
            layout: None,
            values: Vec::new(),
            told_warnings: 0,
        }))
    }
}

impl Extra for GpuColumns {
    fn tick(&mut self, _t_ns: u64, members: &[Member]) {
        let Some(monitor) = &self.monitor else { return };
        if self.layout.is_none()
            && let Some(devices) = monitor.devices()
        {
            self.layout = Some(Layout::new(&devices));
        }
        if let (Some(layout), Some(snapshot)) = (&mut self.layout, monitor.latest()) {
            layout.values(&snapshot, &mut self.values);
        }
        let members =
            members.iter().map(|member| jobmeter_gpu::Member { id: member.id, main: member.is_main });
        monitor.set_processes(members.collect());
        monitor.request();
    }

    fn columns(&self) -> &[Column] {
        self.layout.as_ref().map_or(&[], Layout::columns)
    }

    fn values(&self) -> &[Option<u64>] {
        &self.values
    }

    fn take_warnings(&mut self) -> Vec<Warning> {
        let Some(snapshot) = self.monitor.as_ref().and_then(GpuMonitor::latest) else { return Vec::new() };
        let fresh = snapshot.warnings.get(self.told_warnings..).unwrap_or_default();
        self.told_warnings += fresh.len();
        fresh
            .iter()
            .map(|warning| Warning { kind: warning.kind.to_owned(), text: warning.text.clone() })
            .collect()
    }

    fn finish(&mut self) -> (Vec<Source>, Vec<EntityFigures>) {
        let Some(monitor) = self.monitor.take() else { return (Vec::new(), Vec::new()) };
        let status = monitor.status();
        let devices = monitor.devices().map(|devices| devices.as_ref().clone()).unwrap_or_default();
        let entities = devices
            .iter()
            .map(|device| EntityFigures {
                name: device.uuid.clone(),
                figures: Figures::new(),
                facts: device.facts(),
            })
            .collect();
        let detail = match monitor.stop(PATIENCE) {
            Stopped::LeftBehind { reason, .. } => reason,
            Stopped::Clean { .. } => match status.reason() {
                Some(reason) => reason,
                None => format!("{} device(s)", devices.len()),
            },
        };
        let used = status == Status::Ready && !devices.is_empty();
        (vec![Source { name: "gpu".to_owned(), used, detail }], entities)
    }
}
