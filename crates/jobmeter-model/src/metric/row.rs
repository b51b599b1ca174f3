//! What a row of the metric table says.

use super::{ChartLine, EntityKind, Kind, Metric, Scope};
use crate::stat::Stat;
use crate::unit::Unit;

/// One metric.
#[derive(Debug, Clone, Copy)]
pub struct MetricInfo {
    /// Which one it is.
    pub metric: Metric,
    /// Column and JSON key, the unit at its end.
    pub key: &'static str,
    /// How it grows.
    pub kind: Kind,
    /// In what its stored integers count.
    pub unit: Unit,
    /// Who has it.
    pub places: Places,
    /// What the summary says of it.
    pub yields: Yields,
    /// What people call it.
    pub title: &'static str,
    /// Where the number comes from and where it can mislead: one paragraph for the docs.
    pub source: &'static str,
    /// The charts that it is drawn in.
    pub lines: &'static [ChartLine],
    /// Keys of the summary, from [`Stat::Total`] to [`Stat::RateMean`], where no other name is given.
    pub(crate) keys: [&'static str; 6],
}

/// Who has a metric.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    /// Scopes with a column of it.
    pub scopes: &'static [Scope],
    /// The kind of device that has it, and whose part on the device is known.
    pub device: Option<(EntityKind, &'static [Scope])>,
    /// Figures of a scope that are made from others when the run ends; they have no column.
    pub derived: &'static [(Scope, Stat)],
}

/// Which statistics the summary gives where there is a column.
#[derive(Debug, Clone, Copy)]
pub struct Yields {
    /// The statistics.
    pub stats: &'static [Stat],
    /// How the growth of a counter reads.
    pub rate: Rate,
}

/// How the growth of a counter reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// Per second.
    PerSecond,
    /// As cores in use: nanoseconds in each nanosecond.
    Cores,
    /// As a share of the time.
    Share,
}

impl MetricInfo {
    /// Whether the scope as a whole has a column of it.
    pub fn is_of(&self, scope: Scope) -> bool {
        self.places.scopes.contains(&scope)
    }

    /// In what a series of it is drawn, and the factor from its stored integers (for counters: per second) to that.
    pub fn series(&self) -> (Unit, f64) {
        match (self.kind, self.unit, self.yields.rate) {
            (Kind::Counter, Unit::Nanos, Rate::Share) => (Unit::Ratio, 1e-9),
            (Kind::Counter, Unit::Nanos, _) => (Unit::Cores, 1e-9),
            (Kind::Counter, Unit::Microjoules, _) => (Unit::Watts, 1e-6),
            (Kind::Counter, unit, _) => (unit.per_second(), 1.0),
            (_, Unit::Ppm, _) => (Unit::Ratio, 1e-6),
            (_, Unit::Milli, _) => (Unit::Plain, 1e-3),
            (_, Unit::Milliwatts, _) => (Unit::Watts, 1e-3),
            (_, Unit::Millicelsius, _) => (Unit::Celsius, 1e-3),
            (_, Unit::Nanos, _) => (Unit::Plain, 1e-9),
            (_, Unit::Microjoules, _) => (Unit::Plain, 1e-6),
            (_, Unit::Bits, _) => (Unit::Plain, 1.0),
            (_, unit, _) => (unit, 1.0),
        }
    }
}

/// Who has a metric: the constants that the table speaks in.
pub(super) mod places {
    use super::{EntityKind, Places, Scope, Stat};

    const NONE: Places = Places { scopes: &[], device: None, derived: &[] };
    const SYSTEM: &[Scope] = &[Scope::System];

    pub(crate) const EVERYONE: Places = Places { scopes: &Scope::MEASURED, ..NONE };
    /// As `EVERYONE`, and what containers used.
    pub(crate) const USED: Places = Places { derived: &[(Scope::Containers, Stat::Total)], ..EVERYONE };
    pub(crate) const JOB: Places = Places { scopes: &Scope::JOB, ..NONE };
    /// Scopes of more than one process.
    pub(crate) const SEVERAL: Places = Places {
        scopes: &[Scope::Descendants, Scope::Combined],
        derived: &[(Scope::Containers, Stat::Max)],
        ..NONE
    };
    pub(crate) const MACHINE: Places = Places { scopes: SYSTEM, ..NONE };
    /// Living processes, and how many there were in all.
    pub(crate) const HEADS: Places =
        Places { derived: &[(Scope::Combined, Stat::Total), (Scope::Containers, Stat::Max)], ..EVERYONE };
    /// One figure of the job, made at the end.
    pub(crate) const AT_END: Places = Places { derived: &[(Scope::Combined, Stat::Total)], ..NONE };
    /// As `AT_END`, and of the containers' own groups.
    pub(crate) const GROUP_AT_END: Places =
        Places { derived: &[(Scope::Combined, Stat::Total), (Scope::Containers, Stat::Total)], ..NONE };
    pub(crate) const CORE: Places = Places { device: Some((EntityKind::Core, SYSTEM)), ..NONE };
    pub(crate) const DISK: Places = Places { device: Some((EntityKind::Disk, SYSTEM)), ..MACHINE };
    pub(crate) const MOUNT: Places = Places { device: Some((EntityKind::Mount, SYSTEM)), ..NONE };
    pub(crate) const NETWORK: Places = Places { device: Some((EntityKind::Network, SYSTEM)), ..MACHINE };
    /// Of each GPU alone.
    pub(crate) const GPU: Places = Places { device: Some((EntityKind::Gpu, SYSTEM)), ..NONE };
    /// Of the job on each GPU alone.
    pub(crate) const GPU_OF_JOB: Places =
        Places { device: Some((EntityKind::Gpu, &[Scope::Combined])), ..NONE };
    /// Of each GPU, and their sum.
    pub(crate) const GPU_SUM: Places = Places { scopes: SYSTEM, ..GPU };
    /// The job's part is the energy of the GPUs that it used.
    pub(crate) const GPU_ENERGY: Places = Places { derived: &[(Scope::Combined, Stat::Total)], ..GPU_SUM };
    /// Of each GPU and of the job on it, and both sums.
    pub(crate) const GPU_SHARED: Places =
        Places { scopes: &Scope::MEASURED, device: Some((EntityKind::Gpu, &Scope::MEASURED)), derived: &[] };
    /// As `GPU_SHARED`, without the sum over the machine.
    pub(crate) const GPU_JOB: Places = Places { scopes: &Scope::JOB, ..GPU_SHARED };
    /// The machine's counter; the job's part is an estimate.
    pub(crate) const ENERGY: Places = Places { derived: &[(Scope::Combined, Stat::Total)], ..MACHINE };
    /// As `GPU_SHARED`, and the sums as a share of the expected GPUs.
    pub(crate) const GPU_BUSY: Places = Places {
        derived: &[
            (Scope::Main, Stat::ShareMax),
            (Scope::Main, Stat::ShareMean),
            (Scope::Descendants, Stat::ShareMax),
            (Scope::Descendants, Stat::ShareMean),
            (Scope::Combined, Stat::ShareMax),
            (Scope::Combined, Stat::ShareMean),
            (Scope::System, Stat::ShareMax),
            (Scope::System, Stat::ShareMean),
        ],
        ..GPU_SHARED
    };
}

/// What the summary says of a metric: the constants that the table speaks in.
pub(super) mod yields {
    use super::{Rate, Stat, Yields};
    use Stat::{Max, Mean, Min, RateMax, RateMean, ShareMax, ShareMean, Total};

    const fn of(stats: &'static [Stat], rate: Rate) -> Yields {
        Yields { stats, rate }
    }

    /// A counter whose growth reads per second.
    pub(crate) const COUNTED: Yields = of(&[Total, RateMax, RateMean], Rate::PerSecond);
    /// A part of CPU time.
    pub(crate) const CPU: Yields = of(&[Total, RateMax, RateMean], Rate::Cores);
    /// CPU time, also as a share of the cores.
    pub(crate) const CORES: Yields = of(&[Total, RateMax, RateMean, ShareMax, ShareMean], Rate::Cores);
    /// Time that a core was busy, or that tasks waited.
    pub(crate) const SHARE: Yields = of(&[Total, RateMax, RateMean], Rate::Share);
    /// A level.
    pub(crate) const LEVEL: Yields = of(&[Max, Mean], Rate::PerSecond);
    /// A level of which the lowest matters.
    pub(crate) const RUNS_OUT: Yields = of(&[Max, Mean, Min], Rate::PerSecond);
    /// A set of bits: the highest is their union, and a mean says nothing.
    pub(crate) const SET: Yields = of(&[Max], Rate::PerSecond);
    /// One figure, made at the end.
    pub(crate) const ONCE: Yields = of(&[Total], Rate::PerSecond);
}
