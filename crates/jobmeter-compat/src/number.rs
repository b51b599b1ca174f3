//! Numbers as Python writes and adds them, because the layouts were made by it.

/// The shortest text that reads back the same, in Python's choice of notation.
pub(crate) fn repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        let plain = format!("{value}");
        return if plain.contains('.') { plain } else { plain + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Rounded on the exact decimal value, as Python's `round`.
pub(crate) fn rounded(value: f64, places: usize) -> f64 {
    format!("{value:.places$}").parse().unwrap_or(value)
}

/// The sum without rounding on the way, as Python's `math.fsum`: partial sums that do not overlap.
pub(crate) fn exact_sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut partials: Vec<f64> = Vec::new();
    for mut value in values {
        let mut kept = 0;
        for index in 0..partials.len() {
            let mut other = partials[index];
            if value.abs() < other.abs() {
                std::mem::swap(&mut value, &mut other);
            }
            let high = value + other;
            let low = other - (high - value);
            if low != 0.0 {
                partials[kept] = low;
                kept += 1;
            }
            value = high;
        }
        partials.truncate(kept);
        partials.push(value);
    }
    round_partials(&partials)
}

/// Adds from the largest down; where the rest lies exactly between two floats, the next part decides.
fn round_partials(partials: &[f64]) -> f64 {
    let Some((&last, rest)) = partials.split_last() else { return 0.0 };
    let mut high = last;
    let mut low = 0.0;
    let mut left = rest.len();
    while left > 0 {
        left -= 1;
        let before = high;
        high = before + rest[left];
        low = rest[left] - (high - before);
        if low != 0.0 {
            break;
        }
    }
    if left > 0 && ((low < 0.0 && rest[left - 1] < 0.0) || (low > 0.0 && rest[left - 1] > 0.0)) {
        let doubled = low * 2.0;
        let moved = high + doubled;
        if doubled == moved - high {
            high = moved;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_python_writes_them() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (25.274793984000002, "25.274793984000002"),
            (2.71e-06, "2.71e-06"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (1794785803.719216, "1794785803.719216"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(repr(value), text);
        }
    }

    #[test]
    fn rounds_the_exact_value() {
        assert_eq!(rounded(2.675, 2), 2.67);
        assert_eq!(rounded(0.0125, 3), 0.013);
        assert_eq!(rounded(0.0625, 3), 0.062);
        assert_eq!(rounded(0.1875, 3), 0.188);
    }

    #[test]
    fn adds_without_loss() {
        assert_eq!(exact_sum([0.1; 10]), 1.0);
        assert_eq!(exact_sum([1e100, 1.0, -1e100]), 1.0);
        assert_eq!(exact_sum([]), 0.0);
    }
}
