//! The summary of a run: figures with their quality, verdict, limits, warnings. One documented JSON schema.

pub use crate::figures::Figures;
use crate::job::JobInfo;
use crate::kinds::{Mode, VerdictKind, WarningKind};
use crate::metric::{EntityKind, Metric, Scope};
use crate::stat::Stat;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const SCHEMA_VERSION: u32 = 1;

/// How true a figure is, from the best grade to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quality {
    Exact,
    Sampled,
    LowerBound,
    /// Derived from other figures by a model, such as energy shared out by CPU time.
    Estimate,
    Unavailable,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Number {
    Int(u64),
    Float(f64),
}

impl Number {
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        }
    }
}

/// A number and how true it is. Unknown is `value: null` with a reason, never 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    pub value: Option<Number>,
    pub quality: Quality,
    /// The truth is not below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<Number>,
    /// The truth is not above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<Number>,
    /// Why it is missing or what to know about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Figure {
    pub fn int(value: u64, quality: Quality) -> Figure {
        Figure { value: Some(Number::Int(value)), ..Figure::bare(quality) }
    }

    pub fn float(value: f64, quality: Quality) -> Figure {
        Figure { value: Some(Number::Float(value)), ..Figure::bare(quality) }
    }

    pub fn unavailable(reason: impl Into<String>) -> Figure {
        Figure { reason: Some(reason.into()), ..Figure::bare(Quality::Unavailable) }
    }

    fn bare(quality: Quality) -> Figure {
        Figure { value: None, quality, lower: None, upper: None, reason: None }
    }

    pub fn because(mut self, reason: impl Into<String>) -> Figure {
        self.reason = Some(reason.into());
        self
    }

    pub fn as_f64(&self) -> Option<f64> {
        self.value.map(Number::as_f64)
    }

    pub fn as_u64(&self) -> Option<u64> {
        match self.value? {
            Number::Int(value) => Some(value),
            Number::Float(value) => Some(value as u64),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntityFigures {
    /// Hostile text: escape on output.
    pub name: String,
    pub figures: Figures,
    /// What is constant about it (GPU model, PCI id, file system type, visible to the job …).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub schema_version: u32,
    pub run: RunInfo,
    pub verdict: Verdict,
    pub main: Figures,
    pub descendants: Figures,
    pub combined: Figures,
    pub system: Figures,
    #[serde(default)]
    pub cores: Vec<EntityFigures>,
    #[serde(default)]
    pub disks: Vec<EntityFigures>,
    #[serde(default)]
    pub mounts: Vec<EntityFigures>,
    #[serde(default)]
    pub networks: Vec<EntityFigures>,
    #[serde(default)]
    pub gpus: Vec<EntityFigures>,
    #[serde(default)]
    pub limits: Limits,
    /// Sources of measurement: what was used, what was not and why.
    #[serde(default)]
    pub sources: Vec<Source>,
    #[serde(default)]
    pub warnings: Vec<Warning>,
    pub overhead: Overhead,
}

impl Summary {
    pub fn scope(&self, scope: Scope) -> &Figures {
        match scope {
            Scope::Main => &self.main,
            Scope::Descendants => &self.descendants,
            Scope::Combined => &self.combined,
            Scope::System => &self.system,
        }
    }

    /// See [`Summary::scope`].
    pub fn scope_mut(&mut self, scope: Scope) -> &mut Figures {
        match scope {
            Scope::Main => &mut self.main,
            Scope::Descendants => &mut self.descendants,
            Scope::Combined => &mut self.combined,
            Scope::System => &mut self.system,
        }
    }

    /// One figure of a scope.
    pub fn get(&self, scope: Scope, metric: Metric, stat: Stat) -> Option<&Figure> {
        self.scope(scope).get(metric, stat)
    }

    /// The devices of a kind.
    pub fn devices(&self, kind: EntityKind) -> &[EntityFigures] {
        match kind {
            EntityKind::Core => &self.cores,
            EntityKind::Disk => &self.disks,
            EntityKind::Mount => &self.mounts,
            EntityKind::Network => &self.networks,
            EntityKind::Gpu => &self.gpus,
        }
    }
}

/// What was run, known when the run begins. Also the header of the run file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunInfo {
    /// Unique and sortable by time: `20261115T220212-1f3a9c`.
    pub id: String,
    pub jobmeter_version: String,
    /// How it was measured.
    pub mode: Mode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Arguments, secrets redacted unless asked otherwise; lossy UTF-8. Hostile text.
    #[serde(default)]
    pub command: Vec<String>,
    #[serde(default)]
    pub cwd: String,
    #[serde(default)]
    pub host: String,
    #[serde(default)]
    pub kernel: String,
    pub pid: i32,
    /// The job that the run is a part of, where a scheduler or launcher told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobInfo>,
    pub started_unix_ns: u64,
    /// Fixed tick distance; `None` means adaptive.
    pub interval_ns: Option<u64>,
    /// Cores the job may use: `--expected-cores`, else affinity and cgroup quota. The hardware ratio's divisor.
    pub expected_cores: f64,
    pub system_cores: u32,
    /// Measured: `None` in the header of a run that has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ns: Option<u64>,
    #[serde(default)]
    pub ticks: u64,
    #[serde(default)]
    pub late_ticks: u64,
    #[serde(default)]
    pub skipped_ticks: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// How it ended.
    pub kind: VerdictKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    #[serde(default)]
    pub core_dumped: bool,
    /// One sentence for people.
    pub text: String,
    /// What the verdict rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Limits {
    /// cgroup memory limit that binds the job (lowest on the path), v1 or v2.
    pub cgroup_memory_bytes: Option<u64>,
    /// cgroup CPU quota in cores.
    pub cgroup_cores: Option<f64>,
    pub affinity_cores: Option<u32>,
    /// RLIMIT_AS of the job.
    pub address_space_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// `conservation`, `cgroup`, `perf_counter`, `perf_ring`, `smaps_rollup`, `nvml`, `drm`, `powercap` …
    pub name: String,
    pub used: bool,
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What it is about.
    pub kind: WarningKind,
    /// One sentence for people.
    pub text: String,
}

/// jobmeter metered by itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Overhead {
    /// Unknown of a run that has no end: the record does not hold it.
    pub cpu_ns: Option<u64>,
    /// Of the meter's process; unknown where it shares the job's.
    pub peak_rss_bytes: Option<u64>,
}
