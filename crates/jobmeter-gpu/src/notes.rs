//! What goes wrong while sampling, each thing once, in a form that snapshots can share.

use crate::snapshot::{Failure, GpuWarning};
use std::collections::HashSet;
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct Notes {
    seen: HashSet<(usize, &'static str)>,
    failures: Arc<Vec<Failure>>,
    warnings: Arc<Vec<GpuWarning>>,
}

/// Place of failures that belong to a whole source.
pub(crate) const ALL_DEVICES: usize = usize::MAX;

impl Notes {
    /// `reason` is built the first time only.
    pub(crate) fn fail(
        &mut self,
        slot: usize,
        uuid: Option<&str>,
        figure: &'static str,
        reason: impl FnOnce() -> String,
    ) {
        if self.seen.insert((slot, figure)) {
            let failure = Failure { uuid: uuid.map(str::to_owned), figure, reason: reason() };
            Arc::make_mut(&mut self.failures).push(failure);
        }
    }

    pub(crate) fn warn(&mut self, kind: &'static str, text: String) {
        let monotonic_ns = jobmeter_engine::linux::sys::monotonic_ns();
        Arc::make_mut(&mut self.warnings).push(GpuWarning { kind, text, monotonic_ns });
    }

    pub(crate) fn failures(&self) -> Arc<Vec<Failure>> {
        Arc::clone(&self.failures)
    }

    pub(crate) fn warnings(&self) -> Arc<Vec<GpuWarning>> {
        Arc::clone(&self.warnings)
    }
}
