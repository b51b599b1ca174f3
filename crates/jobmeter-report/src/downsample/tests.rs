use super::*;
use jobmeter_model::summary::{Limits, Overhead, SCHEMA_VERSION};
use jobmeter_model::{MarkKind, Metric, ProcessId, Quality, RunInfo, Scope, Verdict};
use proptest::prelude::*;

pub(crate) fn empty_summary() -> Summary {
    Summary {
        schema_version: SCHEMA_VERSION,
        run: RunInfo::default(),
        verdict: Verdict {
            kind: "unknown".into(),
            exit_code: None,
            signal: None,
            core_dumped: false,
            text: String::new(),
            evidence: Vec::new(),
        },
        main: Default::default(),
        containers: Default::default(),
        descendants: Default::default(),
        combined: Default::default(),
        system: Default::default(),
        cores: Vec::new(),
        disks: Vec::new(),
        mounts: Vec::new(),
        networks: Vec::new(),
        gpus: Vec::new(),
        limits: Limits::default(),
        sources: Vec::new(),
        warnings: Vec::new(),
        overhead: Overhead::default(),
    }
}

fn gauge() -> Column {
    Column::of(Scope::Combined, Metric::RssBytes)
}

fn counter() -> Column {
    Column::of(Scope::Combined, Metric::ReadStorageBytes)
}

fn build(buckets: usize, columns: &[Column], rows: &[(u64, Vec<Option<u64>>)]) -> RunData {
    let mut builder = SeriesBuilder::new(buckets);
    columns.iter().for_each(|column| builder.define(column));
    rows.iter().for_each(|(t_ns, values)| builder.tick(*t_ns, values));
    assert!(builder.buckets.len() <= builder.max_buckets);
    builder.finish("test", empty_summary())
}

fn highest(series: &Series) -> Option<f64> {
    series.points.iter().flatten().map(|point| point.max).reduce(f64::max)
}

proptest! {
    /// Whatever the distances of the ticks, the extremes of a gauge survive, and means lie between them.
    #[test]
    fn every_maximum_and_minimum_of_a_gauge_survives(
        ticks in proptest::collection::vec((1u64..5_000_000_000, proptest::option::of(0u64..1 << 40)), 1..400),
        buckets in 2usize..40,
    ) {
        let mut t_ns = 0;
        let rows: Vec<_> = ticks.iter().map(|(step, value)| { t_ns += step; (t_ns, vec![*value]) }).collect();
        let run = build(buckets, &[gauge()], &rows);
        let series = &run.series[0];
        let values: Vec<f64> = ticks.iter().filter_map(|(_, value)| value.map(|value| value as f64)).collect();
        let max = values.iter().copied().reduce(f64::max);
        let min = values.iter().copied().reduce(f64::min);
        prop_assert_eq!(highest(series), max);
        prop_assert_eq!(series.peak.map(|peak| peak.value), max);
        prop_assert_eq!(series.points.iter().flatten().map(|point| point.min).reduce(f64::min), min);
        for point in series.points.iter().flatten() {
            prop_assert!(point.min <= point.mean && point.mean <= point.max);
        }
        for limit in [1, 3, 7] {
            let thin = series.thinned(limit);
            prop_assert!(thin.len() <= limit.max(1));
            prop_assert_eq!(thin.iter().filter_map(|(_, point)| *point).map(|point| point.max).reduce(f64::max), max);
        }
    }

    /// The highest per-tick rate of a counter survives, and the rates add up to the counter again.
    #[test]
    fn rates_of_a_counter_keep_their_peak_and_their_total(
        steps in proptest::collection::vec((RATE_WINDOW_NS..3_000_000_000u64, 0u64..1 << 30), 2..300),
        buckets in 2usize..40,
    ) {
        let (mut t_ns, mut total) = (0, 0);
        let mut rows = vec![(0, vec![Some(0)])];
        for (step, more) in &steps {
            t_ns += step;
            total += more;
            rows.push((t_ns, vec![Some(total)]));
        }
        let run = build(buckets, &[counter()], &rows);
        let fastest = steps.iter().map(|(step, more)| *more as f64 * 1e9 / *step as f64).fold(0.0, f64::max);
        prop_assert_eq!(highest(&run.series[0]), Some(fastest));

        let mut builder = SeriesBuilder::new(buckets);
        builder.define(&counter());
        rows.iter().for_each(|(t_ns, values)| builder.tick(*t_ns, values));
        let sum: f64 = builder.tracks[0].cells.iter().map(Cell::integral).sum();
        prop_assert!((sum / 1e9 - total as f64).abs() <= total as f64 * 1e-6 + 1e-6);
    }

    #[test]
    fn time_runs_forward_and_fits(
        steps in proptest::collection::vec(0u64..10_000_000_000, 1..500), buckets in 2usize..20,
    ) {
        let mut t_ns = 0;
        let rows: Vec<_> = steps.iter().map(|step| { t_ns += step; (t_ns, vec![Some(1)]) }).collect();
        let run = build(buckets, &[gauge()], &rows);
        let times = &run.series[0].t_ns;
        prop_assert!(times.len() <= buckets);
        prop_assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(run.series[0].points.iter().all(Option::is_some));
    }
}

#[test]
fn a_short_run_keeps_every_tick() {
    let rows: Vec<_> = (0..100).map(|tick| (tick * 1_000_000_000, vec![Some(tick)])).collect();
    let run = build(DEFAULT_BUCKETS, &[gauge()], &rows);
    assert_eq!(run.series[0].t_ns.len(), 100);
    assert!(run.series[0].points.iter().flatten().all(|point| point.min == point.max));
}

#[test]
fn a_counter_that_runs_backwards_is_a_gap_and_a_missing_reading_is_bridged() {
    let second = 1_000_000_000;
    let rows = [Some(0), Some(100), Some(40), Some(140), None, Some(340)];
    let rows: Vec<_> = rows.iter().enumerate().map(|(t, value)| (t as u64 * second, vec![*value])).collect();
    let run = build(64, &[counter()], &rows);
    let rates: Vec<Option<f64>> =
        run.series[0].points.iter().map(|point| point.map(|point| point.mean)).collect();
    assert_eq!(rates, [None, Some(100.0), None, Some(100.0), Some(100.0), Some(100.0)]);
}

#[test]
fn two_ticks_closer_than_the_rate_window_make_one_rate() {
    let rows: Vec<_> = [(0, 0), (1_000_000_000, 10), (1_000_001_000, 1_000_010), (2_000_000_000, 1_000_020)]
        .map(|(t_ns, value)| (t_ns, vec![Some(value)]))
        .to_vec();
    let run = build(64, &[counter()], &rows);
    assert_eq!(run.series[0].peak.map(|peak| peak.value.round()), Some(1_000_010.0));
}

#[test]
fn a_column_that_comes_late_is_unknown_before() {
    let mut builder = SeriesBuilder::new(16);
    builder.define(&gauge());
    (0..10).for_each(|tick| builder.tick(tick, &[Some(1)]));
    builder.define(&Column::of(Scope::Main, Metric::RssBytes));
    (10..20).for_each(|tick| builder.tick(tick, &[Some(1), Some(7)]));
    let run = builder.finish("late", empty_summary());
    let points = &run.series[1].points;
    assert_eq!(points.len(), run.series[0].points.len());
    assert!(
        points[0].is_none() && points.last().is_some_and(|point| point.is_some_and(|point| point.max == 7.0))
    );
}

fn mark(t_ns: u64, name: &str, kind: MarkKind) -> Event {
    Event::Mark { t_ns, name: name.into(), kind, pid: 1, tid: 1 }
}

#[test]
fn phases_nest_and_those_left_open_end_with_the_run() {
    let mut builder = SeriesBuilder::new(16);
    for event in [
        mark(0, "outer", MarkKind::Begin),
        mark(10, "inner", MarkKind::Begin),
        mark(20, "inner", MarkKind::End),
        mark(30, "inner", MarkKind::Begin),
        mark(50, "inner", MarkKind::End),
        mark(55, "nobody", MarkKind::End),
        mark(60, "here", MarkKind::Point),
    ] {
        builder.event(&event);
    }
    let mut summary = empty_summary();
    summary.run.wall_ns = Some(100);
    let run = builder.finish("phases", summary);
    let spans: Vec<_> =
        run.spans.iter().map(|span| (span.name.as_str(), span.begin_ns, span.end_ns, span.lane)).collect();
    assert_eq!(spans, [("outer", 0, 100, 0), ("inner", 10, 20, 1), ("inner", 30, 50, 1)]);
    let inner = &run.phases[1];
    assert_eq!(
        (inner.calls, inner.time_total_ns, inner.time_min_ns, inner.time_max_ns, inner.time_std_ns),
        (2, 30, 10, 20, 5.0)
    );
    assert_eq!(inner.used.total(Metric::CpuNs), None, "without ticks nothing is known, least of all zero");
    assert_eq!(run.marks.len(), 1);
}

#[test]
fn too_many_processes_keep_the_longest_and_count_the_rest() {
    let mut builder = SeriesBuilder::new(16);
    for pid in 0..40_000 {
        let id = ProcessId { pid, start_ticks: 1 };
        builder.event(&Event::ProcessStart { t_ns: 0, id, parent_pid: 0, name: "p".into() });
        builder.event(&Event::ProcessEnd {
            t_ns: pid as u64 + 1,
            id,
            cpu_ns: None,
            peak_rss_bytes: None,
            read_storage_bytes: None,
            write_storage_bytes: None,
            wait_status: None,
        });
    }
    let run = builder.finish("many", empty_summary());
    assert_eq!(run.processes.len() as u64 + run.processes_omitted, 40_000);
    assert!(run.processes.iter().any(|row| row.pid == 39_999));
    assert!(run.processes.iter().all(|row| row.pid >= 32_000));
}

#[test]
fn concurrent_phases_do_not_overlap_in_a_lane() {
    let mut builder = SeriesBuilder::new(16);
    for (t_ns, kind, tid) in
        [(0, MarkKind::Begin, 1), (5, MarkKind::Begin, 2), (8, MarkKind::End, 1), (9, MarkKind::End, 2)]
    {
        builder.event(&Event::Mark { t_ns, name: format!("of {tid}"), kind, pid: 1, tid });
    }
    let run = builder.finish("threads", empty_summary());
    assert_eq!(run.spans.iter().map(|span| span.lane).collect::<Vec<_>>(), [0, 1]);
}

/// Marks come with a tick of the same time, before or after it; the difference is exact either way.
#[test]
fn a_phase_shorter_than_a_tick_has_exact_cpu_time() {
    let columns = [Column::of(Scope::Combined, Metric::CpuNs), gauge()];
    for mark_first in [true, false] {
        let mut builder = SeriesBuilder::new(16);
        columns.iter().for_each(|column| builder.define(column));
        builder.tick(0, &[Some(0), Some(10)]);
        for (t_ns, kind, cpu_ns, rss) in
            [(1_000, MarkKind::Begin, 700, 90), (2_500, MarkKind::End, 1_900, 40)]
        {
            if mark_first {
                builder.event(&mark(t_ns, "short", kind));
            }
            builder.tick(t_ns, &[Some(cpu_ns), Some(rss)]);
            if !mark_first {
                builder.event(&mark(t_ns, "short", kind));
            }
        }
        builder.tick(1_000_000_000, &[Some(900_000_000), Some(1_000)]);
        let run = builder.finish("exact", empty_summary());
        let row = &run.phases[0];
        let used = row.used;
        assert_eq!(
            (row.time_total_ns, used.total(Metric::CpuNs), used.peak_rss_bytes),
            (1_500, Some(1_200), Some(90))
        );
        assert_eq!(used.quality, Quality::Exact);
    }
}

#[test]
fn a_phase_whose_boundary_was_not_measured_has_sampled_cpu_time() {
    let mut builder = SeriesBuilder::new(16);
    builder.define(&Column::of(Scope::Combined, Metric::CpuNs));
    builder.tick(0, &[Some(0)]);
    builder.event(&mark(500, "loose", MarkKind::Begin));
    builder.tick(1_000, &[Some(400)]);
    builder.event(&mark(1_000, "loose", MarkKind::End));
    let run = builder.finish("loose", empty_summary());
    let phase = &run.phases[0];
    assert_eq!((phase.time_total_ns, phase.used.total(Metric::CpuNs)), (500, Some(200)));
    assert_eq!(phase.used.quality, Quality::Sampled);
}
