//! Ticks become rows of a tracking file: levels in the chosen units, CPU time as percent of the interval.
//! What is unknown is `None`; whoever writes a row says what stands for it.

use crate::table::{DATA_COLUMNS, kind};
use crate::tree::Node;
use crate::window::Window;
use jobmeter_model::metric::{Column, EntityKind, Metric, Scope};
use std::collections::HashMap;

/// A row in the order of [`DATA_COLUMNS`].
pub(crate) type Cells = [Option<f64>; DATA_COLUMNS.len()];

pub(crate) struct Made {
    pub(crate) cells: Cells,
    /// It does not belong into a file.
    pub(crate) is_over: bool,
}

/// What the figures of a row are multiplied with or divided by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) ram: f64,
    pub(crate) gpu_ram: f64,
    pub(crate) system_cores: f64,
    pub(crate) expected_cores: f64,
    pub(crate) expected_gpus: f64,
}

#[derive(Default)]
pub(crate) struct RowMaker {
    defined: usize,
    places: HashMap<(Scope, Metric), usize>,
    /// Use and memory of GPUs one by one: of those whose utilization counts, and of all.
    busy_places: Vec<usize>,
    memory_places: Vec<usize>,
    window: Window,
    rows: u32,
}

impl RowMaker {
    /// `counts` tells whether the use of the GPU of this name counts.
    pub(crate) fn define(&mut self, column: &Column, counts: impl Fn(&str) -> bool) {
        let place = self.defined;
        self.defined += 1;
        match &column.entity {
            None => {
                if *column == Column::of(Scope::System, Metric::CpuNs) {
                    self.window.set_machine(place);
                }
                self.places.insert((column.scope, column.metric), place);
            }
            Some(entity) if column.scope == Scope::System && entity.kind == EntityKind::Gpu => {
                match column.metric {
                    Metric::GpuBusyPpm if counts(&entity.name) => self.busy_places.push(place),
                    Metric::GpuMemoryBytes => self.memory_places.push(place),
                    _ => {}
                }
            }
            Some(_) => {}
        }
    }

    /// The row of the interval that this tick ends; none for the first tick. The tick at the end of a job finds main or
    /// its memory gone, which is no state of the job and would be a minimum of 0: it makes a row only where there is no
    /// other, and that one is `over`.
    pub(crate) fn row(
        &mut self,
        t_ns: u64,
        values: &[Option<u64>],
        scale: Scale,
        started_unix_ns: u64,
    ) -> Option<Made> {
        let is_gone = |metric| {
            let place = self.places.get(&(Scope::Main, metric));
            place.is_some_and(|place| values.get(*place).copied().flatten().unwrap_or(0) == 0)
        };
        let is_over = is_gone(Metric::Threads) || is_gone(Metric::RssBytes);
        if is_over && self.rows > 0 || !self.window.push(t_ns, values) {
            return None;
        }
        self.rows += 1;
        Some(Made { cells: self.cells(scale, started_unix_ns), is_over })
    }

    fn cells(&self, scale: Scale, started_unix_ns: u64) -> Cells {
        let mut cells: Vec<Option<f64>> = Vec::with_capacity(DATA_COLUMNS.len());
        let level = |scope, metric, factor: f64| self.now(scope, metric).map(|value| value as f64 * factor);
        cells.extend(Scope::JOB.map(|scope| level(scope, Metric::RssBytes, scale.ram)));
        cells.push(level(Scope::System, Metric::MemoryUsedBytes, scale.ram));
        cells.extend(Scope::JOB.map(|scope| level(scope, Metric::GpuMemoryBytes, scale.gpu_ram)));
        let of_devices = || self.sum(&self.memory_places).map(|bytes| bytes * scale.gpu_ram);
        cells.push(level(Scope::System, Metric::GpuMemoryBytes, scale.gpu_ram).or_else(of_devices));
        let busy_percent = self.sum(&self.busy_places).map(|ppm| ppm / 1e4);
        cells.extend([busy_percent, busy_percent.map(|percent| percent / scale.expected_gpus)]);
        cells.extend(Scope::JOB.map(|scope| level(scope, Metric::Threads, 1.0)));
        for scope in [Scope::System, Scope::Main, Scope::Descendants, Scope::Combined] {
            let cores = if scope == Scope::System { scale.system_cores } else { scale.expected_cores };
            let place = self.places.get(&(scope, Metric::CpuNs));
            let percent =
                place.and_then(|place| self.window.rate(*place)).map(|cores_used| cores_used * 100.0);
            cells.extend([percent, percent.map(|percent| percent / cores)]);
        }
        cells.push(Some((started_unix_ns + self.window.t_ns()) as f64 / 1e9));
        let mut row = [None; DATA_COLUMNS.len()];
        row.iter_mut().zip(cells).for_each(|(place, cell)| *place = cell);
        row
    }

    fn now(&self, scope: Scope, metric: Metric) -> Option<u64> {
        self.window.now(*self.places.get(&(scope, metric))?)
    }

    /// `None` where none of them is known.
    fn sum(&self, places: &[usize]) -> Option<f64> {
        places
            .iter()
            .filter_map(|place| self.window.now(*place))
            .reduce(u64::saturating_add)
            .map(|sum| sum as f64)
    }
}

/// The value of a column as its file has it: counts are whole numbers.
pub(crate) fn stored(column: &str, value: f64) -> Node {
    if kind(column) == "INTEGER" { Node::Int(value as i64) } else { Node::Float(value) }
}
