//! A figure as jobmeter states it, read from its JSON, and whether it can be true.

use crate::span::Span;
use serde_json::Value;

#[derive(Debug, Clone, Default)]
pub(crate) struct Claim {
    pub value: Option<f64>,
    pub quality: String,
    pub lower: Option<f64>,
    pub upper: Option<f64>,
}

impl Claim {
    pub(crate) fn read(figure: &Value) -> Claim {
        let number = |key: &str| figure.get(key).and_then(Value::as_f64);
        Claim {
            value: number("value"),
            quality: figure.get("quality").and_then(Value::as_str).unwrap_or_default().to_owned(),
            lower: number("lower"),
            upper: number("upper"),
        }
    }

    pub(crate) fn plain(value: Option<f64>, quality: &str) -> Claim {
        Claim { value, quality: quality.to_owned(), ..Claim::default() }
    }

    /// Why the claim cannot be true, or `None` if it can.
    pub(crate) fn contradiction(&self, truth: &Span) -> Option<String> {
        let below = |what: &str, number: Option<f64>| {
            (number? < truth.low?).then(|| format!("{what} below the truth"))
        };
        let above = |what: &str, number: Option<f64>| {
            (number? > truth.high?).then(|| format!("{what} above the truth"))
        };
        let of_grade = match self.quality.as_str() {
            "exact" => below("exact, yet", self.value).or_else(|| above("exact, yet", self.value)),
            // The best of the ticks was there at that tick; what is known to be incomplete was there as well.
            "sampled" | "lower_bound" => above(&self.quality, self.value),
            "estimate" => None,
            "unavailable" => self.value.map(|_| "unavailable, yet a value".to_owned()),
            other => Some(format!("'{other}' is no grade")),
        };
        of_grade
            .or_else(|| above("lower", self.lower))
            .or_else(|| below("upper", self.upper))
            .or_else(|| self.disorder())
    }

    fn disorder(&self) -> Option<String> {
        let value = self.value?;
        let lower = self.lower.is_some_and(|lower| lower > value);
        let upper = self.upper.is_some_and(|upper| upper < value);
        (lower || upper).then(|| "value outside of its own bounds".to_owned())
    }

    pub(crate) fn has_no_upper(&self) -> bool {
        self.upper.is_none() && self.quality != "exact"
    }

    /// Upper bound over the truth that is certain; an exact value is its own bound.
    pub(crate) fn width(&self, truth: &Span) -> Option<f64> {
        let upper = match self.quality.as_str() {
            "exact" => self.upper.or(self.value),
            _ => self.upper,
        };
        self.certain(truth).filter(|certain| *certain > 0.0).and_then(|certain| Some(upper? / certain))
    }

    /// The least that the truth can be: a witness that looks from time to time misses peaks of milliseconds, of which the meter may have
    /// seen more. What the meter calls certain is judged by itself: where it is above the truth, it is a false claim.
    pub(crate) fn certain(&self, truth: &Span) -> Option<f64> {
        truth.low.map(|low| low.max(self.lower.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(quality: &str, value: f64, lower: Option<f64>, upper: Option<f64>) -> Claim {
        Claim { value: Some(value), quality: quality.to_owned(), lower, upper }
    }

    #[test]
    fn a_claim_is_false_only_if_it_cannot_be_true() {
        let truth = Span::new(90.0, 110.0, "witness");
        let holds = |claim: Claim| claim.contradiction(&truth).is_none();
        assert!(holds(claim("exact", 100.0, None, None)));
        assert!(!holds(claim("exact", 89.0, None, None)));
        assert!(!holds(claim("exact", 111.0, None, None)));
        assert!(holds(claim("lower_bound", 5.0, None, None)));
        assert!(!holds(claim("lower_bound", 111.0, None, None)));
        assert!(holds(claim("sampled", 50.0, Some(50.0), Some(100.0))));
        assert!(!holds(claim("sampled", 50.0, Some(50.0), Some(89.0))), "the upper bound is too low");
        assert!(!holds(claim("sampled", 50.0, Some(111.0), None)), "the lower bound is too high");
        assert!(!holds(claim("estimate", 50.0, Some(60.0), None)), "the value is outside of its bounds");
        assert!(!holds(claim("unavailable", 0.0, None, None)), "unknown is not 0");
        assert!(!holds(claim("", 100.0, None, None)));
    }

    #[test]
    fn what_nobody_witnessed_contradicts_nothing() {
        assert!(claim("exact", 1e9, None, None).contradiction(&Span::default()).is_none());
    }

    #[test]
    fn the_width_is_that_of_the_upper_bound() {
        let truth = Span::new(100.0, None, "witness");
        assert_eq!(claim("sampled", 50.0, None, Some(150.0)).width(&truth), Some(1.5));
        assert_eq!(claim("sampled", 50.0, None, None).width(&truth), None);
        assert_eq!(claim("sampled", 120.0, Some(120.0), Some(150.0)).width(&truth), Some(1.25));
    }
}
