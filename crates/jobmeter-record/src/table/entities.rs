//! Cores, disks, mounts, networks, GPUs: one row per tick and device, long.

use super::{Cell, CellKind, Field, RowSink, field};
use crate::damage::Damage;
use crate::error::RecordError;
use crate::reader::{Frame, Run};
use jobmeter_model::{Column, EntityKind};
use std::collections::HashMap;

/// `system_disk_read_bytes`: the column's name without its entity.
fn metric_name(column: &Column) -> String {
    Column::of(column.scope, column.metric).name()
}

fn metric_names(columns: &[Column], kind: EntityKind) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    // A name is made of a scope and a metric, so there are few.
    for column in columns.iter().filter(|column| is_of(column, kind)) {
        let name = metric_name(column);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn is_of(column: &Column, kind: EntityKind) -> bool {
    column.entity.as_ref().is_some_and(|entity| entity.kind == kind)
}

pub(super) fn fields(columns: &[Column], kind: EntityKind) -> Vec<Field> {
    let mut fields = vec![field("t_ns", CellKind::Unsigned), field("name", CellKind::Text)];
    fields.extend(metric_names(columns, kind).iter().map(|name| field(name, CellKind::Unsigned)));
    fields
}

/// A device and where its figures lie: (column, cell).
struct Device<'a> {
    name: &'a str,
    places: Vec<(usize, usize)>,
}

fn devices<'a>(columns: &'a [Column], names: &[String], kind: EntityKind) -> Vec<Device<'a>> {
    let mut devices: Vec<Device<'a>> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (index, column) in columns.iter().enumerate() {
        let Some(entity) = column.entity.as_ref().filter(|entity| entity.kind == kind) else { continue };
        let Some(cell) = names.iter().position(|name| *name == metric_name(column)) else { continue };
        let at = *known.entry(&entity.name).or_insert_with(|| {
            devices.push(Device { name: &entity.name, places: Vec::new() });
            devices.len() - 1
        });
        devices[at].places.push((index, cell + 2));
    }
    devices
}

pub(super) fn write(
    run: &Run,
    kind: EntityKind,
    sink: &mut dyn RowSink,
) -> Result<Option<Damage>, RecordError> {
    let columns = run.columns();
    let names = metric_names(&columns, kind);
    let devices = devices(&columns, &names, kind);
    if devices.is_empty() {
        return Ok(None);
    }
    let mut cells = vec![Cell::Null; names.len() + 2];
    let mut frames = run.frames();
    while let Some(frame) = frames.next() {
        let Frame::Tick { t_ns, values } = frame else { continue };
        for device in &devices {
            cells.fill(Cell::Null);
            let mut known = false;
            for (column, cell) in &device.places {
                let value = values.get(*column).copied().flatten();
                known |= value.is_some();
                cells[*cell] = value.into();
            }
            // A device that has said nothing this tick has no row: it was not there yet, or not asked.
            if known {
                cells[0] = Cell::Unsigned(t_ns);
                cells[1] = Cell::Text(device.name);
                sink.row(&cells)?;
            }
        }
    }
    Ok(frames.damage().cloned())
}
