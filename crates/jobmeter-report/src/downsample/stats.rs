//! What a bucket remembers of one column.

use crate::data::Point;

#[derive(Clone, Copy)]
pub(super) struct Cell {
    min: f64,
    max: f64,
    /// Sum of value × time, and the time: the mean is weighted by how long each tick stood for.
    sum: f64,
    weight: f64,
}

impl Cell {
    pub(super) const EMPTY: Cell = Cell { min: f64::INFINITY, max: f64::NEG_INFINITY, sum: 0.0, weight: 0.0 };

    pub(super) fn add(&mut self, value: f64, weight_ns: u64) {
        let weight = weight_ns as f64;
        // Plain comparisons: values are never NaN, and this runs once per column and tick.
        self.min = if value < self.min { value } else { self.min };
        self.max = if value > self.max { value } else { self.max };
        self.sum += value * weight;
        self.weight += weight;
    }

    /// Stands in where no tick gave a value, with a weight that any real one outweighs.
    pub(super) fn fill(&mut self, value: f64) {
        if self.weight <= 0.0 {
            self.add(value, 1);
        }
    }

    pub(super) fn merge(&mut self, other: Cell) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.weight += other.weight;
    }

    /// Value times time, in value × nanoseconds.
    #[cfg(test)]
    pub(super) fn integral(&self) -> f64 {
        self.sum
    }

    pub(super) fn point(self) -> Option<Point> {
        if self.weight <= 0.0 {
            return None;
        }
        // Rounding in the sum may carry the mean a hair beyond its ticks.
        let mean = (self.sum / self.weight).clamp(self.min, self.max);
        Some(Point { mean, min: self.min, max: self.max })
    }
}
