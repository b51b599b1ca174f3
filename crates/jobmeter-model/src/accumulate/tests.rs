use super::*;

const BY: Divisors = Divisors { expected_cores: 2.0, system_cores: 4, wall_ns: 2_000_000_000 };

#[test]
fn gauges_give_maximum_and_time_weighted_mean() {
    let mut sums = Accumulator::default();
    sums.define(&Column::of(Scope::Main, Metric::RssBytes));
    sums.tick(0, &[Some(10)]);
    sums.tick(1_000_000_000, &[Some(100)]);
    sums.tick(1_500_000_000, &[None]);
    sums.tick(2_000_000_000, &[Some(40)]);
    let figures = &sums.figures(BY).scopes[&Scope::Main];
    assert_eq!(figures["rss_bytes_max"].as_u64(), Some(100));
    let mean = figures["rss_bytes_mean"].as_f64().expect("mean");
    assert!((mean - (100.0 * 1.0 + 40.0 * 0.5) / 1.5).abs() < 1e-9, "{mean}");
}

#[test]
fn what_a_job_has_on_a_gpu_is_not_0_because_it_was_0_while_it_was_known() {
    let of = |values: [Option<u64>; 4]| {
        let mut sums = Accumulator::default();
        sums.define(&Column::of(Scope::Main, Metric::GpuMemoryBytes));
        for (tick, value) in (0..).zip(values) {
            sums.tick(tick * 1_000_000_000, &[value]);
        }
        let mut figures = sums.figures(BY).scopes.remove(&Scope::Main).expect("the scope");
        [Stat::Max, Stat::Mean].map(|stat| figures.remove(Metric::GpuMemoryBytes, stat).expect("a figure"))
    };
    for figure in of([Some(0), Some(0), None, None]) {
        assert_eq!((figure.value, figure.quality), (None, Quality::Unavailable));
    }
    let [max, mean] = of([Some(0), Some(90), None, Some(30)]);
    assert_eq!((max.as_f64(), max.quality), (Some(90.0), Quality::LowerBound));
    assert_eq!((mean.as_f64(), mean.quality), (Some(40.0), Quality::LowerBound));
    assert_eq!(of([None, Some(0), Some(0), Some(0)])[0].quality, Quality::Sampled);
}

#[test]
fn counters_give_totals_and_rates() {
    let mut sums = Accumulator::default();
    sums.define(&Column::of(Scope::Combined, Metric::CpuNs));
    for (t_ms, cpu_ms) in [(0u64, 0u64), (1000, 500), (1050, 600), (2000, 2500)] {
        sums.tick(t_ms * 1_000_000, &[Some(cpu_ms * 1_000_000)]);
    }
    let figures = &sums.figures(BY).scopes[&Scope::Combined];
    assert_eq!(figures["cpu_ns"].as_u64(), Some(2_500_000_000));
    assert_eq!(figures["cores_used_mean"].as_f64(), Some(1.25));
    assert_eq!(figures["hardware_ratio_mean"].as_f64(), Some(0.625));
    assert_eq!(figures["cores_used_max"].as_f64(), Some(2.0));
    sums.event(&Event::Settle { t_ns: 2_000_000_000, values: vec![(0, 2_600_000_000)] });
    let settled = &sums.figures(BY).scopes[&Scope::Combined]["cpu_ns"];
    assert_eq!((settled.as_u64(), settled.quality), (Some(2_600_000_000), Quality::Exact));
}

#[test]
fn a_rate_is_taken_over_whole_windows_and_the_first_highest_stays() {
    let mut rate = RatePeak::default();
    assert!(!rate.see(0, 0));
    assert!(!rate.see(RATE_WINDOW_NS - 1, 1_000_000), "a shorter window would jump");
    assert!(rate.see(RATE_WINDOW_NS, 50), "exactly one window is enough");
    assert_eq!(rate.peak, Some(Growth { by: 50, span_ns: RATE_WINDOW_NS }));
    assert!(!rate.see(2 * RATE_WINDOW_NS, 100), "as steep is not steeper");
    assert!(!rate.see(4 * RATE_WINDOW_NS, 150), "half as steep");
    assert!(rate.see(5 * RATE_WINDOW_NS, 260));
    assert_eq!(rate.peak, Some(Growth { by: 110, span_ns: RATE_WINDOW_NS }));
    assert!(!rate.see(6 * RATE_WINDOW_NS, 10), "a counter that steps back grows by nothing");
}

#[test]
fn rates_of_a_thinned_record_come_from_its_notes() {
    let mut sums = Accumulator::default();
    sums.define(&Column::of(Scope::Combined, Metric::ReadCharsBytes));
    sums.tick(0, &[Some(0)]);
    let note = |value| Event::Note { t_ns: 1, key: RATE_PEAKS_NOTE.to_owned(), value };
    sums.event(&note(serde_json::json!([[0, 500, RATE_WINDOW_NS], [0, 9, 1], [7, 1, 2], "x", [0]])));
    sums.tick(RATE_WINDOW_NS, &[Some(2)]);
    let figures = &sums.figures(BY).scopes[&Scope::Combined];
    assert_eq!(figures["read_chars_bytes_per_s_max"].as_f64(), Some(5000.0));
    assert_eq!(figures["read_chars_bytes_per_s_mean"].as_f64(), Some(1.0));
}

#[test]
fn levels_that_run_out_have_a_lowest_and_bits_their_union() {
    let mut sums = Accumulator::default();
    sums.define(&Column::of(Scope::System, Metric::MemoryAvailableBytes));
    sums.define(&Column::entity(Scope::System, Metric::GpuThrottleBits, EntityKind::Gpu, "a"));
    sums.define(&Column::entity(Scope::Main, Metric::GpuMemoryBytes, EntityKind::Gpu, "a"));
    sums.define(&Column::entity(Scope::System, Metric::CoreBusyNs, EntityKind::Core, "0"));
    for (tick, bits) in (0..).zip([1, 4, 2]) {
        let busy = Some(tick * 500_000_000);
        sums.tick(tick * 1_000_000_000, &[Some(9 - tick), Some(bits), Some(3), busy]);
    }
    let all = sums.figures(BY);
    assert_eq!(all.scopes[&Scope::System]["memory_available_bytes_min"].as_u64(), Some(7));
    let gpu = &all.entities[&EntityKind::Gpu];
    assert_eq!((gpu.len(), gpu[0].figures["gpu_throttle_bits_max"].as_u64()), (1, Some(7)));
    assert!(gpu[0].figures.by_key("gpu_throttle_bits_mean").is_none());
    assert_eq!(gpu[0].figures["main_gpu_memory_bytes_max"].as_u64(), Some(3));
    let core = &all.entities[&EntityKind::Core][0].figures;
    assert_eq!(core["busy_ratio_mean"].as_f64(), Some(0.5));
    assert_eq!(core["busy_ratio_max"].as_f64(), Some(0.5));
    let total = &all.scopes[&Scope::Combined]["processes_total"];
    assert_eq!((total.as_u64(), total.quality), (Some(0), Quality::LowerBound));
}

#[test]
fn a_column_that_never_spoke_is_unavailable() {
    let mut sums = Accumulator::default();
    sums.define(&Column::of(Scope::System, Metric::Load1Milli));
    sums.tick(5, &[None]);
    assert_eq!(sums.figures(BY).scopes[&Scope::System]["load1_milli_max"].value, None);
}

#[test]
fn the_machines_cpu_time_is_an_estimate_and_the_jobs_exact_once_settled() {
    let of = |scope, wall_ns, is_settled: bool| {
        let mut sums = Accumulator::default();
        sums.define(&Column::of(scope, Metric::CpuNs));
        sums.tick(0, &[Some(0)]);
        sums.tick(1_000_000_000, &[Some(1_000_000_000)]);
        if is_settled {
            sums.event(&Event::Settle { t_ns: 1_000_000_000, values: vec![(0, 1_000_000_000)] });
        }
        sums.figures(Divisors { wall_ns, ..BY }).scopes.remove(&scope).expect("the scope")
    };
    let machine = of(Scope::System, 1_000_000_000, false);
    // A job of 186 ms was 110 ms for the clock ticks, which missed it while the kernel looked for memory.
    for key in ["cpu_ns", "cores_used_mean", "cores_used_max", "hardware_ratio_mean"] {
        assert_eq!(
            (machine[key].quality, machine[key].reason.as_deref()),
            (Quality::Estimate, Some(BY_TICKS))
        );
    }
    assert_eq!(
        (machine["cores_used_mean"].as_f64(), machine["hardware_ratio_mean"].as_f64()),
        (Some(1.0), Some(0.25))
    );
    let job = of(Scope::Main, 1_000_000_000, false);
    assert_eq!(
        (job["cpu_ns"].quality, job["cores_used_max"].quality),
        (Quality::LowerBound, Quality::LowerBound)
    );
    assert_eq!(job["hardware_ratio_max"].as_f64(), Some(0.5));
    let settled = of(Scope::Main, 1_000_000_000, true);
    assert_eq!(
        (settled["cpu_ns"].quality, settled["cores_used_max"].quality),
        (Quality::Exact, Quality::Sampled)
    );
    assert!(of(Scope::Main, 0, true).by_key("cores_used_mean").is_none(), "no time, no mean");
}

#[test]
fn rates_have_the_limits_of_the_hardware() {
    use Metric::*;
    for metric in [CpuNs, CpuUserNs, CpuSystemNs, CpuIowaitNs, CpuStealNs] {
        assert_eq!(most_per_s(metric, 4), Some(4e9), "{metric:?}: all cores");
        assert_eq!(most_per_s(metric, 1), Some(1e9), "{metric:?}");
        assert_eq!(most_per_s(metric, 0), None, "{metric:?}: nobody knows how many cores");
    }
    for metric in [CoreBusyNs, PsiCpuSomeNs, PsiMemorySomeNs, PsiMemoryFullNs, PsiIoSomeNs, PsiIoFullNs] {
        assert_eq!(most_per_s(metric, 4), Some(1e9), "{metric:?}: all of the time");
    }
    assert_eq!(most_per_s(DiskReadBytes, 4), None);
}

#[test]
fn one_reading_is_enough_for_what_counts_from_the_start_of_the_run() {
    let gpu = |metric, scope| Column {
        scope,
        metric,
        entity: Some(crate::metric::Entity { kind: EntityKind::Gpu, name: "0".to_owned() }),
    };
    let of = |column: &Column| {
        let mut sums = Accumulator::default();
        sums.define(column);
        sums.tick(0, &[Some(7)]);
        let all = sums.figures(BY);
        let figures = match column.entity {
            None => &all.scopes[&column.scope],
            Some(_) => &all.entities[&EntityKind::Gpu][0].figures,
        };
        figures.value(column.metric, column.metric.first_stat())
    };
    let machine = Column::of(Scope::System, Metric::CpuNs);
    assert_eq!(of(&machine), None, "the machine's counters began long before");
    assert_eq!(of(&Column::of(Scope::System, Metric::MemoryUsedBytes)), Some(7.0), "a level is a level");
    assert_eq!(of(&Column::of(Scope::Main, Metric::CpuNs)), Some(7.0), "the job's began with it");
    assert_eq!(
        of(&gpu(Metric::GpuEnergyUj, Scope::System)),
        Some(7.0),
        "a device's count from the start too"
    );
}

#[test]
fn starts_and_warnings_are_taken_from_the_stream_and_other_notes_left_alone() {
    let mut replay = crate::replay::Replay::default();
    replay.define(&Column::of(Scope::Combined, Metric::CpuNs));
    for pid in [5, 6, 7] {
        let id = crate::event::ProcessId { pid, start_ticks: 1 };
        replay.event(&Event::ProcessStart { t_ns: 0, id, parent_pid: 1, name: "x".to_owned() });
    }
    let (kind, text) = (crate::WarningKind::Descriptors, "few".to_owned());
    replay.event(&Event::Warning { t_ns: 0, kind, text });
    // Only a note of that name says the highest rates.
    let value = serde_json::json!([[0, 1_000_000_000_u64, 1_000_000_000_u64]]);
    replay.event(&Event::Note { t_ns: 0, key: "other".to_owned(), value });
    for second in 0..4 {
        replay.tick(second * 1_000_000_000, &[Some(second * 500_000_000)]);
    }
    let summary = replay.summary(&crate::RunInfo::default());
    assert_eq!(summary.run.ticks, 4);
    assert_eq!(summary.combined.whole(Metric::Processes, Stat::Total), Some(3));
    assert!(summary.warnings.iter().any(|warning| warning.text == "few"), "{:?}", summary.warnings);
    assert_eq!(summary.combined.value(Metric::CpuNs, Stat::Total), Some(1.5e9));
    assert_eq!(summary.combined["cores_used_max"].as_f64(), Some(0.5));
}
