//! The tracking file of gpu_tracker, from a recorded run: the rows that a tracker would have written, in gigabytes.

use super::{Lines, first_known};
use crate::csv;
use crate::rows::{RowMaker, Scale, stored};
use crate::table::{DATA_COLUMNS, STATIC_COLUMNS, put_row};
use crate::tree::Node;
use jobmeter_model::{Column, EntityKind, Metric, Scope};
use jobmeter_record::Run;

const GIGA: f64 = 1e-9;

pub(super) struct TrackingLines {
    rows: RowMaker,
    scale: Scale,
    started_unix_ns: u64,
    static_cells: [Node; STATIC_COLUMNS.len()],
}

impl TrackingLines {
    pub(super) fn new(run: &Run) -> TrackingLines {
        let (columns, info) = (run.columns(), run.info());
        let mut rows = RowMaker::default();
        columns.iter().for_each(|column| rows.define(column, |_| true));
        let gpus = columns.iter().filter(|column| is_gpu(column, Metric::GpuMemoryTotalBytes)).count();
        let is_ram = |column: &Column| *column == Column::of(Scope::System, Metric::MemoryTotalBytes);
        let first = columns.iter().position(is_ram).map_or_else(Vec::new, |place| first_known(run, place));
        let capacity = |wanted: &dyn Fn(&Column) -> bool| {
            let places =
                columns.iter().enumerate().filter(|(_, column)| wanted(column)).map(|(place, _)| place);
            let bytes =
                places.filter_map(|place| first.get(place).copied().flatten()).reduce(u64::saturating_add);
            bytes.map_or(Node::Null, |bytes| Node::Float(bytes as f64 * GIGA))
        };
        let count =
            |count: f64| if count.fract() == 0.0 { Node::Int(count as i64) } else { Node::Float(count) };
        let static_cells = [
            Node::text("gigabytes"),
            Node::text("gigabytes"),
            Node::text("seconds"),
            capacity(&is_ram),
            capacity(&|column| is_gpu(column, Metric::GpuMemoryTotalBytes)),
            Node::Int(i64::from(info.system_cores)),
            count(info.expected_cores),
            count(gpus as f64),
            count(gpus as f64),
        ];
        let scale = Scale {
            ram: GIGA,
            gpu_ram: GIGA,
            system_cores: f64::from(info.system_cores.max(1)),
            expected_cores: if info.expected_cores > 0.0 { info.expected_cores } else { 1.0 },
            expected_gpus: gpus.max(1) as f64,
        };
        TrackingLines { rows, scale, started_unix_ns: info.started_unix_ns, static_cells }
    }
}

impl Lines for TrackingLines {
    fn head(&self) -> String {
        let mut text = String::new();
        csv::put_row(&mut text, STATIC_COLUMNS, "\r\n");
        put_row(&mut text, &self.static_cells);
        csv::put_row(&mut text, DATA_COLUMNS, "\r\n");
        text
    }

    fn put_tick(&mut self, line: &mut String, t_ns: u64, values: &[Option<u64>]) {
        let made = self.rows.row(t_ns, values, self.scale, self.started_unix_ns);
        let Some(made) = made.filter(|made| !made.is_over) else { return };
        let cell =
            |(column, cell): (&&str, Option<f64>)| cell.map_or(Node::Null, |value| stored(column, value));
        put_row(line, &DATA_COLUMNS.iter().zip(made.cells).map(cell).collect::<Vec<_>>());
    }
}

fn is_gpu(column: &Column, metric: Metric) -> bool {
    let is_device = column.entity.as_ref().is_some_and(|entity| entity.kind == EntityKind::Gpu);
    column.scope == Scope::System && column.metric == metric && is_device
}
