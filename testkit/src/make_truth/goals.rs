//! What is wanted beyond truth: bounds that one can act on. A goal that is missed is told and is no failure.

use crate::mode::Mode;
use crate::rows::Row;

/// The upper bound over the truth, as root and as an ordinary user.
const WORST_WIDTH: [f64; 2] = [1.6, 3.0];
/// The sampled value over the truth, for jobs longer than this, at the default interval.
const LEAST_SAMPLED: f64 = 0.95;
const LONG_NS: f64 = 2e9;

pub(crate) fn memory(row: &Row, mode: Mode, wall_ns: f64) -> Option<String> {
    let most = WORST_WIDTH[usize::from(mode.as_user)];
    match row.claim.width(&row.truth) {
        None if row.claim.has_no_upper() => return Some("no upper bound".to_owned()),
        // The truth is not known.
        None => return None,
        Some(width) if width > most => {
            return Some(format!("upper bound {width:.2} of the truth, wanted {most}"));
        }
        Some(_) => {}
    }
    let sampled = row.claim.value? / row.claim.certain(&row.truth)?;
    let is_low = sampled < LEAST_SAMPLED && wall_ns > LONG_NS && !mode.every_second;
    is_low.then(|| format!("sampled {sampled:.2} of the truth, wanted {LEAST_SAMPLED}"))
}
