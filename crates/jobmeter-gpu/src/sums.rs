//! The job's figures over all GPUs, graded by what is known of each GPU. A sum from which a device is missing is a lower
//! bound, and nothing at all where the rest is 0.

use jobmeter_model::Stat;
use jobmeter_model::accumulate::PARTLY_KNOWN as PARTLY;
use jobmeter_model::metric::{Metric, Scope};
use jobmeter_model::summary::{EntityFigures, Figure, Figures, Quality, Source, Summary};

const LEVELS: [Stat; 2] = [Stat::Max, Stat::Mean];
const SUMMED: [Metric; 3] = [Metric::GpuMemoryBytes, Metric::GpuBusyPpm, Metric::GpuMemoryBusyPpm];

/// By which the record's sources name what could not be had of a process.
fn failure_of(metric: Metric) -> &'static str {
    match metric {
        Metric::GpuMemoryBytes => "process_memory",
        Metric::GpuBusyPpm => "process_busy",
        _ => "process_memory_busy",
    }
}

/// A figure that was unknown for a time says since when; the record's sources know why.
fn add_causes(gpus: &mut [EntityFigures], sources: &[Source]) {
    for gpu in gpus {
        for (scope, metric) in Scope::JOB.iter().flat_map(|scope| SUMMED.map(|metric| (scope, metric))) {
            let begin = format!("{} of {}: ", failure_of(metric), gpu.name);
            let cause = sources.iter().find_map(|source| source.detail.strip_prefix(&begin));
            let Some(cause) = cause else { continue };
            for stat in LEVELS {
                let figure = gpu.figures.of_mut(*scope, metric, stat);
                let reason = figure.and_then(|figure| figure.reason.as_mut());
                if let Some(reason) = reason.filter(|reason| reason.starts_with(PARTLY)) {
                    *reason = format!("{reason}: {cause}");
                }
            }
        }
    }
}

const GUESSED: &str = "the driver gives the host's process numbers; the only process that it names on the GPU was \
    taken for the only one of the job that computes on GPUs";
const UNTOLD: &str = "whether the job used this GPU is not known";

/// Regrades maximum and mean of each job scope. Call it before anything is derived from them.
pub(crate) fn grade(summary: &mut Summary) {
    add_causes(&mut summary.gpus, &summary.sources);
    summary.gpus.iter_mut().for_each(raise_to_accounts);
    for gpu in
        summary.gpus.iter_mut().filter(|gpu| gpu.facts.get("used").is_some_and(|used| used == "unknown"))
    {
        for (scope, metric) in Scope::JOB.iter().flat_map(|scope| SUMMED.map(|metric| (scope, metric))) {
            for stat in LEVELS {
                let figure = gpu.figures.of_mut(*scope, metric, stat);
                regrade(figure.filter(|figure| figure.value.is_some()), UNTOLD);
            }
        }
    }
    let is_guessed =
        |gpu: &EntityFigures| gpu.facts.get("process_numbers").is_some_and(|how| how == "guessed");
    if summary.gpus.iter().any(is_guessed) {
        for gpu in summary.gpus.iter_mut().filter(|gpu| is_guessed(gpu)) {
            Scope::JOB.into_iter().for_each(|scope| estimate(&mut gpu.figures, scope));
        }
        for figures in [&mut summary.main, &mut summary.descendants, &mut summary.combined] {
            estimate(figures, Scope::System);
        }
    }
    let Summary { main, descendants, combined, gpus, .. } = summary;
    for (scope, figures) in
        [(Scope::Main, main), (Scope::Descendants, descendants), (Scope::Combined, combined)]
    {
        for metric in SUMMED {
            if let Some(doubt) = gpus.iter().find_map(|gpu| doubt(gpu, scope, metric)) {
                LEVELS.into_iter().for_each(|stat| regrade(figures.get_mut(metric, stat), &doubt));
            }
        }
    }
}

/// The driver's own peak of one process of the job, where samples have missed it: a lower bound of the job's.
fn raise_to_accounts(gpu: &mut EntityFigures) {
    let job = Scope::Combined;
    let accounted = gpu.figures.of(job, Metric::GpuAccountedPeakBytes, Stat::Total).and_then(Figure::as_u64);
    let Some(accounted) = accounted else { return };
    let known = gpu.figures.of(job, Metric::GpuMemoryBytes, Stat::Max).and_then(Figure::as_u64);
    if known.is_none_or(|known| known < accounted) {
        let reason = "NVML: accounting mode, the peak of one process; the samples saw less";
        let figure = Figure::int(accounted, Quality::LowerBound).because(reason);
        gpu.figures.set_of(job, Metric::GpuMemoryBytes, Stat::Max, figure);
    }
}

/// Figures that rest on a guess of whose process it was; of a scope on a device, or the sums of a scope.
fn estimate(figures: &mut Figures, scope: Scope) {
    for (metric, stat) in SUMMED.into_iter().flat_map(|metric| LEVELS.map(|stat| (metric, stat))) {
        let figure = figures.of_mut(scope, metric, stat);
        if let Some(figure) = figure.filter(|figure| figure.value.is_some()) {
            figure.quality = Quality::Estimate;
            figure.reason = Some(GUESSED.to_owned());
        }
    }
}

/// Why a device's part is not known, or not all of it. A MIG GPU is told by its instances.
fn doubt(gpu: &EntityFigures, scope: Scope, metric: Metric) -> Option<String> {
    let is = |fact: &str, value: &str| gpu.facts.get(fact).is_some_and(|known| known == value);
    if is("mig_enabled", "yes") || is("used", "no") {
        return None;
    }
    let figure = gpu.figures.of(scope, metric, Stat::Max)?;
    let reason = figure.reason.as_deref().unwrap_or("not known");
    match figure.quality {
        Quality::Unavailable => Some(format!("without {}: {reason}", gpu.name)),
        Quality::LowerBound => Some(format!("{}: {reason}", gpu.name)),
        _ => None,
    }
}

fn regrade(figure: Option<&mut Figure>, doubt: &str) {
    let Some(figure) = figure else { return };
    if figure.as_f64().is_some_and(|value| value > 0.0) {
        figure.quality = Quality::LowerBound;
        figure.reason = Some(doubt.to_owned());
    } else {
        *figure = Figure::unavailable(doubt);
    }
}
