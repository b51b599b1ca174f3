//! What the job used during a phase: differences of counters, highest levels, and the course of the GPUs.

use super::{Cell, CellKind};
use jobmeter_model::Quality;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// A level over time: its mean, weighted by time, and the largest value of a tick.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Course {
    mean: f64,
    weight_ns: u64,
    max: Option<u64>,
}

impl Course {
    /// A reading that speaks for so much time. Without any it may still be the largest.
    pub(super) fn see(&mut self, value: Option<u64>, weight_ns: u64) {
        let Some(value) = value else { return };
        self.max = self.max.max(Some(value));
        self.weigh(value as f64, weight_ns);
    }

    pub(super) fn join(&mut self, other: &Course) {
        self.max = self.max.max(other.max);
        self.weigh(other.mean, other.weight_ns);
    }

    fn weigh(&mut self, mean: f64, weight_ns: u64) {
        if weight_ns > 0 {
            self.weight_ns = self.weight_ns.saturating_add(weight_ns);
            self.mean += (mean - self.mean) * (weight_ns as f64 / self.weight_ns as f64);
        }
    }

    pub fn mean(&self) -> Option<f64> {
        (self.weight_ns > 0).then_some(self.mean)
    }

    pub fn max(&self) -> Option<u64> {
        self.max
    }
}

/// Unknown is `None`. Counters are those of the whole job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Used {
    /// Of the counters: exact where a tick was taken at both ends, else sampled, because they are interpolated
    /// between the ticks around an end.
    pub quality: Quality,
    pub cpu_ns: Option<u64>,
    pub read_storage_bytes: Option<u64>,
    pub write_storage_bytes: Option<u64>,
    pub read_chars_bytes: Option<u64>,
    pub write_chars_bytes: Option<u64>,
    /// Largest value of a tick inside, boundaries included.
    pub peak_rss_bytes: Option<u64>,
    pub peak_gpu_memory_bytes: Option<u64>,
    /// Use of all GPUs together by the job.
    pub gpu_busy_ppm: Course,
    /// Use of all GPUs together by anyone.
    pub system_gpu_busy_ppm: Course,
    /// Energy of all GPUs, others' work on them included.
    pub system_gpu_energy_uj: Option<u64>,
}

impl Used {
    pub(super) const NOTHING_KNOWN: Used = Used {
        quality: Quality::Exact,
        cpu_ns: None,
        read_storage_bytes: None,
        write_storage_bytes: None,
        read_chars_bytes: None,
        write_chars_bytes: None,
        peak_rss_bytes: None,
        peak_gpu_memory_bytes: None,
        gpu_busy_ppm: Course { mean: 0.0, weight_ns: 0, max: None },
        system_gpu_busy_ppm: Course { mean: 0.0, weight_ns: 0, max: None },
        system_gpu_energy_uj: None,
    };

    /// Of two calls together; a sum is unknown as soon as one part of it is.
    pub(super) fn join(&mut self, other: &Used) {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        if other.quality != Quality::Exact {
            self.quality = other.quality;
        }
        self.cpu_ns = sum(self.cpu_ns, other.cpu_ns);
        self.read_storage_bytes = sum(self.read_storage_bytes, other.read_storage_bytes);
        self.write_storage_bytes = sum(self.write_storage_bytes, other.write_storage_bytes);
        self.read_chars_bytes = sum(self.read_chars_bytes, other.read_chars_bytes);
        self.write_chars_bytes = sum(self.write_chars_bytes, other.write_chars_bytes);
        self.peak_rss_bytes = self.peak_rss_bytes.max(other.peak_rss_bytes);
        self.peak_gpu_memory_bytes = self.peak_gpu_memory_bytes.max(other.peak_gpu_memory_bytes);
        self.gpu_busy_ppm.join(&other.gpu_busy_ppm);
        self.system_gpu_busy_ppm.join(&other.system_gpu_busy_ppm);
        self.system_gpu_energy_uj = sum(self.system_gpu_energy_uj, other.system_gpu_energy_uj);
    }

    /// Column, kind and value: the one list for exports and JSON.
    pub(super) fn figures(&self) -> [(&'static str, CellKind, Cell<'static>); 13] {
        use CellKind::{Real, Text, Unsigned};
        let quality = if self.quality == Quality::Exact { "exact" } else { "sampled" };
        [
            ("quality", Text, Cell::Text(quality)),
            ("cpu_ns", Unsigned, self.cpu_ns.into()),
            ("read_storage_bytes", Unsigned, self.read_storage_bytes.into()),
            ("write_storage_bytes", Unsigned, self.write_storage_bytes.into()),
            ("read_chars_bytes", Unsigned, self.read_chars_bytes.into()),
            ("write_chars_bytes", Unsigned, self.write_chars_bytes.into()),
            ("peak_rss_bytes", Unsigned, self.peak_rss_bytes.into()),
            ("peak_gpu_memory_bytes", Unsigned, self.peak_gpu_memory_bytes.into()),
            ("gpu_busy_ppm_mean", Real, self.gpu_busy_ppm.mean().into()),
            ("gpu_busy_ppm_max", Unsigned, self.gpu_busy_ppm.max().into()),
            ("system_gpu_busy_ppm_mean", Real, self.system_gpu_busy_ppm.mean().into()),
            ("system_gpu_busy_ppm_max", Unsigned, self.system_gpu_busy_ppm.max().into()),
            ("system_gpu_energy_uj", Unsigned, self.system_gpu_energy_uj.into()),
        ]
    }
}

impl Serialize for Used {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let figures = self.figures();
        let mut map = serializer.serialize_map(Some(figures.len()))?;
        for (name, _, cell) in figures {
            match cell {
                Cell::Null => map.serialize_entry(name, &None::<u64>)?,
                Cell::Unsigned(value) => map.serialize_entry(name, &value)?,
                Cell::Signed(value) => map.serialize_entry(name, &value)?,
                Cell::Real(value) => map.serialize_entry(name, &value)?,
                Cell::Text(text) => map.serialize_entry(name, text)?,
            }
        }
        map.end()
    }
}
