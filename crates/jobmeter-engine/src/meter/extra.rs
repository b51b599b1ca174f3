//! Sources outside the engine, such as the GPU monitor, beside the meter's own.

use super::Meter;
use jobmeter_model::event::ProcessId;
use jobmeter_model::metric::Column;
use jobmeter_model::summary::{EntityFigures, Source, Warning};

/// A source outside the engine, such as the GPU monitor: it brings its own columns.
pub trait Extra: Send {
    /// Called every tick with the members of the job; never blocks.
    fn tick(&mut self, t_ns: u64, members: &[Member]);
    /// All columns so far; only ever grows.
    fn columns(&self) -> &[Column];
    /// The value of each column at this tick.
    fn values(&self) -> &[Option<u64>];
    /// Warnings that came up since the last call.
    fn take_warnings(&mut self) -> Vec<Warning>;
    /// At the end: what was used, and facts about the entities.
    fn finish(&mut self) -> (Vec<Source>, Vec<EntityFigures>);
}

/// A process of the job, as an [`Extra`] sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Pid and start time.
    pub id: ProcessId,
    /// Whether it is the main process.
    pub is_main: bool,
}

struct ExtraSlot {
    extra: Box<dyn Extra>,
    /// Row index of each of its columns.
    indices: Vec<usize>,
}

/// All of them, and the members of the job as they are told.
#[derive(Default)]
pub(super) struct Extras {
    slots: Vec<ExtraSlot>,
    members: Vec<Member>,
}

impl Meter {
    /// Reads another source at each tick.
    pub fn add_extra(&mut self, extra: Box<dyn Extra>) {
        self.extras.slots.push(ExtraSlot { extra, indices: Vec::new() });
    }

    pub(super) fn fill_extras(&mut self, t_ns: u64) {
        if self.extras.slots.is_empty() {
            return;
        }
        self.extras.members.clear();
        self.extras.members.extend(
            self.tree.processes.iter().map(|process| Member { id: process.id, is_main: process.is_main }),
        );
        let mut warnings = Vec::new();
        for slot in &mut self.extras.slots {
            slot.extra.tick(t_ns, &self.extras.members);
            for column in &slot.extra.columns()[slot.indices.len()..] {
                slot.indices.push(self.out.row.add(column.clone()));
            }
            for (index, value) in slot.indices.iter().zip(slot.extra.values()) {
                self.out.row.values[*index] = *value;
            }
            warnings.extend(slot.extra.take_warnings());
        }
        self.mask_extras(t_ns);
        for warning in warnings {
            self.warn(warning.kind, warning.text);
        }
    }

    pub(crate) fn finish_extras(&mut self) -> Vec<(Vec<Source>, Vec<EntityFigures>)> {
        self.extras.slots.iter_mut().map(|slot| slot.extra.finish()).collect()
    }
}
