//! The tray that each source fills during one sample.

use crate::attribute::Coverage;
use crate::device::{DeviceReading, GpuDevice};
use crate::identity::Members;
use crate::notes::Notes;
use crate::snapshot::Client;

pub(crate) struct Gather<'a> {
    pub(crate) t_ns: u64,
    pub(crate) devices: &'a [GpuDevice],
    pub(crate) members: &'a mut Members,
    pub(crate) notes: &'a mut Notes,
    /// These five run parallel to `devices`.
    pub(crate) readings: Vec<DeviceReading>,
    pub(crate) coverage: Vec<Coverage>,
    pub(crate) energy_methods: Vec<Option<&'static str>>,
    /// The device's only process was taken for the job's.
    pub(crate) guessed: Vec<bool>,
    pub(crate) clients: Vec<Client>,
}

impl<'a> Gather<'a> {
    pub(crate) fn new(
        t_ns: u64,
        devices: &'a [GpuDevice],
        members: &'a mut Members,
        notes: &'a mut Notes,
    ) -> Gather<'a> {
        Gather {
            t_ns,
            devices,
            members,
            notes,
            readings: vec![DeviceReading::default(); devices.len()],
            coverage: vec![Coverage::default(); devices.len()],
            energy_methods: vec![None; devices.len()],
            guessed: vec![false; devices.len()],
            clients: Vec::new(),
        }
    }

    pub(crate) fn fail(&mut self, slot: usize, figure: &'static str, reason: impl FnOnce() -> String) {
        let uuid = self.devices.get(slot).map(|device| device.uuid.as_str());
        self.notes.fail(slot, uuid, figure, reason);
    }
}
