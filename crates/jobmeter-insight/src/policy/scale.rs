//! Need as a function of the input size: a straight line or a power law, whichever predicts left-out runs better.
//! Errors are relative (on the logarithm), because a job twice the size errs by twice the bytes.

use super::risk::{empirical_bound, margin};
use serde::Serialize;

/// A curve needs at least this many different sizes.
pub const FEWEST_SIZES: usize = 3;

/// How a need grows with the input.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "curve")]
pub enum Curve {
    /// `base + slope · input`
    Line {
        /// The need without any input.
        base: f64,
        /// The need for each unit of input.
        slope: f64,
    },
    /// `factor · input ^ exponent`
    Power {
        /// The need for an input of 1.
        factor: f64,
        /// How it grows.
        exponent: f64,
    },
}

type Fitter = fn(&[(f64, f64)]) -> Option<Curve>;

/// A curve fitted to runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// The curve.
    pub curve: Curve,
    /// Runs that it was fitted to.
    pub runs: usize,
    /// Share of the logarithm's variance that the curve explains.
    pub r_squared: f64,
    /// Typical relative error when a run is predicted from the others: 0.1 is 10 %.
    pub prediction_error: f64,
    /// Of the runs that it was fitted to.
    pub smallest_input: f64,
    /// Of the runs that it was fitted to.
    pub largest_input: f64,
    #[serde(skip)]
    squares: f64,
    #[serde(skip)]
    points: Vec<(f64, f64)>,
}

/// Fits (input, need) pairs. `None` with too few different sizes.
pub fn fit(points: &[(f64, f64)]) -> Option<Fit> {
    let points: Vec<(f64, f64)> = points
        .iter()
        .copied()
        .filter(|(x, y)| x.is_finite() && y.is_finite() && *x > 0.0 && *y > 0.0)
        .collect();
    let mut sizes: Vec<f64> = points.iter().map(|p| p.0).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    if sizes.len() < FEWEST_SIZES || points.len() < FEWEST_SIZES + 1 {
        return None;
    }
    let fitters: [Fitter; 2] = [line, power];
    let (curve, error) = fitters
        .iter()
        .filter_map(|fitter| Some((fitter(&points)?, left_out_error(&points, *fitter)?)))
        .min_by(|a, b| a.1.total_cmp(&b.1))?;
    let residual_squares: f64 = points.iter().map(|p| residual(curve, *p).powi(2)).sum();
    let mean = points.iter().map(|p| p.1.ln()).sum::<f64>() / points.len() as f64;
    let total: f64 = points.iter().map(|p| (p.1.ln() - mean).powi(2)).sum();
    Some(Fit {
        curve,
        runs: points.len(),
        r_squared: if total > 0.0 { (1.0 - residual_squares / total).max(0.0) } else { 1.0 },
        prediction_error: error.exp_m1(),
        smallest_input: sizes[0],
        largest_input: sizes[sizes.len() - 1],
        // A curve that was chosen and fitted follows its own points too closely; left-out points are the honest judge.
        squares: residual_squares.max(error.powi(2) * (points.len() - 2) as f64),
        points,
    })
}

impl Fit {
    /// What the curve says for an input of this size.
    pub fn predict(&self, input: f64) -> f64 {
        value(self.curve, input)
    }

    /// The bound for the next run of this input size.
    pub fn upper_bound(&self, input: f64, chance: f64) -> f64 {
        let freedom = (self.points.len() - 2) as f64;
        let curve = margin(self.squares, freedom, self.leverage(input), chance);
        let residuals = self.points.iter().map(|p| residual(self.curve, *p)).collect();
        self.predict(input) * curve.max(empirical_bound(residuals, chance)).exp()
    }

    /// Whether an input of this size lies outside of the inputs that the curve was fitted to.
    pub fn extrapolates(&self, input: f64) -> bool {
        input < self.smallest_input * 0.99 || input > self.largest_input * 1.01
    }

    /// Variance of the predicted logarithm in units of the residuals' variance: grows away from the data.
    fn leverage(&self, input: f64) -> f64 {
        let x = |input: f64| match self.curve {
            Curve::Power { .. } => (1.0, input.ln()),
            // A relative error of a line: both columns are divided by the prediction.
            Curve::Line { .. } => (1.0 / value(self.curve, input), input / value(self.curve, input)),
        };
        let (mut a, mut b, mut c) = (0.0, 0.0, 0.0);
        for (one, slope) in self.points.iter().map(|p| x(p.0)) {
            a += one * one;
            b += one * slope;
            c += slope * slope;
        }
        let (one, slope) = x(input);
        let determinant = a * c - b * b;
        let leverage = (c * one * one - 2.0 * b * one * slope + a * slope * slope) / determinant;
        if leverage.is_finite() && leverage > 0.0 { leverage } else { 1.0 }
    }
}

fn value(curve: Curve, input: f64) -> f64 {
    match curve {
        Curve::Line { base, slope } => base + slope * input,
        Curve::Power { factor, exponent } => factor * input.powf(exponent),
    }
}

fn residual(curve: Curve, (x, y): (f64, f64)) -> f64 {
    y.ln() - value(curve, x).ln()
}

/// Least squares of relative errors; a negative base or slope makes no sense for a need and is pinned to 0.
fn line(points: &[(f64, f64)]) -> Option<Curve> {
    let (mut ww, mut wx, mut wxx, mut wy, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (x, y) in points {
        let weight = 1.0 / (y * y);
        ww += weight;
        wx += weight * x;
        wxx += weight * x * x;
        wy += weight * y;
        wxy += weight * x * y;
    }
    let determinant = ww * wxx - wx * wx;
    let base = (wxx * wy - wx * wxy) / determinant;
    let slope = (ww * wxy - wx * wy) / determinant;
    let (base, slope) = match (base, slope) {
        (base, slope) if base < 0.0 && slope > 0.0 => (0.0, wxy / wxx),
        (base, slope) if slope < 0.0 && base > 0.0 => (wy / ww, 0.0),
        both => both,
    };
    (base.is_finite() && slope.is_finite() && base >= 0.0 && slope >= 0.0 && base + slope > 0.0)
        .then_some(Curve::Line { base, slope })
}

fn power(points: &[(f64, f64)]) -> Option<Curve> {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0.ln()).sum::<f64>() / n;
    let mean_y = points.iter().map(|p| p.1.ln()).sum::<f64>() / n;
    let (mut xx, mut xy) = (0.0, 0.0);
    for (x, y) in points {
        xx += (x.ln() - mean_x).powi(2);
        xy += (x.ln() - mean_x) * (y.ln() - mean_y);
    }
    let exponent = xy / xx;
    exponent.is_finite().then(|| Curve::Power { factor: (mean_y - exponent * mean_x).exp(), exponent })
}

/// Root mean square of the logarithmic error when each point is predicted from the others. With very many
/// points a spread-out selection is left out, so that the cost stays linear.
fn left_out_error(points: &[(f64, f64)], fitter: Fitter) -> Option<f64> {
    let stride = points.len().div_ceil(100);
    let mut sum = 0.0;
    let mut count = 0.0;
    for index in (0..points.len()).step_by(stride) {
        let others: Vec<(f64, f64)> =
            points.iter().enumerate().filter(|(i, _)| *i != index).map(|(_, p)| *p).collect();
        sum += residual(fitter(&others)?, points[index]).powi(2);
        count += 1.0;
    }
    let error = f64::sqrt(sum / count);
    error.is_finite().then_some(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_line_and_a_power_law() {
        let line: Vec<(f64, f64)> = [1.0, 2.0, 4.0, 8.0, 16.0].map(|x| (x, 3.0 + 0.5 * x)).to_vec();
        let fit_line = fit(&line).unwrap();
        let Curve::Line { base, slope } = fit_line.curve else { panic!("{fit_line:?}") };
        assert!((base - 3.0).abs() < 1e-6 && (slope - 0.5).abs() < 1e-6);
        assert!(fit_line.r_squared > 0.999_999 && fit_line.prediction_error < 1e-6);
        assert!((fit_line.predict(32.0) - 19.0).abs() < 1e-5 && fit_line.extrapolates(32.0));

        let square: Vec<(f64, f64)> = [1.0, 2.0, 3.0, 5.0, 9.0].map(|x| (x, 0.1 * x * x)).to_vec();
        let fit_square = fit(&square).unwrap();
        let Curve::Power { exponent, .. } = fit_square.curve else { panic!("{fit_square:?}") };
        assert!((exponent - 2.0).abs() < 1e-6);
    }

    #[test]
    fn the_bound_widens_away_from_the_data() {
        let wobble = [0.95, 1.04, 0.98, 1.05, 0.97, 1.02, 1.0, 0.96];
        let points: Vec<(f64, f64)> = wobble
            .iter()
            .enumerate()
            .map(|(i, w)| (1.0 + i as f64, (2.0 + 3.0 * (1.0 + i as f64)) * w))
            .collect();
        let fit = fit(&points).unwrap();
        let headroom = |input: f64| fit.upper_bound(input, 0.01) / fit.predict(input);
        assert!(headroom(4.0) > 1.05 && headroom(4.0) < 1.4, "{}", headroom(4.0));
        assert!(headroom(80.0) > headroom(4.0), "{} {}", headroom(80.0), headroom(4.0));
        assert!(fit.prediction_error > 0.01 && fit.prediction_error < 0.1);
    }

    #[test]
    fn too_few_sizes_make_no_curve() {
        assert!(fit(&[(1.0, 2.0), (2.0, 4.0), (2.0, 4.1), (1.0, 2.1)]).is_none());
        assert!(fit(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)]).is_none());
        assert!(fit(&[]).is_none());
    }
}
