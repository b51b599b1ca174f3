//! Phases and their calls as rows.

use super::phases::{Phase, PhaseBuilder, Span};
use super::{Cell, CellKind, Field, RowSink, field};
use crate::error::RecordError;
use crate::reader::{Damage, Run};

impl Run {
    /// Every call of every phase, in the order they ended.
    pub fn spans(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        replay_spans(self, |span| spans.push(span));
        spans
    }

    /// Phases by name, in the order they first began.
    pub fn phases(&self) -> Vec<Phase> {
        collect_phases(self).0
    }
}

fn replay_spans(run: &Run, take: impl FnMut(Span)) -> Option<Damage> {
    let mut builder = PhaseBuilder::new(take);
    let damage = run.replay(&mut builder).damage;
    builder.finish();
    damage
}

fn collect_phases(run: &Run) -> (Vec<Phase>, Option<Damage>) {
    let mut phases: std::collections::HashMap<String, Phase> = Default::default();
    let damage = replay_spans(run, |span| match phases.get_mut(&span.name) {
        Some(phase) => phase.add(&span),
        None => {
            phases.insert(span.name.clone(), Phase::first(&span));
        }
    });
    let mut phases: Vec<Phase> = phases.into_values().collect();
    phases.sort_by(|a, b| (a.first_begin_ns, &a.name).cmp(&(b.first_begin_ns, &b.name)));
    (phases, damage)
}

const USED: [&str; 7] = [
    "cpu_ns",
    "read_storage_bytes",
    "write_storage_bytes",
    "read_chars_bytes",
    "write_chars_bytes",
    "peak_rss_bytes",
    "peak_gpu_memory_bytes",
];

pub(super) fn phase_fields() -> Vec<Field> {
    use CellKind::{Real, Text, Unsigned};
    let own = [
        ("name", Text),
        ("calls", Unsigned),
        ("open_calls", Unsigned),
        ("first_begin_ns", Unsigned),
        ("time_total_ns", Unsigned),
        ("time_min_ns", Unsigned),
        ("time_mean_ns", Real),
        ("time_max_ns", Unsigned),
        ("time_std_ns", Real),
    ];
    own.into_iter().chain(USED.map(|name| (name, Unsigned))).map(|(name, kind)| field(name, kind)).collect()
}

pub(super) fn write_phases(run: &Run, sink: &mut dyn RowSink) -> Result<Option<Damage>, RecordError> {
    let (phases, damage) = collect_phases(run);
    for phase in &phases {
        sink.row(&[
            Cell::Text(&phase.name),
            Cell::Unsigned(phase.calls),
            Cell::Unsigned(phase.open_calls),
            Cell::Unsigned(phase.first_begin_ns),
            Cell::Unsigned(phase.time_total_ns),
            Cell::Unsigned(phase.time_min_ns),
            Cell::Real(phase.time_mean_ns),
            Cell::Unsigned(phase.time_max_ns),
            Cell::Real(phase.time_std_ns),
            phase.cpu_ns.into(),
            phase.read_storage_bytes.into(),
            phase.write_storage_bytes.into(),
            phase.read_chars_bytes.into(),
            phase.write_chars_bytes.into(),
            phase.peak_rss_bytes.into(),
            phase.peak_gpu_memory_bytes.into(),
        ])?;
    }
    Ok(damage)
}

pub(super) fn span_fields() -> Vec<Field> {
    use CellKind::{Signed, Text, Unsigned};
    let own = [
        ("name", Text),
        ("pid", Signed),
        ("tid", Signed),
        ("depth", Unsigned),
        ("begin_ns", Unsigned),
        ("end_ns", Unsigned),
        ("closed", Unsigned),
    ];
    own.into_iter().chain(USED.map(|name| (name, Unsigned))).map(|(name, kind)| field(name, kind)).collect()
}

pub(super) fn write_spans(run: &Run, sink: &mut dyn RowSink) -> Result<Option<Damage>, RecordError> {
    let mut failed = None;
    let damage = replay_spans(run, |span| {
        if failed.is_some() {
            return;
        }
        let cells = [
            Cell::Text(&span.name),
            Cell::Signed(i64::from(span.pid)),
            Cell::Signed(i64::from(span.tid)),
            Cell::Unsigned(u64::from(span.depth)),
            Cell::Unsigned(span.begin_ns),
            Cell::Unsigned(span.end_ns),
            Cell::Unsigned(u64::from(span.closed)),
            span.cpu_ns.into(),
            span.read_storage_bytes.into(),
            span.write_storage_bytes.into(),
            span.read_chars_bytes.into(),
            span.write_chars_bytes.into(),
            span.peak_rss_bytes.into(),
            span.peak_gpu_memory_bytes.into(),
        ];
        failed = sink.row(&cells).err();
    });
    failed.map_or(Ok(damage), Err)
}
