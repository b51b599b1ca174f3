//! What a listing shows of a run, small enough to be read with one look at the end of the file.

use jobmeter_model::{JobInfo, Metric, Mode, RunInfo, Stat, Summary, VerdictKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a list of runs shows of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// The run's identity.
    pub id: String,
    /// How it was measured.
    pub mode: Mode,
    /// The name that the user gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The tags that the user gave it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Hostile text, as in [`RunInfo`].
    #[serde(default)]
    pub command: Vec<String>,
    /// The machine that it ran on.
    #[serde(default)]
    pub host: String,
    /// Of the main process.
    pub pid: i32,
    /// The scheduler's job, where it was part of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobInfo>,
    /// When it began.
    pub started_unix_ns: u64,
    /// `None` while the run goes on or after a crash.
    pub wall_ns: Option<u64>,
    /// Kind of the verdict; `None` while the run goes on or after a crash.
    pub verdict: Option<VerdictKind>,
    /// Of the main process.
    pub exit_code: Option<i32>,
    /// The signal that ended the main process.
    pub signal: Option<i32>,
    /// CPU time of main and descendants.
    pub cpu_ns: Option<u64>,
    /// Peak resident memory of main and descendants.
    pub peak_rss_bytes: Option<u64>,
}

impl Digest {
    /// What is known from the header alone.
    pub fn of_unfinished(info: &RunInfo) -> Digest {
        Digest {
            id: info.id.clone(),
            mode: info.mode.clone(),
            name: info.name.clone(),
            tags: info.tags.clone(),
            command: info.command.clone(),
            host: info.host.clone(),
            pid: info.pid,
            job: info.job.clone(),
            started_unix_ns: info.started_unix_ns,
            wall_ns: None,
            verdict: None,
            exit_code: None,
            signal: None,
            cpu_ns: None,
            peak_rss_bytes: None,
        }
    }

    /// From a summary.
    pub fn of(summary: &Summary) -> Digest {
        Digest {
            wall_ns: summary.run.wall_ns,
            verdict: Some(summary.verdict.kind.clone()),
            exit_code: summary.verdict.exit_code,
            signal: summary.verdict.signal,
            cpu_ns: summary.combined.whole(Metric::CpuNs, Stat::Total),
            peak_rss_bytes: summary.combined.whole(Metric::RssBytes, Stat::Max),
            ..Digest::of_unfinished(&summary.run)
        }
    }

    /// Whether the run ended in order and its summary is stored.
    pub fn is_finished(&self) -> bool {
        self.verdict.is_some()
    }
}
