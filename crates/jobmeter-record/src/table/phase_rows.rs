//! Phases and their calls as rows.

use super::{Cell, CellKind, Field, RowSink, field};
use crate::damage::Damage;
use crate::error::RecordError;
use crate::reader::Run;
use jobmeter_model::phase::{Phase, PhaseBuilder, PhaseTable, Span, TakeSpan, Used, UsedValue};

impl Run {
    /// Every call of every phase, in the order they ended.
    pub fn spans(&self) -> Vec<Span> {
        replay_spans(self, Vec::new()).0
    }

    /// Phases by name, in the order they first began.
    pub fn phases(&self) -> Vec<Phase> {
        collect_phases(self).0
    }
}

fn replay_spans<S: TakeSpan>(run: &Run, taker: S) -> (S, Option<Damage>) {
    let mut builder = PhaseBuilder::new(taker);
    let replayed = run.replay(&mut builder);
    let taker = builder.finish(replayed.summary.and_then(|summary| summary.run.wall_ns));
    (taker, replayed.damage)
}

fn collect_phases(run: &Run) -> (Vec<Phase>, Option<Damage>) {
    let (table, damage) = replay_spans(run, PhaseTable::default());
    (table.into_phases(), damage)
}

fn with_used(own: &[(&str, CellKind)]) -> Vec<Field> {
    let used = Used::NOTHING_KNOWN.cells();
    let used = used.into_iter().map(|(name, value)| (name, kind_of(value)));
    own.iter().copied().chain(used).map(|(name, kind)| field(name, kind)).collect()
}

fn kind_of(value: UsedValue) -> CellKind {
    match value {
        UsedValue::Word(_) => CellKind::Text,
        UsedValue::Whole(_) => CellKind::Unsigned,
        UsedValue::Real(_) => CellKind::Real,
    }
}

fn cell_of(value: UsedValue) -> Cell<'static> {
    match value {
        UsedValue::Word(text) => Cell::Text(text),
        UsedValue::Whole(value) => value.into(),
        UsedValue::Real(value) => value.into(),
    }
}

fn row<'a>(own: &[Cell<'a>], used: &Used) -> Vec<Cell<'a>> {
    own.iter().copied().chain(used.cells().into_iter().map(|(_, value)| cell_of(value))).collect()
}

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
    with_used(&own)
}

pub(super) fn write_phases(run: &Run, sink: &mut dyn RowSink) -> Result<Option<Damage>, RecordError> {
    let (phases, damage) = collect_phases(run);
    for phase in &phases {
        let own = [
            Cell::Text(&phase.name),
            Cell::Unsigned(phase.calls),
            Cell::Unsigned(phase.open_calls),
            Cell::Unsigned(phase.first_begin_ns),
            Cell::Unsigned(phase.time_total_ns),
            Cell::Unsigned(phase.time_min_ns),
            Cell::Real(phase.time_mean_ns),
            Cell::Unsigned(phase.time_max_ns),
            Cell::Real(phase.time_std_ns),
        ];
        sink.row(&row(&own, &phase.used))?;
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
    with_used(&own)
}

pub(super) fn write_spans(run: &Run, sink: &mut dyn RowSink) -> Result<Option<Damage>, RecordError> {
    let mut failed = None;
    let (_, damage) = replay_spans(run, |span: Span| {
        if failed.is_some() {
            return;
        }
        let own = [
            Cell::Text(&span.name),
            Cell::Signed(i64::from(span.pid)),
            Cell::Signed(i64::from(span.tid)),
            Cell::Unsigned(u64::from(span.depth)),
            Cell::Unsigned(span.begin_ns),
            Cell::Unsigned(span.end_ns),
            Cell::Unsigned(u64::from(span.closed)),
        ];
        failed = sink.row(&row(&own, &span.used)).err();
    });
    failed.map_or(Ok(damage), Err)
}
