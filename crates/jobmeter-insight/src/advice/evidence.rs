//! What one run says about its needs, read from its summary. Missing stays missing, with its reason.

use jobmeter_model::summary::EntityFigures;
use jobmeter_model::units::parse_bytes;
use jobmeter_model::{Figure, Figures, Metric, Quality, Scope, Stat, Summary, VerdictKind};

/// How a run ended, as far as its needs are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Complete,
    /// Killed for want of memory: it needed more than its peak.
    OutOfMemory,
    /// Ran into a time limit: it needed more than its time.
    OutOfTime,
    /// Failed, was killed or was not seen to its end: its needs may be those of half a run.
    Broken,
}

/// What one run says about what the next one needs. `None` is unknown.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// How the run ended.
    pub ending: Ending,
    /// Cores in use, mean over the run.
    pub cores_mean: Option<f64>,
    /// Cores in use, the most over any short window.
    pub cores_max: Option<f64>,
    /// Cores in use weighted by CPU time: those that it used when it was busy.
    pub cores_busy: Option<f64>,
    /// The peak as sampled, and its upper bound.
    pub memory_sampled: Option<f64>,
    /// The most memory that the job held, bytes.
    pub memory_peak: Option<f64>,
    /// The part of it that no process maps.
    pub memory_unmapped: f64,
    /// How the upper bound was reached.
    pub memory_source: Option<String>,
    /// Why the peak of memory is not known, or not certain.
    pub memory_reason: Option<String>,
    /// GPUs in use, mean over the run: 1.0 is one busy all the time.
    pub gpus_mean: Option<f64>,
    /// GPUs in use, the most at any sample.
    pub gpus_max: Option<f64>,
    /// Devices on which the job held memory or ran.
    pub gpus_touched: Option<f64>,
    /// The most on one device.
    pub vram_peak: Option<f64>,
    /// That is of all cards together.
    pub vram_is_sum: bool,
    /// How the run ended, where it did not end well.
    pub trouble: Option<String>,
    /// Why the use of GPUs is not known.
    pub gpu_reason: Option<String>,
    /// Wall time, seconds.
    pub wall_s: Option<f64>,
    /// The most that the job can have held on disk at once.
    pub disk_bytes: Option<f64>,
    /// Size of the input by the tag that names it.
    pub input_bytes: Option<f64>,
}

impl Run {
    /// Reads the evidence off a summary; `input_tag` names the tag with the input's size.
    pub fn of(summary: &Summary, input_tag: &str) -> Run {
        let job = &summary.combined;
        let memory = job.get(Metric::RssBytes, Stat::Max);
        let busy = |stat| {
            let sum = number(job.get(Metric::GpuBusyPpm, stat));
            sum.or_else(|| over_devices(summary, Metric::GpuBusyPpm, stat)).map(|ppm| ppm / 1e6)
        };
        let vram = job.get(Metric::GpuMemoryBytes, Stat::Max);
        let vram_of_one = on_one_device(summary, Metric::GpuMemoryBytes);
        Run {
            ending: ending(summary),
            cores_mean: number(job.get(Metric::CpuNs, Stat::RateMean)),
            cores_max: number(job.get(Metric::CpuNs, Stat::RateMax)),
            cores_busy: number(job.get(Metric::CoresWhenBusy, Stat::Total)),
            memory_sampled: number(memory),
            memory_peak: memory.and_then(upper).map(|bytes| bytes + unmapped(job)),
            memory_unmapped: unmapped(job),
            memory_source: memory.filter(|figure| figure.upper.is_some()).and_then(|f| f.reason.clone()),
            memory_reason: memory.and_then(reason),
            gpus_mean: busy(Stat::Mean),
            gpus_max: busy(Stat::Max),
            gpus_touched: touched(summary),
            vram_peak: vram_of_one.or_else(|| vram.and_then(upper)),
            vram_is_sum: vram_of_one.is_none(),
            trouble: trouble(summary),
            gpu_reason: vram.and_then(reason),
            wall_s: summary.run.wall_ns.map(|ns| ns as f64 / 1e9),
            disk_bytes: scratch(summary),
            input_bytes: summary
                .run
                .tags
                .get(input_tag)
                .and_then(|text| parse_bytes(text).ok())
                .map(|b| b as f64),
        }
    }

    pub(super) fn used_gpu(&self) -> bool {
        self.gpus_mean.is_some_and(|g| g > 0.0) || self.vram_peak.is_some_and(|v| v > 0.0)
    }
}

fn ending(summary: &Summary) -> Ending {
    match summary.verdict.kind {
        VerdictKind::Exited if summary.verdict.exit_code.unwrap_or(0) == 0 => Ending::Complete,
        VerdictKind::OomKilled => Ending::OutOfMemory,
        VerdictKind::Timeout => Ending::OutOfTime,
        _ => Ending::Broken,
    }
}

fn number(figure: Option<&Figure>) -> Option<f64> {
    figure?.as_f64().filter(|value| value.is_finite() && *value >= 0.0)
}

/// The upper bound where there is one: a sampled peak can be too low, and being too low is what kills jobs.
fn upper(figure: &Figure) -> Option<f64> {
    let bound = figure.upper.map(|bound| bound.as_f64());
    match number(Some(figure)) {
        Some(value) => Some(bound.map_or(value, |bound| bound.max(value))),
        // It ended before it could be read, and still cannot have had more than this.
        None => bound,
    }
}

/// What a limit counts besides resident memory: files in tmpfs, memfd and the like, at most.
fn unmapped(job: &Figures) -> f64 {
    job.get(Metric::UnmappedMemoryPeakBytes, Stat::Total).and_then(upper).unwrap_or(0.0)
}

/// What is doubtful about a figure; one that is bounded from both sides is not.
fn reason(figure: &Figure) -> Option<String> {
    match figure.quality {
        Quality::Exact => None,
        _ if figure.upper.is_some() => None,
        _ => figure.reason.clone(),
    }
}

/// The job's figure on the device where it was largest.
fn on_one_device(summary: &Summary, metric: Metric) -> Option<f64> {
    let figures = summary.gpus.iter().map(|gpu| gpu.figures.of(Scope::Combined, metric, Stat::Max));
    let values = figures.filter_map(|figure| figure.and_then(upper));
    values.max_by(f64::total_cmp)
}

/// In one clause, how a run ended that did not end well.
fn trouble(summary: &Summary) -> Option<String> {
    let verdict = &summary.verdict;
    match ending(summary) {
        Ending::Complete => None,
        Ending::OutOfMemory => Some("was killed for want of memory".to_owned()),
        Ending::OutOfTime => Some("was stopped by a time limit".to_owned()),
        Ending::Broken => Some(match (verdict.exit_code, verdict.signal) {
            (Some(code), _) if code != 0 => format!("failed with exit code {code}"),
            (_, Some(signal)) => format!("was killed by signal {signal}"),
            _ => "was not seen to its end".to_owned(),
        }),
    }
}

/// The job's figure summed over the devices, where the scope as a whole has none.
fn over_devices(summary: &Summary, metric: Metric, stat: Stat) -> Option<f64> {
    let of = |gpu: &EntityFigures| number(gpu.figures.of(Scope::Combined, metric, stat));
    let values: Vec<f64> = summary.gpus.iter().filter_map(of).collect();
    (!values.is_empty()).then(|| values.iter().sum())
}

fn touched(summary: &Summary) -> Option<f64> {
    let of = |gpu: &EntityFigures| {
        let peaks = [Metric::GpuMemoryBytes, Metric::GpuBusyPpm]
            .map(|metric| number(gpu.figures.of(Scope::Combined, metric, Stat::Max)));
        let values: Vec<f64> = peaks.into_iter().flatten().collect();
        (!values.is_empty()).then(|| values.iter().any(|v| *v > 0.0))
    };
    let known: Vec<bool> = summary.gpus.iter().filter_map(of).collect();
    (!known.is_empty()).then(|| known.iter().filter(|used| **used).count() as f64)
}

/// Mounts are read every ten seconds: what came and went between two readings of a shorter run was never seen.
const SHORTEST_TO_SEE_GROWTH_NS: u64 = 100_000_000_000;

/// How much the job can have held on disk at once: never more than it wrote, and no more than the free
/// space of the local mounts shrank while it ran, where it took long enough for its lowest and highest to tell.
fn scratch(summary: &Summary) -> Option<f64> {
    let total = |metric| number(summary.combined.get(metric, Stat::Total));
    let written = total(Metric::WriteCharsBytes).or_else(|| total(Metric::WriteStorageBytes));
    let growth: Option<f64> = summary.mounts.iter().map(|mount| shrunk_by(&mount.figures)).sum();
    let was_long = summary.run.wall_ns.is_some_and(|wall| wall >= SHORTEST_TO_SEE_GROWTH_NS);
    match (written, growth.filter(|_| was_long && !summary.mounts.is_empty())) {
        (Some(written), Some(growth)) => Some(written.min(growth.max(0.0))),
        (written, _) => written,
    }
}

/// By how much the free space of a mount varied.
fn shrunk_by(mount: &Figures) -> Option<f64> {
    let free = |stat| number(mount.get(Metric::MountFreeBytes, stat));
    Some(free(Stat::Max)? - free(Stat::Min)?)
}
