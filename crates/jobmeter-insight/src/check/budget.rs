//! What can have a budget, and where a budget comes from.

use crate::compare::{WALL_KEY, WALL_TITLE};
use jobmeter_model::{FigureId, Metric, Scope, Stat, Unit};
use serde::Serialize;
use std::borrow::Cow;

/// What a budget limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetKind {
    /// Wall time.
    Time,
    /// CPU time of the job.
    CpuTime,
    /// Peak memory of the job.
    Ram,
    /// Peak memory of the job on GPUs.
    GpuRam,
    /// Bytes read from storage.
    Read,
    /// Bytes written to storage.
    Written,
    /// Processes that the job started.
    Processes,
}

impl BudgetKind {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [BudgetKind; 7] = [
        BudgetKind::Time,
        BudgetKind::CpuTime,
        BudgetKind::Ram,
        BudgetKind::GpuRam,
        BudgetKind::Read,
        BudgetKind::Written,
        BudgetKind::Processes,
    ];

    /// The figure of the job that it limits; `None` for the wall time, which is a fact of the run.
    pub fn figure(self) -> Option<(Metric, Stat)> {
        match self {
            BudgetKind::Time => None,
            BudgetKind::CpuTime => Some((Metric::CpuNs, Stat::Total)),
            BudgetKind::Ram => Some((Metric::RssBytes, Stat::Max)),
            BudgetKind::GpuRam => Some((Metric::GpuMemoryBytes, Stat::Max)),
            BudgetKind::Read => Some((Metric::ReadStorageBytes, Stat::Total)),
            BudgetKind::Written => Some((Metric::WriteStorageBytes, Stat::Total)),
            BudgetKind::Processes => Some((Metric::Processes, Stat::Max)),
        }
    }

    fn id(self) -> Option<FigureId> {
        self.figure().map(|(metric, stat)| FigureId::of(Scope::Combined, metric, stat))
    }

    /// As the option is called.
    pub fn name(self) -> &'static str {
        match self {
            BudgetKind::Time => "time",
            BudgetKind::CpuTime => "cpu-time",
            BudgetKind::Ram => "ram",
            BudgetKind::GpuRam => "gpu-ram",
            BudgetKind::Read => "read",
            BudgetKind::Written => "written",
            BudgetKind::Processes => "processes",
        }
    }

    /// What people call it.
    pub fn title(self) -> String {
        self.id().map_or(WALL_TITLE.to_owned(), |id| id.title())
    }

    /// The scope of the figure that it limits.
    pub fn scope(self) -> &'static str {
        self.id().map_or("run", |id| id.scope.key())
    }

    /// The key of that figure in the summary.
    pub fn key(self) -> Cow<'static, str> {
        self.id().map_or(WALL_KEY.into(), |id| id.key())
    }

    /// What the limit counts.
    pub fn unit(self) -> Unit {
        self.id().map_or(Unit::Nanos, |id| id.unit())
    }
}

/// Where a limit comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Origin {
    /// Given by the user.
    Given,
    /// The median of so many baseline runs and this much more.
    Baseline {
        /// Of the baseline runs; `None` where they do not have the figure.
        median: Option<f64>,
        /// How many there are.
        runs: usize,
        /// How much more is allowed, as a share of the median.
        tolerance_ratio: f64,
    },
}

/// At most this much of that; no limit where the baseline does not know it.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// What it limits.
    pub kind: BudgetKind,
    /// The most that is allowed; `None` where the runs to compare with do not say.
    pub limit: Option<f64>,
    /// The limit as the user wrote it.
    pub written: Option<String>,
    /// Where the limit comes from.
    pub origin: Origin,
}

impl Budget {
    /// At most `limit` bytes, nanoseconds or processes, whichever the kind counts.
    pub fn at_most(kind: BudgetKind, limit: u64) -> Budget {
        Budget { kind, limit: Some(limit as f64), written: None, origin: Origin::Given }
    }
}
