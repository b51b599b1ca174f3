//! Figures as people read them: a value with its unit, and how true it is.

use crate::format::{self, Style, format};
use jobmeter_model::{Figure, Number, Quality, Unit};

/// The value, or a dash; never a made-up zero.
pub(super) fn value(unit: Unit, figure: &Figure) -> String {
    figure.as_f64().map_or_else(|| "–".to_owned(), |value| format(value, unit, Style::Full))
}

/// The unrounded number, for those who copy it.
pub(super) fn raw(figure: &Figure) -> String {
    match figure.value {
        None => String::new(),
        Some(Number::Int(value)) => value.to_string(),
        Some(Number::Float(value)) => value.to_string(),
    }
}

/// The bounds in words, where there are any.
pub(super) fn bounds(unit: Unit, figure: &Figure) -> Option<String> {
    let text = |number: Number| format(number.as_f64(), unit, Style::Full);
    match (figure.lower, figure.upper) {
        (Some(lower), Some(upper)) if text(lower) == text(upper) => {
            Some(format!("bounds agree to {}", text(upper)))
        }
        (Some(lower), Some(upper)) => Some(format!("between {} and {}", text(lower), text(upper))),
        (None, Some(upper)) => Some(format!("at most {}", text(upper))),
        (Some(lower), None) => Some(format!("at least {}", text(lower))),
        (None, None) => None,
    }
}

/// One bound in words, where it reads differently from the figure itself: the upper one, or what is all that is known.
pub(super) fn bound(unit: Unit, figure: &Figure) -> Option<String> {
    let text = |number: Number| format(number.as_f64(), unit, Style::Full);
    let shown = value(unit, figure);
    match (figure.lower, figure.upper) {
        (_, Some(upper)) => Some(rounded_up(upper, unit))
            .filter(|upper| *upper != shown)
            .map(|upper| format!("at most {upper}")),
        // What is below the value itself says less than the value.
        (Some(lower), None) => Some(lower)
            .filter(|lower| figure.as_f64().is_none_or(|value| lower.as_f64() > value))
            .map(|lower| format!("at least {}", text(lower))),
        (None, None) => None,
    }
}

/// A bound that is rounded down is none.
fn rounded_up(upper: Number, unit: Unit) -> String {
    let upper = if unit == Unit::Bytes { format::rounded_up(upper.as_f64()) } else { upper.as_f64() };
    format(upper, unit, Style::Full)
}

pub(super) fn quality(quality: Quality) -> (&'static str, &'static str) {
    match quality {
        Quality::Exact => ("exact", "exact"),
        Quality::Sampled => ("sampled", "sampled"),
        Quality::LowerBound => ("lower", "lower bound"),
        Quality::Estimate => ("estimate", "estimate"),
        Quality::Unavailable => ("missing", "not available"),
    }
}
