//! What is known to be true of a figure: not below this, not above that, and by whom. A witness has its own
//! uncertainty, so a truth is an interval; a claim is false only if no value inside it would make it true.

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Span {
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub source: String,
}

impl Span {
    pub(crate) fn new(low: impl Into<Option<f64>>, high: impl Into<Option<f64>>, source: &str) -> Span {
        Span { low: low.into(), high: high.into(), source: source.to_owned() }
    }

    /// What two witnesses say together.
    pub(crate) fn and(self, other: &Span) -> Span {
        let pick = |one: Option<f64>, two: Option<f64>, best: fn(f64, f64) -> f64| match (one, two) {
            (Some(one), Some(two)) => Some(best(one, two)),
            (one, two) => one.or(two),
        };
        let source = match (self.source.as_str(), other.source.as_str()) {
            (one, two) if two.is_empty() || one.contains(two) => self.source,
            ("", _) => other.source.clone(),
            (one, two) => format!("{one}, {two}"),
        };
        Span { low: pick(self.low, other.low, f64::max), high: pick(self.high, other.high, f64::min), source }
    }
}
