//! The grade of a figure that is derived from another: one function, so that a rate can never claim more than the
//! total that it was taken from.

use crate::metric::{Kind, TABLE};
use crate::stat::Stat;
use crate::summary::{Figure, Figures, Quality};

/// The grade of a figure that would be `own` if its source were exact.
pub fn derived(own: Quality, source: Quality) -> Quality {
    own.max(source)
}

/// Statistics that are derived from the total of a counter.
const DERIVED: [Stat; 4] = [Stat::RateMax, Stat::RateMean, Stat::ShareMax, Stat::ShareMean];

/// Lowers the grade of every figure of a scope to that of the total which it is derived from. Called when the totals
/// have their last grade.
pub fn lower_derived(figures: &mut Figures) {
    for row in TABLE.iter().filter(|row| row.kind == Kind::Counter) {
        let Some(total) = figures.get(row.metric, Stat::Total) else { continue };
        let (quality, reason) = (total.quality, total.reason.clone());
        for stat in DERIVED.into_iter().filter(|stat| row.yields.stats.contains(stat)) {
            let figure = figures.get_mut(row.metric, stat).filter(|figure| figure.value.is_some());
            let Some(figure) = figure else { continue };
            if quality == Quality::Unavailable {
                *figure = Figure { reason: reason.clone(), ..Figure::unavailable("") };
                continue;
            }
            let lowered = derived(figure.quality, quality);
            if lowered != figure.quality {
                figure.quality = lowered;
                figure.reason = reason.clone().or(figure.reason.take());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_never_better_than_its_total() {
        let qualities =
            [Quality::Exact, Quality::Sampled, Quality::LowerBound, Quality::Estimate, Quality::Unavailable];
        for own in qualities {
            for source in qualities {
                let grade = derived(own, source);
                assert!(grade >= own && grade >= source, "{own:?} {source:?}");
                assert!(grade == own || grade == source);
            }
        }
    }

    #[test]
    fn what_is_derived_follows_the_last_grade_of_its_total() {
        let mut figures = Figures::new();
        let mut put = |key: &str, quality| {
            figures.set_by_key(key, Figure::int(7, quality));
        };
        put("cpu_ns", Quality::LowerBound);
        put("cores_used_max", Quality::Sampled);
        put("hardware_ratio_mean", Quality::Exact);
        put("faults_minor", Quality::Exact);
        put("faults_minor_per_s_max", Quality::Sampled);
        put("read_chars_bytes_per_s_mean", Quality::Exact);
        figures.set_by_key("read_chars_bytes", Figure::unavailable("refused"));
        lower_derived(&mut figures);
        assert_eq!(figures["cores_used_max"].quality, Quality::LowerBound);
        assert_eq!(figures["hardware_ratio_mean"].quality, Quality::LowerBound);
        assert_eq!(figures["faults_minor_per_s_max"].quality, Quality::Sampled);
        let rate = &figures["read_chars_bytes_per_s_mean"];
        assert_eq!((rate.value, rate.quality), (None, Quality::Unavailable));
        assert_eq!(rate.reason.as_deref(), Some("refused"));
    }
}
