//! The summary of a run: figures with their quality, verdict, limits, warnings. One documented JSON schema.

pub use crate::figures::Figures;
use crate::job::JobInfo;
use crate::kinds::{Mode, VerdictKind, WarningKind};
use crate::metric::{EntityKind, Metric, Scope};
use crate::stat::Stat;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the JSON that a [`Summary`] becomes.
pub const SCHEMA_VERSION: u32 = 1;

/// How true a figure is, from the best grade to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quality {
    /// What the kernel counted, all of it.
    Exact,
    /// Seen at ticks; between them it may have been otherwise.
    Sampled,
    /// The truth is this much or more.
    LowerBound,
    /// Derived from other figures by a model, such as energy shared out by CPU time.
    Estimate,
    /// Not known, for the reason that is given.
    Unavailable,
}

/// A value as it was measured: counts stay integers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// A count.
    Int(u64),
    /// A rate, a mean or a share.
    Float(f64),
}

impl Number {
    /// As a float.
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
    /// `None` where it is not known.
    pub value: Option<Number>,
    /// How true it is.
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
    /// A count.
    pub fn int(value: u64, quality: Quality) -> Figure {
        Figure { value: Some(Number::Int(value)), ..Figure::bare(quality) }
    }

    /// A rate, a mean or a share.
    pub fn float(value: f64, quality: Quality) -> Figure {
        Figure { value: Some(Number::Float(value)), ..Figure::bare(quality) }
    }

    /// A figure that is not known, and why.
    pub fn unavailable(reason: impl Into<String>) -> Figure {
        Figure { reason: Some(reason.into()), ..Figure::bare(Quality::Unavailable) }
    }

    fn bare(quality: Quality) -> Figure {
        Figure { value: None, quality, lower: None, upper: None, reason: None }
    }

    /// With what to know about it.
    pub fn because(mut self, reason: impl Into<String>) -> Figure {
        self.reason = Some(reason.into());
        self
    }

    /// The value, where it is known.
    pub fn as_f64(&self) -> Option<f64> {
        self.value.map(Number::as_f64)
    }

    /// The value without decimals, where it is known.
    pub fn as_u64(&self) -> Option<u64> {
        match self.value? {
            Number::Int(value) => Some(value),
            Number::Float(value) => Some(value as u64),
        }
    }
}

/// The figures of one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntityFigures {
    /// Hostile text: escape on output.
    pub name: String,
    /// Of the device itself and, under their scope, of the job on it.
    pub figures: Figures,
    /// What is constant about it (GPU model, PCI id, file system type, visible to the job …).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}

/// What is said of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// See [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What was run.
    pub run: RunInfo,
    /// How it ended.
    pub verdict: Verdict,
    /// Of the process that was started or attached to.
    pub main: Figures,
    /// Of everything that descends from it.
    pub descendants: Figures,
    /// Of both, shared memory counted once.
    pub combined: Figures,
    /// Of the whole machine.
    pub system: Figures,
    /// Of what ran in containers that the job started, which is in `combined` too; empty without any.
    #[serde(default, skip_serializing_if = "Figures::is_empty")]
    pub containers: Figures,
    /// Of each core.
    #[serde(default)]
    pub cores: Vec<EntityFigures>,
    /// Of each disk.
    #[serde(default)]
    pub disks: Vec<EntityFigures>,
    /// Of each local file system.
    #[serde(default)]
    pub mounts: Vec<EntityFigures>,
    /// Of each network interface.
    #[serde(default)]
    pub networks: Vec<EntityFigures>,
    /// Of each GPU.
    #[serde(default)]
    pub gpus: Vec<EntityFigures>,
    /// What the job may use at most.
    #[serde(default)]
    pub limits: Limits,
    /// Sources of measurement: what was used, what was not and why.
    #[serde(default)]
    pub sources: Vec<Source>,
    /// What to doubt.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// What measuring cost.
    pub overhead: Overhead,
}

impl Summary {
    /// The figures of a scope.
    pub fn scope(&self, scope: Scope) -> &Figures {
        match scope {
            Scope::Main => &self.main,
            Scope::Descendants => &self.descendants,
            Scope::Combined => &self.combined,
            Scope::System => &self.system,
            Scope::Containers => &self.containers,
        }
    }

    /// See [`Summary::scope`].
    pub fn scope_mut(&mut self, scope: Scope) -> &mut Figures {
        match scope {
            Scope::Main => &mut self.main,
            Scope::Descendants => &mut self.descendants,
            Scope::Combined => &mut self.combined,
            Scope::System => &mut self.system,
            Scope::Containers => &mut self.containers,
        }
    }

    /// One figure of a scope.
    ///
    /// ```
    /// use jobmeter_model::{Metric, Quality, Scope, Stat, Summary};
    ///
    /// let text = std::fs::read_to_string("../../fixtures/golden/plain/show.json")?;
    /// let summary: Summary = serde_json::from_str(&text)?;
    /// let time = summary.get(Scope::Combined, Metric::CpuNs, Stat::Total).expect("every run has it");
    /// assert_eq!((time.quality, time.as_u64() > Some(0)), (Quality::Exact, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// The version that measured it.
    pub jobmeter_version: String,
    /// How it was measured.
    pub mode: Mode,
    /// As the user named it. Hostile text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// As the user tagged it. Hostile text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Arguments, secrets redacted unless asked otherwise; lossy UTF-8. Hostile text.
    #[serde(default)]
    pub command: Vec<String>,
    /// Where it was started. Hostile text.
    #[serde(default)]
    pub cwd: String,
    /// The name of the machine.
    #[serde(default)]
    pub host: String,
    /// Its kernel and architecture.
    #[serde(default)]
    pub kernel: String,
    /// The main process.
    pub pid: i32,
    /// The job that the run is a part of, where a scheduler or launcher told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobInfo>,
    /// When it began, by the clock of the machine.
    pub started_unix_ns: u64,
    /// Fixed tick distance; `None` means adaptive.
    pub interval_ns: Option<u64>,
    /// Cores the job may use: `--expected-cores`, else affinity and cgroup quota. The hardware ratio's divisor.
    pub expected_cores: f64,
    /// Cores of the machine.
    pub system_cores: u32,
    /// Measured: `None` in the header of a run that has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ns: Option<u64>,
    /// Ticks taken.
    #[serde(default)]
    pub ticks: u64,
    /// Ticks that came late.
    #[serde(default)]
    pub late_ticks: u64,
    /// Ticks that could not be made up for.
    #[serde(default)]
    pub skipped_ticks: u64,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// How it ended.
    pub kind: VerdictKind,
    /// Where it ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Where a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether it left a core file.
    #[serde(default)]
    pub core_dumped: bool,
    /// One sentence for people.
    pub text: String,
    /// What the verdict rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

/// What a job may use at most; `None` where there is no limit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Limits {
    /// cgroup memory limit that binds the job (lowest on the path), v1 or v2.
    pub cgroup_memory_bytes: Option<u64>,
    /// cgroup CPU quota in cores.
    pub cgroup_cores: Option<f64>,
    /// Cores that it may run on.
    pub affinity_cores: Option<u32>,
    /// RLIMIT_AS of the job.
    pub address_space_bytes: Option<u64>,
}

/// One source of measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// `conservation`, `cgroup`, `perf_counter`, `perf_ring`, `smaps_rollup`, `nvml`, `drm`, `powercap` …
    pub name: String,
    /// Whether it was used.
    pub used: bool,
    /// What it gave, or why it was not used.
    pub detail: String,
}

/// Something to doubt.
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
