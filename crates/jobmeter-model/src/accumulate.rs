//! From ticks to figures. The accumulator takes the stream of a run, live or replayed from a file, and keeps a
//! few numbers per column, so that a million ticks weigh as much as one.

use crate::event::{Event, Sink};
use crate::figure_id::FigureId;
use crate::grade::derived;
use crate::metric::{Column, EntityKind, Kind, Metric, Scope, Unit};
use crate::stat::Stat;
use crate::summary::{EntityFigures, Figure, Figures, Quality, Warning};
use std::collections::{BTreeMap, HashMap};

/// Rates are taken over at least this long: the kernel's 10 ms ticks would make shorter ones jump.
pub const RATE_WINDOW_NS: u64 = 100_000_000;

/// Begins the reason of a figure that was unknown at some ticks.
pub const PARTLY_KNOWN: &str = "not known for";

/// The reason of a figure that had no value at any tick.
pub const NEVER_READ: &str = "no tick could read it";

/// Key of the note by which a thinned record says the highest rates so far, as a list of
/// `[column, growth, nanoseconds]`. From the first such note on, rates are taken from the notes and not from the rows,
/// some of which are missing.
pub const RATE_PEAKS_NOTE: &str = "rate_peaks";

/// How much a counter grew in which time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// By how much.
    pub by: u64,
    /// In which time.
    pub span_ns: u64,
}

impl Growth {
    fn per_s(self) -> f64 {
        self.by as f64 * 1e9 / self.span_ns as f64
    }
}

/// The highest rate of one column, over windows of at least [`RATE_WINDOW_NS`].
#[derive(Debug, Clone, Copy, Default)]
pub struct RatePeak {
    window: Option<(u64, u64)>,
    /// The steepest growth so far.
    pub peak: Option<Growth>,
}

impl RatePeak {
    /// Takes a reading; returns whether it ends a window with a higher rate than all before.
    pub fn see(&mut self, t_ns: u64, value: u64) -> bool {
        let Some((began_ns, began)) = self.window else {
            self.window = Some((t_ns, value));
            return false;
        };
        let span_ns = t_ns.saturating_sub(began_ns);
        if span_ns < RATE_WINDOW_NS {
            return false;
        }
        self.window = Some((t_ns, value));
        let growth = Growth { by: value.saturating_sub(began), span_ns };
        let is_higher = self.peak.is_none_or(|peak| growth.per_s() > peak.per_s());
        if is_higher {
            self.peak = Some(growth);
        }
        is_higher
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Stats {
    last: Option<u64>,
    max: u64,
    min: u64,
    /// Every bit that was set at some tick.
    bits: u64,
    /// Σ value × time since the tick before, for the mean of a gauge.
    weighted: f64,
    weight_ns: u64,
    rate: RatePeak,
    samples: u64,
    /// Time of ticks without a value; the first tick of a column has no time before it.
    unknown_ns: u64,
    is_begun: bool,
    settled: bool,
}

impl Stats {
    fn take(&mut self, step_ns: u64, value: u64) {
        if self.samples == 0 {
            (self.max, self.min) = (value, value);
        } else {
            self.max = self.max.max(value);
            self.min = self.min.min(value);
            self.weighted += value as f64 * step_ns as f64;
            self.weight_ns = self.weight_ns.saturating_add(step_ns);
        }
        self.samples += 1;
        self.bits |= value;
        self.last = Some(value);
    }

    fn miss(&mut self, step_ns: u64) {
        if self.is_begun {
            self.unknown_ns = self.unknown_ns.saturating_add(step_ns);
        }
    }

    fn mean(&self) -> Option<f64> {
        match (self.weight_ns, self.last) {
            (0, last) => last.map(|value| value as f64),
            (weight_ns, _) => Some(self.weighted / weight_ns as f64),
        }
    }
}

/// Keeps the sums; implements [`Sink`].
#[derive(Default)]
pub struct Accumulator {
    columns: Vec<Column>,
    stats: Vec<Stats>,
    /// Ticks taken in.
    pub ticks: u64,
    /// Time of the last tick or settlement.
    pub last_t_ns: u64,
    /// Processes whose start was told.
    pub processes_seen: u64,
    /// The record is thinned: notes say the highest rates.
    rates_are_given: bool,
    /// Warnings told so far.
    pub warnings: Vec<Warning>,
}

impl Sink for Accumulator {
    fn define(&mut self, column: &Column) {
        self.columns.push(column.clone());
        self.stats.push(Stats::default());
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::ProcessStart { .. } => self.processes_seen += 1,
            Event::Warning { kind, text, .. } => {
                self.warnings.push(Warning { kind: kind.clone(), text: text.clone() });
            }
            Event::Settle { t_ns, values } => {
                self.last_t_ns = self.last_t_ns.max(*t_ns);
                for (index, value) in values {
                    if let Some(stats) = self.stats.get_mut(*index as usize) {
                        stats.settled = true;
                        stats.last = Some(*value);
                    }
                }
            }
            Event::Note { key, value, .. } if key == RATE_PEAKS_NOTE => self.take_rates(value),
            _ => {}
        }
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        let step_ns = t_ns.saturating_sub(self.last_t_ns);
        self.last_t_ns = t_ns.max(self.last_t_ns);
        self.ticks += 1;
        for (stats, value) in self.stats.iter_mut().zip(values) {
            match value {
                None => stats.miss(step_ns),
                Some(value) => {
                    stats.take(step_ns, *value);
                    if !self.rates_are_given {
                        stats.rate.see(t_ns, *value);
                    }
                }
            }
            stats.is_begun = true;
        }
    }
}

/// All figures of a run by scope and entity.
#[derive(Debug, Default)]
pub struct AllFigures {
    /// Of each scope as a whole.
    pub scopes: BTreeMap<Scope, Figures>,
    /// Of each device.
    pub entities: BTreeMap<EntityKind, Vec<EntityFigures>>,
}

/// What the figures are divided by.
#[derive(Debug, Clone, Copy)]
pub struct Divisors {
    /// Cores that the job may use.
    pub expected_cores: f64,
    /// Cores of the machine.
    pub system_cores: u32,
    /// How long the run took.
    pub wall_ns: u64,
}

impl Accumulator {
    /// What makes no sense in a note is passed over: the file may come from anybody.
    fn take_rates(&mut self, list: &serde_json::Value) {
        self.rates_are_given = true;
        for entry in list.as_array().into_iter().flatten() {
            let number = |place: usize| entry.get(place).and_then(serde_json::Value::as_u64);
            let (Some(index), Some(by), Some(span_ns)) = (number(0), number(1), number(2)) else { continue };
            if let Some(stats) = self.stats.get_mut(index as usize)
                && span_ns >= RATE_WINDOW_NS
            {
                stats.rate.peak = Some(Growth { by, span_ns });
            }
        }
    }

    /// All figures, as of the last tick.
    pub fn figures(&self, by: Divisors) -> AllFigures {
        let mut all = AllFigures::default();
        // Where each device stands in its list.
        let mut places: HashMap<(EntityKind, &str), usize> = HashMap::new();
        for scope in Scope::ALL {
            all.scopes.insert(scope, Figures::new());
        }
        for (column, stats) in self.columns.iter().zip(&self.stats) {
            let figures = match &column.entity {
                None => all.scopes.entry(column.scope).or_default(),
                Some(entity) => {
                    let list = all.entities.entry(entity.kind).or_default();
                    let index = *places.entry((entity.kind, &entity.name)).or_insert_with(|| {
                        list.push(EntityFigures {
                            name: entity.name.clone(),
                            figures: Figures::new(),
                            facts: BTreeMap::new(),
                        });
                        list.len() - 1
                    });
                    &mut list[index].figures
                }
            };
            // A GPU's row holds the device's figures and, under their scope, the job's on that device.
            let scope = if column.entity.is_some() { column.scope } else { Scope::System };
            add_figures(&mut Place { figures, scope }, column, stats, by);
        }
        if let Some(combined) = all.scopes.get_mut(&Scope::Combined) {
            let at_once = combined.whole(Metric::Processes, Stat::Max).unwrap_or_default();
            combined.set(
                Metric::Processes,
                Stat::Total,
                Figure::int(self.processes_seen.max(at_once), Quality::LowerBound)
                    .because("processes that lived between two ticks may be missing"),
            );
        }
        all
    }
}

/// The highest rate that the hardware allows, per second. The kernel counts in ticks of 10 ms, so that a window may seem
/// to hold more than there was time for.
pub fn most_per_s(metric: Metric, system_cores: u32) -> Option<f64> {
    match metric {
        Metric::CpuNs
        | Metric::CpuUserNs
        | Metric::CpuSystemNs
        | Metric::CpuIowaitNs
        | Metric::CpuStealNs => (system_cores > 0).then(|| f64::from(system_cores) * 1e9),
        Metric::CoreBusyNs
        | Metric::PsiCpuSomeNs
        | Metric::PsiMemorySomeNs
        | Metric::PsiMemoryFullNs
        | Metric::PsiIoSomeNs
        | Metric::PsiIoFullNs => Some(1e9),
        _ => None,
    }
}

/// The machine's counters began long before the run: one reading alone says nothing.
fn counts_from_first_reading(column: &Column) -> bool {
    let is_gpu = column.entity.as_ref().is_some_and(|entity| entity.kind == EntityKind::Gpu);
    column.scope == Scope::System && column.metric.info().kind == Kind::Counter && !is_gpu
}

const BY_TICKS: &str =
    "counted by the kernel's clock ticks, each of which is given in full to what runs at that moment";

/// The CPU time of the machine and of its cores is a sample of what ran at clock ticks. That of processes is measured.
fn is_counted_by_ticks(column: &Column) -> bool {
    use Metric::{CoreBusyNs, CpuIowaitNs, CpuNs, CpuSystemNs, CpuUserNs};
    let of_cpus = [CpuNs, CpuUserNs, CpuSystemNs, CpuIowaitNs, CoreBusyNs];
    column.scope == Scope::System && of_cpus.contains(&column.metric)
}

/// What a job has on a GPU can be 0 before its first use and unknown from then on.
fn is_of_job_on_gpu(column: &Column) -> bool {
    let is_gpu =
        matches!(column.metric, Metric::GpuMemoryBytes | Metric::GpuBusyPpm | Metric::GpuMemoryBusyPpm);
    is_gpu && column.scope != Scope::System
}

/// Where the figures of a column go: among those of its scope or device.
struct Place<'a> {
    figures: &'a mut Figures,
    /// The scope on a device; `System` where the figures are those of the scope itself.
    scope: Scope,
}

impl Place<'_> {
    fn set(&mut self, metric: Metric, stat: Stat, figure: Figure) {
        self.figures.set_of(self.scope, metric, stat, figure);
    }
}

/// Maximum and mean of a gauge that was unknown at some ticks: lower bounds, and nothing where the rest is 0.
fn add_partly_known(place: &mut Place<'_>, metric: Metric, stats: &Stats) {
    let reason = format!("{PARTLY_KNOWN} {:.1} s of the run", stats.unknown_ns as f64 / 1e9);
    if stats.max == 0 {
        place.set(metric, Stat::Max, Figure::unavailable(&reason));
        place.set(metric, Stat::Mean, Figure::unavailable(reason));
        return;
    }
    let time_ns = stats.weight_ns.saturating_add(stats.unknown_ns);
    let mean = stats.weighted / time_ns as f64;
    let bound = |figure: Figure| figure.because(&reason);
    place.set(metric, Stat::Max, bound(Figure::int(stats.max, Quality::LowerBound)));
    place.set(metric, Stat::Mean, bound(Figure::float(mean, Quality::LowerBound)));
}

fn add_figures(place: &mut Place<'_>, column: &Column, stats: &Stats, by: Divisors) {
    let metric = column.metric;
    let info = metric.info();
    let known = match stats.last {
        None => Err(NEVER_READ),
        Some(_) if stats.samples == 1 && counts_from_first_reading(column) => {
            Err("the run was too short to read it twice")
        }
        Some(last) => Ok(last),
    };
    let last = match known {
        Ok(last) => last,
        Err(reason) => return place.set(metric, metric.first_stat(), Figure::unavailable(reason)),
    };
    match info.kind {
        Kind::Gauge if stats.unknown_ns > 0 && is_of_job_on_gpu(column) => {
            add_partly_known(place, metric, stats);
        }
        // Neither the largest nor the mean of sets of bits means anything; their union does.
        Kind::Gauge if info.unit == Unit::Bits => {
            place.set(metric, Stat::Max, Figure::int(stats.bits, Quality::Sampled));
        }
        Kind::Gauge => {
            place.set(metric, Stat::Max, Figure::int(stats.max, Quality::Sampled));
            if let Some(mean) = stats.mean() {
                place.set(metric, Stat::Mean, Figure::float(mean, Quality::Sampled));
            }
            if info.yields.stats.contains(&Stat::Min) {
                place.set(metric, Stat::Min, Figure::int(stats.min, Quality::Sampled));
            }
        }
        // No run has such a column; a file of a newer version may.
        Kind::Once => place.set(metric, Stat::Total, Figure::int(last, Quality::Sampled)),
        Kind::Counter => add_counter(place, column, stats, last, by),
    }
}

/// The total of a counter, its rate, and the share of the hardware that the rate is.
fn add_counter(place: &mut Place<'_>, column: &Column, stats: &Stats, last: u64, by: Divisors) {
    let metric = column.metric;
    let yields = metric.info().yields;
    let (quality, reason) = match column.scope {
        Scope::System if is_counted_by_ticks(column) => (Quality::Estimate, Some(BY_TICKS)),
        Scope::System => (Quality::Exact, None),
        _ if stats.settled => (Quality::Exact, None),
        _ => (Quality::LowerBound, None),
    };
    let mut set = |stat, figure: Figure| {
        place.set(metric, stat, Figure { reason: reason.map(str::to_owned), ..figure });
    };
    set(Stat::Total, Figure::int(last, quality));
    let mean_per_s = (by.wall_ns > 0).then(|| last as f64 * 1e9 / by.wall_ns as f64);
    let max_per_s = match (stats.rate.peak.map(Growth::per_s), mean_per_s) {
        (Some(max), Some(mean)) => Some(max.max(mean)),
        (max, mean) => max.or(mean),
    };
    let (Some(mean_per_s), Some(max_per_s)) = (mean_per_s, max_per_s) else { return };
    let most_per_s = most_per_s(metric, by.system_cores).unwrap_or(f64::INFINITY);
    let (mean_per_s, max_per_s) = (mean_per_s.min(most_per_s), max_per_s.min(most_per_s));
    let max_quality = derived(Quality::Sampled, quality);
    let id = FigureId::of(column.scope, metric, Stat::RateMax);
    // A rate that reads as cores or as a share of time under a name of its own is stored so.
    let one = if id.has_own_name() { 1e9 } else { 1.0 };
    set(Stat::RateMax, Figure::float(max_per_s / one, max_quality));
    set(Stat::RateMean, Figure::float(mean_per_s / one, quality));
    if yields.stats.contains(&Stat::ShareMax) {
        let cores = match column.scope {
            Scope::System => f64::from(by.system_cores),
            _ => by.expected_cores,
        };
        set(Stat::ShareMax, Figure::float(max_per_s / 1e9 / cores, max_quality));
        set(Stat::ShareMean, Figure::float(mean_per_s / 1e9 / cores, quality));
    }
}

#[cfg(test)]
mod tests;
