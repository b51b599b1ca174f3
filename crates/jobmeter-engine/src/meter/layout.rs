//! Which columns a run has, and where in the row each stands. Fixed ones first; cores, disks, mounts,
//! interfaces and GPUs are added as they are met.

use jobmeter_model::event::Sink;
use jobmeter_model::metric::{Column, Metric, Scope, TABLE};

/// Metrics of the machine, in the order in which records have always had them.
const SYSTEM: [Metric; 28] = [
    Metric::CpuNs,
    Metric::CpuUserNs,
    Metric::CpuSystemNs,
    Metric::CpuIowaitNs,
    Metric::CpuStealNs,
    Metric::MemoryTotalBytes,
    Metric::MemoryUsedBytes,
    Metric::MemoryFreeBytes,
    Metric::MemoryAvailableBytes,
    Metric::MemoryBuffersBytes,
    Metric::MemoryCachedBytes,
    Metric::MemoryActiveBytes,
    Metric::MemoryInactiveBytes,
    Metric::SwapTotalBytes,
    Metric::SwapBytes,
    Metric::Forks,
    Metric::Processes,
    Metric::Load1Milli,
    Metric::PsiCpuSomeNs,
    Metric::PsiMemorySomeNs,
    Metric::PsiMemoryFullNs,
    Metric::PsiIoSomeNs,
    Metric::PsiIoFullNs,
    Metric::DiskReadBytes,
    Metric::DiskWriteBytes,
    Metric::NetReceiveBytes,
    Metric::NetTransmitBytes,
    Metric::Threads,
];

const NOWHERE: u16 = u16::MAX;

/// The row of the present tick and the columns it stands under.
pub struct Row {
    /// What the values are of.
    pub columns: Vec<Column>,
    /// By column; `None` where nothing was read.
    pub values: Vec<Option<u64>>,
    fixed: [[u16; TABLE.len()]; Scope::ALL.len()],
}

impl Row {
    /// The columns that every run has, without values.
    pub fn new() -> Row {
        let mut row = Row {
            columns: Vec::with_capacity(128),
            values: Vec::with_capacity(128),
            fixed: [[NOWHERE; TABLE.len()]; Scope::ALL.len()],
        };
        for scope in Scope::JOB {
            // What a job has on devices comes with the devices.
            for info in TABLE.iter().filter(|info| info.is_of(scope) && info.places.device.is_none()) {
                row.add_fixed(scope, info.metric);
            }
        }
        for metric in SYSTEM {
            row.add_fixed(Scope::System, metric);
        }
        row
    }

    fn add_fixed(&mut self, scope: Scope, metric: Metric) {
        self.fixed[scope as usize][metric as usize] = self.columns.len() as u16;
        self.add(Column::of(scope, metric));
    }

    /// Adds a column; its index.
    pub fn add(&mut self, column: Column) -> usize {
        self.columns.push(column);
        self.values.push(None);
        self.columns.len() - 1
    }

    /// Index of an entity-less column that every run has.
    pub fn index(&self, scope: Scope, metric: Metric) -> Option<usize> {
        let index = self.fixed[scope as usize][metric as usize];
        (index != NOWHERE).then_some(usize::from(index))
    }

    /// Sets the value of a scope as a whole.
    pub fn set(&mut self, scope: Scope, metric: Metric, value: Option<u64>) {
        if let Some(index) = self.index(scope, metric) {
            self.values[index] = value;
        }
    }

    /// The value of a scope as a whole.
    pub fn get(&self, scope: Scope, metric: Metric) -> Option<u64> {
        self.index(scope, metric).and_then(|index| self.values[index])
    }

    /// A counter never runs backwards: reads of different processes are microseconds apart, and time that
    /// moves from a child to its parent may be missed for one tick.
    pub fn set_counter(&mut self, scope: Scope, metric: Metric, value: Option<u64>) {
        if let Some(index) = self.index(scope, metric) {
            self.values[index] = match (self.values[index], value) {
                (Some(before), Some(now)) => Some(before.max(now)),
                (before, now) => now.or(before),
            };
        }
    }

    /// The machine was not read for this row: a row holds nothing of an earlier one.
    pub fn clear_machine(&mut self) {
        for (column, value) in self.columns.iter().zip(&mut self.values) {
            if column.scope == Scope::System {
                *value = None;
            }
        }
    }

    /// Tells `sink` of the columns from `from` on.
    pub fn define_into(&self, sink: &mut dyn Sink, from: usize) {
        for column in &self.columns[from..] {
            sink.define(column);
        }
    }
}

impl Default for Row {
    fn default() -> Self {
        Row::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_columns_are_found_again() {
        let row = Row::new();
        for (index, column) in row.columns.iter().enumerate() {
            assert_eq!(row.index(column.scope, column.metric), Some(index));
        }
        assert_eq!(row.index(Scope::Main, Metric::RssSumBytes), None);
    }

    #[test]
    fn a_row_without_a_reading_of_the_machine_holds_none() {
        let mut row = Row::new();
        row.add(Column::entity(Scope::System, Metric::CoreBusyNs, jobmeter_model::EntityKind::Core, "0"));
        row.values.fill(Some(7));
        row.clear_machine();
        for (column, value) in row.columns.iter().zip(&row.values) {
            assert_eq!(value.is_none(), column.scope == Scope::System, "{}", column.name());
        }
    }

    #[test]
    fn every_column_is_one_that_the_metric_table_knows() {
        for column in Row::new().columns {
            assert!(column.metric.info().is_of(column.scope), "{}", column.name());
        }
        let machine = TABLE.iter().filter(|info| info.is_of(Scope::System));
        let untold: Vec<&str> =
            machine.filter(|info| !SYSTEM.contains(&info.metric)).map(|info| info.key).collect();
        // Those come from sources of their own.
        assert!(untold.iter().all(|key| key.starts_with("gpu_") || key.starts_with("energy_")), "{untold:?}");
    }

    #[test]
    fn counters_do_not_run_backwards() {
        let mut row = Row::new();
        row.set_counter(Scope::Main, Metric::CpuNs, Some(5));
        row.set_counter(Scope::Main, Metric::CpuNs, Some(3));
        row.set_counter(Scope::Main, Metric::CpuNs, None);
        assert_eq!(row.get(Scope::Main, Metric::CpuNs), Some(5));
    }
}
