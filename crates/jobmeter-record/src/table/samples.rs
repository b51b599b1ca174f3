//! One row per tick, wide.

use super::{Cell, CellKind, Field, RowSink, field};
use crate::damage::Damage;
use crate::error::RecordError;
use crate::reader::{Frame, Run};
use jobmeter_model::{Column, Event};

/// Which columns have a place in the row: those of a whole scope, each name once.
fn places(columns: &[Column]) -> Vec<usize> {
    let mut places: Vec<usize> = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        if column.entity.is_none() && !places.iter().any(|place| columns[*place] == *column) {
            places.push(index);
        }
    }
    places
}

pub(super) fn fields(columns: &[Column]) -> Vec<Field> {
    let mut fields = vec![field("t_ns", CellKind::Unsigned)];
    fields.extend(places(columns).iter().map(|place| field(&columns[*place].name(), CellKind::Unsigned)));
    fields
}

pub(super) fn write(run: &Run, sink: &mut dyn RowSink) -> Result<Option<Damage>, RecordError> {
    let places = places(&run.columns());
    let mut cells: Vec<Cell<'static>> = vec![Cell::Null; places.len() + 1];
    let mut frames = run.frames();
    while let Some(frame) = frames.next() {
        match frame {
            Frame::Tick { t_ns, values } => {
                cells[0] = Cell::Unsigned(t_ns);
                for (cell, place) in cells[1..].iter_mut().zip(&places) {
                    *cell = values.get(*place).copied().flatten().into();
                }
                sink.row(&cells)?;
            }
            Frame::Event(Event::Settle { t_ns, values }) => {
                cells.fill(Cell::Null);
                cells[0] = Cell::Unsigned(t_ns);
                for (column, value) in values {
                    if let Some(at) = places.iter().position(|place| *place == column as usize) {
                        cells[at + 1] = Cell::Unsigned(value);
                    }
                }
                sink.row(&cells)?;
            }
            _ => {}
        }
    }
    Ok(frames.damage().cloned())
}
