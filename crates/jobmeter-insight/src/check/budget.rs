//! What can have a budget, and where a budget comes from.

use crate::compare::{FigureUnit, key_unit};
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetKind {
    Time,
    CpuTime,
    Ram,
    GpuRam,
    Read,
    Written,
    Processes,
}

impl BudgetKind {
    pub const ALL: [BudgetKind; 7] = [
        BudgetKind::Time,
        BudgetKind::CpuTime,
        BudgetKind::Ram,
        BudgetKind::GpuRam,
        BudgetKind::Read,
        BudgetKind::Written,
        BudgetKind::Processes,
    ];

    /// Option name, title, scope and key of the figure.
    fn row(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            BudgetKind::Time => ("time", "Wall time", "run", "wall_ns"),
            BudgetKind::CpuTime => ("cpu-time", "CPU time", "combined", "cpu_ns"),
            BudgetKind::Ram => ("ram", "RAM, peak", "combined", "rss_bytes_max"),
            BudgetKind::GpuRam => ("gpu-ram", "GPU RAM, peak", "combined", "gpu_memory_bytes_max"),
            BudgetKind::Read => ("read", "Read (storage)", "combined", "read_storage_bytes"),
            BudgetKind::Written => ("written", "Written (storage)", "combined", "write_storage_bytes"),
            BudgetKind::Processes => ("processes", "Processes, peak", "combined", "processes_max"),
        }
    }

    pub fn name(self) -> &'static str {
        self.row().0
    }

    pub fn title(self) -> &'static str {
        self.row().1
    }

    pub fn scope(self) -> &'static str {
        self.row().2
    }

    pub fn key(self) -> &'static str {
        self.row().3
    }

    pub fn unit(self) -> FigureUnit {
        key_unit(self.key())
    }
}

/// Where a limit comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Origin {
    /// Given by the user.
    Given,
    /// The median of so many baseline runs and this much more.
    Baseline { median: Option<f64>, runs: usize, tolerance_ratio: f64 },
}

/// At most this much of that; no limit where the baseline does not know it.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    pub kind: BudgetKind,
    pub limit: Option<f64>,
    pub origin: Origin,
}

impl Budget {
    /// At most `limit` bytes, nanoseconds or processes, whichever the kind counts.
    pub fn at_most(kind: BudgetKind, limit: u64) -> Budget {
        Budget { kind, limit: Some(limit as f64), origin: Origin::Given }
    }
}
