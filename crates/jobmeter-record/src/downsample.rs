//! Fewer rows for a picture, with every peak and every valley still in it.
//!
//! Time is cut into equal shares of the rows; of each share the rows that hold a column's least or greatest
//! value stay whole, so what is drawn are moments that were measured.

/// One row of a time series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Since the run began.
    pub t_ns: u64,
    /// By column; `None` where nothing was read.
    pub values: Vec<Option<u64>>,
}

/// About `target` rows out of `rows`: the first and the last, and per share the rows with each column's least
/// and greatest value. With many columns the answer may be longer; no extreme is given up for the length.
pub fn downsample(rows: &[Row], target: usize) -> Vec<Row> {
    keep(rows, target).into_iter().map(|index| rows[index].clone()).collect()
}

/// The indices of the rows that stay, ascending.
pub fn keep(rows: &[Row], target: usize) -> Vec<usize> {
    if rows.len() <= target || rows.len() <= 2 {
        return (0..rows.len()).collect();
    }
    let columns = rows.iter().map(|row| row.values.len()).max().unwrap_or(0);
    // Each share gives up to two rows per column, but columns tend to peak together.
    let shares = (target / (2 * columns.clamp(1, 4))).max(1);
    let share_len = rows.len().div_ceil(shares);
    let mut kept = vec![0, rows.len() - 1];
    for (share, chunk) in rows.chunks(share_len).enumerate() {
        for column in 0..columns {
            let known = || {
                chunk
                    .iter()
                    .enumerate()
                    .filter_map(|(at, row)| Some((at, row.values.get(column).copied().flatten()?)))
            };
            kept.extend(known().min_by_key(|(_, value)| *value).map(|(at, _)| share * share_len + at));
            kept.extend(known().max_by_key(|(_, value)| *value).map(|(at, _)| share * share_len + at));
        }
    }
    kept.sort_unstable();
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn extremes(rows: &[Row], column: usize) -> (Option<u64>, Option<u64>) {
        let known = || rows.iter().filter_map(|row| row.values.get(column).copied().flatten());
        (known().min(), known().max())
    }

    proptest! {
        #[test]
        fn every_extreme_survives(
            values in prop::collection::vec(prop::collection::vec(any::<Option<u64>>(), 0..4), 0..300),
            target in 0usize..50,
        ) {
            let rows: Vec<Row> = (values.into_iter().enumerate())
                .map(|(at, values)| Row { t_ns: at as u64, values }).collect();
            let thin = downsample(&rows, target);
            for column in 0..4 {
                prop_assert_eq!(extremes(&thin, column), extremes(&rows, column));
            }
            prop_assert_eq!(thin.first(), rows.first());
            prop_assert_eq!(thin.last(), rows.last());
            prop_assert!(thin.windows(2).all(|pair| pair[0].t_ns < pair[1].t_ns));
            prop_assert!(thin.len() <= rows.len().min(target.max(2) + 10).max(10));
        }
    }

    #[test]
    fn a_long_run_becomes_a_picture() {
        let rows: Vec<Row> = (0..100_000u64)
            .map(|at| Row { t_ns: at, values: vec![Some(at % 1000), Some(at), None] })
            .collect();
        let thin = downsample(&rows, 2000);
        assert!((500..=2100).contains(&thin.len()), "{}", thin.len());
    }
}
