//! The one identity of a figure: whose it is, of which metric, which statistic, of which device. Keys of the JSON,
//! titles and units derive from it and are read back here and nowhere else.

use crate::metric::{Entity, EntityKind, Metric, Scope, TABLE};
use crate::stat::Stat;
use crate::unit::Unit;
use std::borrow::Cow;

/// Which figure it is.
///
/// ```
/// use jobmeter_model::{FigureId, Metric, Scope, Stat, Unit};
///
/// let peak = FigureId::of(Scope::Combined, Metric::RssBytes, Stat::Max);
/// assert_eq!(peak.key(), "rss_bytes_max");
/// assert_eq!((peak.title().as_str(), peak.unit()), ("RAM, peak", Unit::Bytes));
/// assert_eq!(FigureId::parse(Scope::Combined, None, "rss_bytes_max"), Some(peak));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FigureId {
    /// Whose figure it is.
    pub scope: Scope,
    /// What was measured.
    pub metric: Metric,
    /// What is said of it.
    pub stat: Stat,
    /// The device that it is about, where it is not about the scope as a whole.
    pub entity: Option<Entity>,
}

/// Figures with a name of their own: metric, statistic, key, title, unit.
type Named = (Metric, Stat, &'static str, &'static str, Unit);

const NAMED: [Named; 9] = [
    (Metric::CpuNs, Stat::RateMax, "cores_used_max", "Cores in use, peak", Unit::Cores),
    (Metric::CpuNs, Stat::RateMean, "cores_used_mean", "Cores in use, mean", Unit::Cores),
    (Metric::CpuNs, Stat::ShareMax, "hardware_ratio_max", "Share of the cores, peak", Unit::Ratio),
    (Metric::CpuNs, Stat::ShareMean, "hardware_ratio_mean", "Share of the cores, mean", Unit::Ratio),
    (Metric::CoreBusyNs, Stat::RateMax, "busy_ratio_max", "Core busy, peak share", Unit::Ratio),
    (Metric::CoreBusyNs, Stat::RateMean, "busy_ratio_mean", "Core busy, mean share", Unit::Ratio),
    (Metric::GpuBusyPpm, Stat::ShareMax, "gpu_hardware_ratio_max", "Share of the GPUs, peak", Unit::Ratio),
    (Metric::GpuBusyPpm, Stat::ShareMean, "gpu_hardware_ratio_mean", "Share of the GPUs, mean", Unit::Ratio),
    (Metric::Processes, Stat::Total, "processes_total", "Processes total", Unit::Count),
];

fn named(metric: Metric, stat: Stat) -> Option<&'static Named> {
    NAMED.iter().find(|row| (row.0, row.1) == (metric, stat))
}

impl Metric {
    /// The key of a statistic in the summary; `None` where no run yields it.
    pub fn key_of(self, stat: Stat) -> Option<&'static str> {
        let info = self.info();
        let is_derived = || info.places.derived.iter().any(|(_, derived)| *derived == stat);
        if !info.yields.stats.contains(&stat) && !is_derived() {
            return None;
        }
        match named(self, stat) {
            Some(row) => Some(row.2),
            None => info.keys.get(stat as usize).copied(),
        }
    }

    /// The statistic under which a figure stands that could not be measured at all.
    pub fn first_stat(self) -> Stat {
        self.info().yields.stats[0]
    }

    /// The metric and statistic of a key of the summary, without a scope before it.
    pub fn of_figure_key(key: &str) -> Option<(Metric, Stat)> {
        let all = TABLE.iter().flat_map(|row| Stat::ALL.map(|stat| (row.metric, stat)));
        all.into_iter().find(|(metric, stat)| metric.key_of(*stat) == Some(key))
    }
}

impl FigureId {
    /// A figure of a scope as a whole.
    pub fn of(scope: Scope, metric: Metric, stat: Stat) -> FigureId {
        FigureId { scope, metric, stat, entity: None }
    }

    /// Every figure that a run can have; devices are called by their kind.
    pub fn all() -> Vec<FigureId> {
        let mut all = Vec::new();
        for row in TABLE {
            let id = |scope, stat, entity| FigureId { scope, metric: row.metric, stat, entity };
            for scope in Scope::ALL {
                if row.is_of(scope) {
                    all.extend(row.yields.stats.iter().map(|stat| id(scope, *stat, None)));
                }
                let derived = row.places.derived.iter().filter(|(of, _)| *of == scope);
                all.extend(derived.map(|(scope, stat)| id(*scope, *stat, None)));
            }
            for (kind, scope) in row
                .places
                .device
                .iter()
                .flat_map(|(kind, scopes)| scopes.iter().map(move |scope| (kind, scope)))
            {
                let entity = || Some(Entity { kind: *kind, name: kind.key().to_owned() });
                all.extend(row.yields.stats.iter().map(|stat| id(*scope, *stat, entity())));
            }
        }
        all
    }

    /// The key among the figures of its scope or device. A device holds the figures of the device itself and, with the
    /// scope before them, those of the job on it. A statistic that the metric does not yield has an empty key.
    pub fn key(&self) -> Cow<'static, str> {
        figure_key(self.scope, self.metric, self.stat, self.entity.is_some())
    }

    /// From a key among the figures of a scope, or of a device, where the scope given does not matter. `None` for a key
    /// that this version does not know.
    pub fn parse(scope: Scope, entity: Option<&Entity>, key: &str) -> Option<FigureId> {
        let (scope, key) = match entity {
            None => (scope, key),
            Some(_) => split_scope(key),
        };
        let (metric, stat) = Metric::of_figure_key(key)?;
        Some(FigureId { scope, metric, stat, entity: entity.cloned() })
    }

    /// What people call it: `RAM, peak`, `Read (storage), mean rate`.
    pub fn title(&self) -> String {
        let title = match named(self.metric, self.stat) {
            Some(row) => row.3.to_owned(),
            None => format!("{}{}", self.metric.info().title, self.stat.words()),
        };
        match (&self.entity, self.scope) {
            (Some(entity), Scope::Main | Scope::Descendants | Scope::Combined)
                if entity.kind == EntityKind::Gpu =>
            {
                format!("{title} ({})", self.scope.title())
            }
            _ => title,
        }
    }

    /// In what it counts.
    pub fn unit(&self) -> Unit {
        match named(self.metric, self.stat) {
            Some(row) => row.4,
            None if self.stat.is_rate() => self.metric.info().unit.per_second(),
            None => self.metric.info().unit,
        }
    }

    /// Whether its key is not made of the metric's: `cores_used_max`.
    pub fn has_own_name(&self) -> bool {
        named(self.metric, self.stat).is_some()
    }
}

/// See [`FigureId::key`].
pub(crate) fn figure_key(scope: Scope, metric: Metric, stat: Stat, of_device: bool) -> Cow<'static, str> {
    let key = metric.key_of(stat);
    debug_assert!(key.is_some(), "no run yields {stat:?} of {metric:?}");
    match (key.unwrap_or_default(), scope) {
        (key, Scope::System) => Cow::Borrowed(key),
        (key, scope) if of_device => Cow::Owned(format!("{}_{key}", scope.key())),
        (key, _) => Cow::Borrowed(key),
    }
}

/// The scope before a key of a device, and the rest.
fn split_scope(key: &str) -> (Scope, &str) {
    let job = Scope::JOB.into_iter().find_map(|scope| {
        let rest = key.strip_prefix(scope.key())?.strip_prefix('_')?;
        Some((scope, rest))
    });
    job.unwrap_or((Scope::System, key))
}

/// Title and unit of a key, whether this version knows it or not: a newer file's key is its own title and ends in its
/// unit.
pub fn describe_key(scope: Scope, entity: Option<&Entity>, key: &str) -> (String, Unit) {
    match FigureId::parse(scope, entity, key) {
        Some(id) => (id.title(), id.unit()),
        None => (key.replace('_', " "), Unit::of_unknown_key(key)),
    }
}

#[cfg(test)]
mod tests;
