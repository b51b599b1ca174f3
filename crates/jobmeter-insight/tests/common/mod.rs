//! Summaries with known figures.

use jobmeter_model::summary::{Limits, Overhead};
use jobmeter_model::{Figure, Figures, Metric, Mode, Number, Quality, RunInfo, Stat, Summary, Verdict};
use std::collections::BTreeMap;

pub(crate) const GIB: f64 = (1u64 << 30) as f64;

pub(crate) struct Sample {
    pub name: Option<&'static str>,
    pub wall_s: f64,
    pub cores_mean: f64,
    pub memory_bytes: f64,
    pub memory_upper: Option<f64>,
    pub gpus: Option<(f64, f64, f64)>,
    pub written_bytes: f64,
    pub input: Option<String>,
    pub verdict: &'static str,
    pub exit_code: Option<i32>,
}

impl Default for Sample {
    fn default() -> Sample {
        Sample {
            name: Some("train"),
            wall_s: 600.0,
            cores_mean: 3.1,
            memory_bytes: 11.0 * GIB,
            memory_upper: None,
            gpus: None,
            written_bytes: 0.0,
            input: None,
            verdict: "exited",
            exit_code: Some(0),
        }
    }
}

impl Sample {
    pub(crate) fn summary(&self) -> Summary {
        let mut combined = Figures::new();
        let mut add = |key: &str, value: f64, quality| {
            combined.set_by_key(key, Figure::float(value, quality));
        };
        add("cores_used_mean", self.cores_mean, Quality::Exact);
        add("cores_used_max", self.cores_mean * 1.2, Quality::Sampled);
        add("rss_bytes_mean", self.memory_bytes * 0.7, Quality::Sampled);
        add("rss_bytes_max", self.memory_bytes, Quality::Sampled);
        add("write_chars_bytes", self.written_bytes, Quality::Exact);
        if let Some((mean, max, vram)) = self.gpus {
            add("gpu_busy_ppm_mean", mean * 1e6, Quality::Sampled);
            add("gpu_busy_ppm_max", max * 1e6, Quality::Sampled);
            add("gpu_memory_bytes_max", vram, Quality::Sampled);
        }
        if let Some(upper) = self.memory_upper {
            combined.get_mut(Metric::RssBytes, Stat::Max).unwrap().upper = Some(Number::Float(upper));
        }
        let mut tags = BTreeMap::new();
        if let Some(input) = &self.input {
            tags.insert("input".to_owned(), input.clone());
        }
        let mut system = Figures::new();
        system.set(Metric::MemoryTotalBytes, Stat::Max, Figure::int(128 << 30, Quality::Exact));
        Summary {
            schema_version: 1,
            run: RunInfo {
                id: "20260101T000000-abcdef".to_owned(),
                mode: Mode::Run,
                name: self.name.map(str::to_owned),
                tags,
                host: "node1".to_owned(),
                expected_cores: 16.0,
                system_cores: 32,
                wall_ns: Some((self.wall_s * 1e9) as u64),
                ..RunInfo::default()
            },
            verdict: Verdict {
                kind: self.verdict.into(),
                exit_code: self.exit_code,
                signal: None,
                core_dumped: false,
                text: String::new(),
                evidence: Vec::new(),
            },
            main: Figures::new(),
            containers: Default::default(),
            descendants: Figures::new(),
            combined,
            system,
            cores: Vec::new(),
            disks: Vec::new(),
            mounts: Vec::new(),
            networks: Vec::new(),
            gpus: Vec::new(),
            limits: Limits { cgroup_memory_bytes: Some(64 << 30), ..Limits::default() },
            sources: Vec::new(),
            warnings: Vec::new(),
            overhead: Overhead::default(),
        }
    }
}
