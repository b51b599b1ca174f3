use super::*;
use crate::job::{Grid, RankRun};
use jobmeter_model::RunInfo;
use jobmeter_model::replay::Replay;
use proptest::prelude::*;

const SECOND_NS: u64 = 1_000_000_000;

/// A rank that began so many seconds after the job, on a grid of `length_s`.
fn series(began_s: u64, length_s: u64) -> RankSeries {
    let rank = |began_s: u64, wall_s: u64| {
        let info = RunInfo {
            started_unix_ns: (1_000 + began_s) * SECOND_NS,
            wall_ns: Some(wall_s * SECOND_NS),
            ..RunInfo::default()
        };
        let mut summary = Replay::default().summary(&info);
        summary.run = info;
        RankRun { summary, is_running: false }
    };
    let runs = [rank(0, length_s), rank(began_s, 1)];
    Grid::over(&runs).series(&runs[1])
}

fn builder(began_s: u64, length_s: u64, columns: usize) -> MapRowBuilder {
    let scale = MapScale { columns, column_ns: length_s * SECOND_NS / columns as u64 };
    let mut builder = MapRowBuilder::beside(&series(began_s, length_s), scale, 64);
    builder.define(&Column::of(Scope::Combined, Metric::CpuNs));
    builder.define(&Column::of(Scope::Main, Metric::CpuNs));
    builder.define(&Column::of(Scope::Combined, Metric::RssBytes));
    builder
}

#[test]
fn rates_are_spread_over_time_and_levels_keep_their_peak() {
    // Steps of 2 s; the rank began 2 s after the job and looked at 0, 1, 5 and 6 s of its own time.
    let mut builder = builder(2, 12, 6);
    for (t_s, cpu_s, rss) in [(0, 0, 10), (1, 3, 90), (5, 7, 20), (6, 9, 5)] {
        builder.tick(t_s * SECOND_NS, &[Some(cpu_s * SECOND_NS), Some(77), Some(rss)]);
    }
    let row = builder.finish();
    // 3 cores for one second and 1 core for four, then 2 cores for one.
    assert_eq!(row.values[0], [None, Some(2.0), Some(1.0), Some(1.5), None, None]);
    // The level of 90 holds until it is read again.
    assert_eq!(row.values[1], [None, Some(90.0), Some(90.0), Some(20.0), Some(5.0), None]);
    assert!(row.values[2].is_empty() && row.values[3].is_empty());
}

#[test]
fn final_totals_count_and_a_counter_that_runs_backwards_is_a_gap() {
    let mut builder = builder(0, 4, 4);
    builder.tick(0, &[Some(0), None, None]);
    builder.event(&Event::Settle { t_ns: SECOND_NS, values: vec![(0, 2 * SECOND_NS)] });
    builder.tick(2 * SECOND_NS, &[Some(0), None, None]);
    builder.tick(3 * SECOND_NS, &[Some(SECOND_NS), None, None]);
    assert_eq!(builder.finish().values[0], [Some(2.0), None, Some(1.0), None]);
}

#[test]
fn a_thousand_ranks_have_fewer_steps_than_four() {
    let hour_ns = 3_600 * SECOND_NS;
    assert_eq!(MapScale::new(4, hour_ns).columns, 400);
    assert_eq!(MapScale::new(1_024, hour_ns).columns, 122);
    assert_eq!(MapScale::new(100_000, hour_ns).columns, 60);
    assert_eq!(MapScale::new(4, 25_000_000), MapScale { columns: 3, column_ns: 10_000_000 });
    assert_eq!(MapScale::new(0, 0).columns, 1);
}

proptest! {
    /// However the time is divided, the CPU time of all steps is what the readings differ by.
    #[test]
    fn no_time_is_lost(steps in proptest::collection::vec((1u64..5_000, 0u64..4_000), 1..30), columns in 1usize..50) {
        let length_ms: u64 = steps.iter().map(|(ms, _)| ms).sum();
        let scale = MapScale { columns, column_ns: (length_ms * 1_000_000).div_ceil(columns as u64) };
        let mut track = Track { before: None, cells: vec![Cell::default(); columns] };
        let (mut t_ms, mut used_ms) = (0, 0);
        track.count(scale, 0, 0);
        for (ms, used) in &steps {
            (t_ms, used_ms) = (t_ms + ms, used_ms + used);
            track.count(scale, t_ms * 1_000_000, used_ms * 1_000_000);
        }
        let spread: f64 = track.cells.iter().map(|cell| cell.used_ns).sum();
        let covered: f64 = track.cells.iter().map(|cell| cell.covered_ns).sum();
        prop_assert!((spread - used_ms as f64 * 1e6).abs() < 1e3, "{spread} {used_ms}");
        prop_assert!((covered - length_ms as f64 * 1e6).abs() < 1e3);
    }
}
