//! What the job used during a phase: differences of counters, highest levels, and the course of the GPUs.

use crate::metric::{Metric, Scope};
use crate::summary::Quality;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// The counters that are shared out to phases, and the columns of the tables of phases. Those of the machine come last.
pub(super) const COUNTERS: [(Scope, Metric, &str); 7] = [
    (Scope::Combined, Metric::CpuNs, "cpu_ns"),
    (Scope::Combined, Metric::ReadStorageBytes, "read_storage_bytes"),
    (Scope::Combined, Metric::WriteStorageBytes, "write_storage_bytes"),
    (Scope::Combined, Metric::ReadCharsBytes, "read_chars_bytes"),
    (Scope::Combined, Metric::WriteCharsBytes, "write_chars_bytes"),
    (Scope::Combined, Metric::RunQueueWaitNs, "run_queue_wait_ns"),
    (Scope::System, Metric::GpuEnergyUj, "system_gpu_energy_uj"),
];

/// What the counters showed, or grew by.
pub(super) type Totals = [Option<u64>; COUNTERS.len()];

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

    /// Weighted by time; `None` where no reading spoke for any time.
    pub fn mean(&self) -> Option<f64> {
        (self.weight_ns > 0).then_some(self.mean)
    }

    /// The largest of any tick.
    pub fn max(&self) -> Option<u64> {
        self.max
    }
}

/// What the job used during a phase. Unknown is `None`. Counters are those of the whole job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Used {
    /// Of the counters: exact where a tick was taken at both ends while nobody else ran, else sampled, because they are interpolated
    /// between the ticks around an end, or short of a clock tick for each core that was busy.
    pub quality: Quality,
    pub(super) totals: Totals,
    /// Largest value of a tick inside, boundaries included.
    pub peak_rss_bytes: Option<u64>,
    /// Largest value of a tick inside, over all GPUs.
    pub peak_gpu_memory_bytes: Option<u64>,
    /// Use of all GPUs together by the job.
    pub gpu_busy_ppm: Course,
    /// Use of all GPUs together by anyone.
    pub system_gpu_busy_ppm: Course,
}

/// One cell of a table of phases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum UsedValue {
    /// A word.
    Word(&'static str),
    /// A counter or a level; `None` where it is not known.
    Whole(Option<u64>),
    /// A mean; `None` where it is not known.
    Real(Option<f64>),
}

impl Used {
    /// Of a phase of which no tick has told anything yet.
    pub const NOTHING_KNOWN: Used = Used {
        quality: Quality::Exact,
        totals: [None; COUNTERS.len()],
        peak_rss_bytes: None,
        peak_gpu_memory_bytes: None,
        gpu_busy_ppm: Course { mean: 0.0, weight_ns: 0, max: None },
        system_gpu_busy_ppm: Course { mean: 0.0, weight_ns: 0, max: None },
    };

    /// By how much a counter grew. `None` where that is not known, or is not shared out to phases.
    pub fn total(&self, metric: Metric) -> Option<u64> {
        let place = COUNTERS.iter().position(|counter| counter.1 == metric)?;
        self.totals[place]
    }

    /// Of two calls together; a sum is unknown as soon as one part of it is.
    pub(super) fn join(&mut self, other: &Used) {
        if other.quality != Quality::Exact {
            self.quality = other.quality;
        }
        for (mine, theirs) in self.totals.iter_mut().zip(other.totals) {
            *mine = mine.zip(theirs).map(|(mine, theirs)| mine.saturating_add(theirs));
        }
        self.peak_rss_bytes = self.peak_rss_bytes.max(other.peak_rss_bytes);
        self.peak_gpu_memory_bytes = self.peak_gpu_memory_bytes.max(other.peak_gpu_memory_bytes);
        self.gpu_busy_ppm.join(&other.gpu_busy_ppm);
        self.system_gpu_busy_ppm.join(&other.system_gpu_busy_ppm);
    }

    /// Column and value: the one list for exports and JSON.
    pub fn cells(&self) -> Vec<(&'static str, UsedValue)> {
        use UsedValue::{Real, Whole, Word};
        let quality = if self.quality == Quality::Exact { "exact" } else { "sampled" };
        let mut cells = vec![("quality", Word(quality))];
        let counters = |scope: Scope| {
            let all = COUNTERS.iter().zip(self.totals);
            all.filter(move |(counter, _)| (counter.0 == Scope::System) == (scope == Scope::System))
                .map(|((.., name), total)| (*name, Whole(total)))
        };
        cells.extend(counters(Scope::Combined));
        // The largest of the ticks inside: more may have been held between them.
        let peak = if self.peak_rss_bytes.is_some() { "lower_bound" } else { "unavailable" };
        cells.extend([
            ("peak_quality", Word(peak)),
            ("peak_rss_bytes", Whole(self.peak_rss_bytes)),
            ("peak_gpu_memory_bytes", Whole(self.peak_gpu_memory_bytes)),
            ("gpu_busy_ppm_mean", Real(self.gpu_busy_ppm.mean())),
            ("gpu_busy_ppm_max", Whole(self.gpu_busy_ppm.max())),
            ("system_gpu_busy_ppm_mean", Real(self.system_gpu_busy_ppm.mean())),
            ("system_gpu_busy_ppm_max", Whole(self.system_gpu_busy_ppm.max())),
        ]);
        cells.extend(counters(Scope::System));
        cells
    }
}

impl Serialize for Used {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cells = self.cells();
        let mut map = serializer.serialize_map(Some(cells.len()))?;
        for (name, value) in cells {
            match value {
                UsedValue::Word(text) => map.serialize_entry(name, text)?,
                UsedValue::Whole(value) => map.serialize_entry(name, &value)?,
                UsedValue::Real(value) => map.serialize_entry(name, &value)?,
            }
        }
        map.end()
    }
}
