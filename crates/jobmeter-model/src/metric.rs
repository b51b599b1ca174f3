//! What is measured, of whom, and how it grows. Every column of a record, every key of the summary, every export header
//! and the reference page of the docs derive from the one [`TABLE`], so they cannot drift apart.

mod chart;
mod row;
mod table;

pub use crate::unit::Unit;
pub use chart::{Chart, ChartLine, LineRole};
pub use row::{MetricInfo, Places, Rate, Yields};
pub use table::{Metric, TABLE};

use serde::{Deserialize, Serialize};

/// Whose figure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The process that was spawned or attached to.
    Main,
    /// Everything that descends from it.
    Descendants,
    /// Main and descendants together, shared memory counted once.
    Combined,
    /// The whole machine.
    System,
    /// What ran in containers that the job started: a part of `Combined`, and not counted there again.
    Containers,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Scope; 5] =
        [Scope::Main, Scope::Descendants, Scope::Combined, Scope::System, Scope::Containers];
    /// The scopes that have columns; the figures of `Containers` are made when the run ends.
    pub const MEASURED: [Scope; 4] = [Scope::Main, Scope::Descendants, Scope::Combined, Scope::System];
    /// The scopes that a job has; `System` is the machine's.
    pub const JOB: [Scope; 3] = [Scope::Main, Scope::Descendants, Scope::Combined];

    /// The word in keys and column names.
    pub fn key(self) -> &'static str {
        match self {
            Scope::Main => "main",
            Scope::Descendants => "descendants",
            Scope::Combined => "combined",
            Scope::System => "system",
            Scope::Containers => "containers",
        }
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Scope::Main => "main process",
            Scope::Descendants => "descendants",
            Scope::Combined => "job",
            Scope::System => "machine",
            Scope::Containers => "containers",
        }
    }

    /// The scope of a key.
    pub fn from_key(key: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.key() == key)
    }
}

/// How a stored integer grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Cumulative since the run began; the summary gives its total and its rate (max, mean).
    Counter,
    /// A level; the summary gives its max and its time-weighted mean.
    Gauge,
    /// Not a column of the record: one figure, made when the run ends.
    Once,
}

/// What an entity column speaks of, when it is not the scope as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    /// A core of the machine.
    Core,
    /// A whole block device.
    Disk,
    /// A local file system.
    Mount,
    /// A network interface.
    Network,
    /// A GPU, or an instance of one.
    Gpu,
}

impl EntityKind {
    /// Every kind.
    pub const ALL: [EntityKind; 5] =
        [EntityKind::Core, EntityKind::Disk, EntityKind::Mount, EntityKind::Network, EntityKind::Gpu];

    /// The word in keys and column names.
    pub fn key(self) -> &'static str {
        match self {
            EntityKind::Core => "core",
            EntityKind::Disk => "disk",
            EntityKind::Mount => "mount",
            EntityKind::Network => "network",
            EntityKind::Gpu => "gpu",
        }
    }
}

impl Metric {
    /// The row of the table.
    pub fn info(self) -> &'static MetricInfo {
        &TABLE[self as usize]
    }

    /// The word in keys and column names.
    pub fn key(self) -> &'static str {
        self.info().key
    }

    /// The metric of a column key.
    pub fn from_key(key: &str) -> Option<Metric> {
        TABLE.iter().find(|row| row.key == key).map(|row| row.metric)
    }
}

/// One column of the time series: a metric of a scope, perhaps of one entity (a core, a disk, a GPU).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Column {
    /// Whose value it is.
    pub scope: Scope,
    /// What is measured.
    pub metric: Metric,
    /// The device, where it is not about the scope as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<Entity>,
}

/// One device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Entity {
    /// What kind of device it is.
    pub kind: EntityKind,
    /// Kernel or driver name: `0`, `nvme0n1`, `/home`, `eth0`, a GPU's UUID. Hostile text: escape on output.
    pub name: String,
}

impl Column {
    /// A column of a scope as a whole.
    pub fn of(scope: Scope, metric: Metric) -> Column {
        Column { scope, metric, entity: None }
    }

    /// A column of one device.
    pub fn entity(scope: Scope, metric: Metric, kind: EntityKind, name: &str) -> Column {
        Column { scope, metric, entity: Some(Entity { kind, name: name.to_owned() }) }
    }

    /// Flat name for exports: `combined_rss_bytes`, `system_core_busy_ns[0]`.
    pub fn name(&self) -> String {
        match &self.entity {
            None => format!("{}_{}", self.scope.key(), self.metric.key()),
            Some(entity) => format!("{}_{}[{}]", self.scope.key(), self.metric.key(), entity.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_indexed_by_metric_and_keys_are_unique() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.metric as usize, index);
            assert_eq!(Metric::from_key(row.key), Some(row.metric));
        }
    }
}
