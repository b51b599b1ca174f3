//! The health of NVIDIA devices: XIDs and ECC errors as the driver reports them, each a warning with its time.

use super::NvmlSource;
use super::api::Api;
use super::sys::{self, Device};
use crate::device::DeviceReading;
use crate::gather::Gather;
use std::ffi::c_void;

const WANTED: u64 = sys::EVENT_XID | sys::EVENT_ECC_SINGLE | sys::EVENT_ECC_DOUBLE;
/// A device that fails may report without end.
const MOST_PER_SAMPLE: usize = 64;

/// What is known of one device.
#[derive(Default)]
pub(super) struct Health {
    /// The driver tells XIDs of it.
    has_xids: bool,
    xids: u64,
    /// XIDs that were warned of.
    told: Vec<u64>,
    /// Corrected and uncorrected errors at the first sample.
    ecc_before: [Option<u64>; 2],
    is_ecc_told: bool,
    are_rows_told: bool,
}

/// XIDs that say what happened, in the words of the driver's documentation.
fn meaning(xid: u64) -> &'static str {
    match xid {
        13 => "a fault of the program's kernel",
        31 => "a wild access of the program to GPU memory",
        43 => "the program's work was stopped",
        45 => "the program's work was cleaned up",
        48 => "an uncorrectable memory error",
        61 | 62 => "an internal error of the GPU's controller",
        63 => "a row of memory was remapped",
        64 => "a row of memory could not be remapped",
        74 => "an NVLink error",
        79 => "the GPU has fallen off the bus",
        92 => "many correctable memory errors",
        94 => "a contained memory error",
        95 => "an uncontained memory error",
        119 | 120 => "the GPU's system processor does not answer",
        _ => "see the driver's list of XIDs",
    }
}

/// The event set of all devices; null where the driver has none.
pub(super) struct Events(pub(super) *mut c_void);

impl Events {
    pub(super) fn open(api: &Api) -> Events {
        Events(api.event_set().unwrap_or(std::ptr::null_mut()))
    }

    pub(super) fn register(&self, api: &Api, device: Device) -> Health {
        if self.0.is_null() {
            return Health::default();
        }
        let kinds = api.register_events(device, WANTED, self.0).unwrap_or(0);
        Health { has_xids: kinds & sys::EVENT_XID != 0, ..Health::default() }
    }
}

impl NvmlSource {
    /// Takes the events that have happened since the last sample.
    pub(super) fn read_events(&mut self, gather: &mut Gather<'_>) {
        if self.units.iter().any(|unit| unit.health.has_xids && !unit.asleep) {
            for _ in 0..MOST_PER_SAMPLE {
                let Some(event) = self.api.next_event(self.events.0) else { break };
                self.take_event(&event, gather);
            }
        }
        for unit in self.units.iter().filter(|unit| unit.health.has_xids) {
            gather.readings[unit.slot].xid_events = Some(unit.health.xids);
        }
    }

    fn take_event(&mut self, event: &sys::EventData, gather: &mut Gather<'_>) {
        let Some(unit) = self.units.iter_mut().find(|unit| unit.handle == event.device) else { return };
        if event.kind & sys::EVENT_XID == 0 {
            return;
        }
        unit.health.xids += 1;
        if unit.health.told.contains(&event.data) {
            return;
        }
        unit.health.told.push(event.data);
        let device = &gather.devices[unit.slot];
        let text = format!(
            "GPU {} ({}) reported XID {}: {}",
            device.index,
            device.uuid,
            event.data,
            meaning(event.data)
        );
        gather.notes.warn("gpu_xid", text);
    }
}

impl Health {
    /// ECC errors since the first sample, and rows of memory that wait for a reset.
    pub(super) fn read(&mut self, api: &Api, handle: Device, reading: &mut DeviceReading) -> Option<Trouble> {
        let counts = [api.ecc_errors(handle, false).ok(), api.ecc_errors(handle, true).ok()];
        let mut grown = [None; 2];
        for ((grown, before), now) in grown.iter_mut().zip(&mut self.ecc_before).zip(counts) {
            *before = before.or(now);
            *grown = now.zip(*before).map(|(now, before)| now.saturating_sub(before));
        }
        [reading.ecc_corrected, reading.ecc_uncorrected] = grown;
        if grown[1].is_some_and(|errors| errors > 0) && !self.is_ecc_told {
            self.is_ecc_told = true;
            return Some(Trouble::Uncorrected(grown[1].unwrap_or(0)));
        }
        if counts.iter().any(Option::is_some) && !self.are_rows_told {
            self.are_rows_told = true;
            return match api.row_troubles(handle) {
                Ok((_, true)) => Some(Trouble::RowsFailed),
                Ok((true, _)) => Some(Trouble::RowsPending),
                _ => None,
            };
        }
        None
    }
}

/// Worth a warning.
pub(super) enum Trouble {
    Uncorrected(u64),
    RowsPending,
    RowsFailed,
}

impl Trouble {
    pub(super) fn text(&self) -> String {
        match self {
            Trouble::Uncorrected(count) => {
                format!("had {count} uncorrectable memory errors (ECC) during the run")
            }
            Trouble::RowsPending => "has rows of memory that are remapped with its next reset".to_owned(),
            Trouble::RowsFailed => "has rows of memory that could not be remapped: replace it".to_owned(),
        }
    }
}
