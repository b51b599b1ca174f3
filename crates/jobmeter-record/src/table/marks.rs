//! Marks and warnings as they came.

use super::{Cell, CellKind, Field, RowSink, field};
use crate::damage::Damage;
use crate::error::RecordError;
use crate::reader::{Frame, Run};
use jobmeter_model::{Event, MarkKind};

pub(super) fn mark_fields() -> Vec<Field> {
    vec![
        field("t_ns", CellKind::Unsigned),
        field("name", CellKind::Text),
        field("kind", CellKind::Text),
        field("pid", CellKind::Signed),
        field("tid", CellKind::Signed),
    ]
}

pub(super) fn write_marks(run: &Run, sink: &mut dyn RowSink) -> Result<Option<Damage>, RecordError> {
    each_event(run, |event| {
        let Event::Mark { t_ns, name, kind, pid, tid } = event else { return Ok(()) };
        let kind = match kind {
            MarkKind::Point => "point",
            MarkKind::Begin => "begin",
            MarkKind::End => "end",
        };
        sink.row(&[
            Cell::Unsigned(t_ns),
            Cell::Text(&name),
            Cell::Text(kind),
            Cell::Signed(i64::from(pid)),
            Cell::Signed(i64::from(tid)),
        ])
    })
}

pub(super) fn warning_fields() -> Vec<Field> {
    vec![field("t_ns", CellKind::Unsigned), field("kind", CellKind::Text), field("text", CellKind::Text)]
}

pub(super) fn write_warnings(run: &Run, sink: &mut dyn RowSink) -> Result<Option<Damage>, RecordError> {
    each_event(run, |event| {
        let Event::Warning { t_ns, kind, text } = event else { return Ok(()) };
        sink.row(&[Cell::Unsigned(t_ns), Cell::Text(kind.as_str()), Cell::Text(&text)])
    })
}

fn each_event(
    run: &Run,
    mut take: impl FnMut(Event) -> Result<(), RecordError>,
) -> Result<Option<Damage>, RecordError> {
    let mut frames = run.frames_without_ticks();
    while let Some(frame) = frames.next() {
        if let Frame::Event(event) = frame {
            take(event)?;
        }
    }
    Ok(frames.damage().cloned())
}
