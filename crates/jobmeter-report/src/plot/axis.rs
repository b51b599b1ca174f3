//! Round numbers for axes.

use crate::format;
use jobmeter_model::Unit;

/// The upper end of an axis and the marks on it, both round in the unit that people read.
pub(crate) fn value_axis(measure: Unit, highest: f64, steps: usize) -> (f64, Vec<(f64, String)>) {
    let highest = if highest > 0.0 && highest.is_finite() { highest } else { 1.0 };
    let unit = match measure {
        Unit::Bytes | Unit::BytesPerSecond => 1000f64.powf(highest.log(1000.0).floor().clamp(0.0, 6.0)),
        Unit::Ratio => 0.01,
        Unit::Hertz => 1e6,
        _ => 1.0,
    };
    let whole = matches!(measure, Unit::Bytes | Unit::BytesPerSecond | Unit::Count);
    let step = round_step(highest / unit / steps.max(1) as f64) * unit;
    let step = if whole { step.max(1.0) } else { step };
    let count = (highest / step - 1e-9).ceil().max(1.0) as usize;
    let marks = (0..=count).map(|index| {
        let value = index as f64 * step;
        (value, format::format(value, measure, format::Style::Short))
    });
    (count as f64 * step, marks.collect())
}

/// 1, 2 or 5 times a power of ten, not below `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= least * 0.999_999);
    factor.unwrap_or(10.0) * power
}

/// Marks of the time axis: seconds below a minute, then minutes, hours, days.
pub(crate) fn time_marks(end_ns: u64, steps: usize) -> Vec<(u64, String)> {
    const STEPS_S: [f64; 17] = [
        60.0,
        120.0,
        300.0,
        600.0,
        900.0,
        1_800.0,
        3_600.0,
        7_200.0,
        10_800.0,
        21_600.0,
        43_200.0,
        86_400.0,
        172_800.0,
        432_000.0,
        864_000.0,
        2_592_000.0,
        8_640_000.0,
    ];
    let end_s = (end_ns as f64 / 1e9).max(1e-9);
    let least = end_s / steps.max(1) as f64;
    let step = if least <= 30.0 {
        if least > 20.0 {
            30.0
        } else if least > 10.0 {
            20.0
        } else {
            round_step(least)
        }
    } else {
        STEPS_S.into_iter().find(|step| *step >= least).unwrap_or(least)
    };
    let count = (end_s / step + 1e-9).floor() as usize;
    (0..=count).map(|index| index as f64 * step).map(|s| ((s * 1e9) as u64, clock(s, step))).collect()
}

fn clock(seconds: f64, step: f64) -> String {
    if seconds == 0.0 {
        "0".to_owned()
    } else if step < 1.0 || seconds < 60.0 {
        if seconds < 1.0 {
            format!("{} ms", format::number(seconds * 1e3))
        } else {
            format!("{} s", format::number(seconds))
        }
    } else {
        let whole = seconds.round() as u64;
        let (hours, minutes, rest) = (whole / 3_600, whole / 60 % 60, whole % 60);
        match (hours, rest) {
            (0, 0) => format!("{minutes} min"),
            (0, _) => format!("{minutes}:{rest:02}"),
            (hours, _) if hours >= 72 && minutes == 0 && hours % 24 == 0 => format!("{} d", hours / 24),
            (_, _) => format!("{hours}:{minutes:02} h"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_on_round_numbers_above_the_data() {
        for highest in [0.0, 0.3, 1.0, 7.3, 8.0, 512.0, 3.7e9, 1e12, f64::NAN] {
            for measure in [Unit::Cores, Unit::Bytes, Unit::Ratio] {
                let (top, marks) = value_axis(measure, highest, 4);
                assert!(highest.is_nan() || top >= highest * 0.999_999, "{measure:?} {highest} {top}");
                assert!((2..=6).contains(&marks.len()), "{marks:?}");
            }
        }
        let (_, marks) = value_axis(Unit::Bytes, 3.2e9, 4);
        assert_eq!(
            marks.iter().map(|mark| mark.1.as_str()).collect::<Vec<_>>(),
            ["0 B", "1 GB", "2 GB", "3 GB", "4 GB"]
        );
    }

    #[test]
    fn time_marks_are_few_and_inside() {
        for end in [1, 1_000, 12_000_000, 999_000_000, 61_000_000_000, 3_600_000_000_000, 400_000_000_000_000]
        {
            let marks = time_marks(end, 8);
            assert!(marks.len() <= 10 && !marks.is_empty(), "{end}: {marks:?}");
            assert!(marks.iter().all(|(t, _)| *t <= end + 1));
        }
    }
}
