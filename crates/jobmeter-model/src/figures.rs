//! The figures of a scope or a device, found by metric and statistic.

use crate::figure_id::figure_key;
use crate::metric::{Metric, Scope};
use crate::stat::Stat;
use crate::summary::Figure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Figures by key. Counters give `KEY` (total), `KEY_per_s_max`, `KEY_per_s_mean`; CPU time gives
/// `cores_used_max|mean` and `hardware_ratio_max|mean` instead of a rate; gauges give `KEY_max`, `KEY_mean`
/// (and `KEY_min` for what is available). See docs/metrics.md, generated from the metric table. Keys that this version
/// does not know, from a newer file, are kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Figures(BTreeMap<String, Figure>);

impl Figures {
    /// None yet.
    pub fn new() -> Figures {
        Figures::default()
    }

    /// The figure of the scope or device that these are of.
    pub fn get(&self, metric: Metric, stat: Stat) -> Option<&Figure> {
        self.of(Scope::System, metric, stat)
    }

    /// Among the figures of a device: that of a scope on it. `System` is the device itself.
    pub fn of(&self, scope: Scope, metric: Metric, stat: Stat) -> Option<&Figure> {
        self.0.get(figure_key(scope, metric, stat, true).as_ref())
    }

    /// See [`Figures::get`].
    pub fn get_mut(&mut self, metric: Metric, stat: Stat) -> Option<&mut Figure> {
        self.of_mut(Scope::System, metric, stat)
    }

    /// See [`Figures::of`].
    pub fn of_mut(&mut self, scope: Scope, metric: Metric, stat: Stat) -> Option<&mut Figure> {
        self.0.get_mut(figure_key(scope, metric, stat, true).as_ref())
    }

    /// The value, where it is known.
    pub fn value(&self, metric: Metric, stat: Stat) -> Option<f64> {
        self.get(metric, stat).and_then(Figure::as_f64)
    }

    /// The value as an integer, where it is known.
    pub fn whole(&self, metric: Metric, stat: Stat) -> Option<u64> {
        self.get(metric, stat).and_then(Figure::as_u64)
    }

    /// Adds or replaces a figure of the scope or device that these are of.
    pub fn set(&mut self, metric: Metric, stat: Stat, figure: Figure) {
        self.set_of(Scope::System, metric, stat, figure);
    }

    /// Among the figures of a device: adds or replaces that of a scope on it.
    pub fn set_of(&mut self, scope: Scope, metric: Metric, stat: Stat, figure: Figure) {
        self.0.insert(figure_key(scope, metric, stat, true).into_owned(), figure);
    }

    /// By a key that a user or a file gave; known or not.
    pub fn by_key(&self, key: &str) -> Option<&Figure> {
        self.0.get(key)
    }

    /// Adds or replaces a figure by a key that a user or a file gave.
    pub fn set_by_key(&mut self, key: &str, figure: Figure) {
        self.0.insert(key.to_owned(), figure);
    }

    /// Takes a figure out.
    pub fn remove(&mut self, metric: Metric, stat: Stat) -> Option<Figure> {
        self.0.remove(figure_key(Scope::System, metric, stat, true).as_ref())
    }

    /// Keys and figures, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Figure)> {
        self.0.iter().map(|(key, figure)| (key.as_str(), figure))
    }

    /// See [`Figures::iter`].
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Figure)> {
        self.0.iter_mut().map(|(key, figure)| (key.as_str(), figure))
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The figures, by key.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Figure> {
        self.0.values_mut()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds all of the others, which replace those of the same key.
    pub fn extend(&mut self, others: Figures) {
        self.0.extend(others.0);
    }
}

impl std::ops::Index<&str> for Figures {
    type Output = Figure;

    /// Panics where there is no such figure: for tests and examples.
    fn index(&self, key: &str) -> &Figure {
        &self.0[key]
    }
}

impl IntoIterator for Figures {
    type Item = (String, Figure);
    type IntoIter = std::collections::btree_map::IntoIter<String, Figure>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<(String, Figure)> for Figures {
    fn from_iter<I: IntoIterator<Item = (String, Figure)>>(figures: I) -> Figures {
        Figures(figures.into_iter().collect())
    }
}
