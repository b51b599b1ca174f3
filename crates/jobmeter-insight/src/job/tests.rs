use super::*;
use jobmeter_model::{Column, Figure, Metric, Quality, Scope, Stat, Summary};

pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// A rank that began so many seconds after the first and ran for so long.
pub(super) fn rank(number: u32, node: &str, began_s: u64, wall_s: u64, cpu_s: u64, peak: u64) -> RankRun {
    let json = serde_json::json!({
        "schema_version": 1,
        "run": {
            "id": format!("r{number}"), "jobmeter_version": "0", "mode": "run", "host": node, "pid": 1,
            "job": {"scheduler": "slurm", "id": "4711", "rank": number, "world_size": 4},
            "started_unix_ns": (1_000 + began_s) * SECOND_NS, "interval_ns": null,
            "expected_cores": 2.0, "system_cores": 4, "wall_ns": wall_s * SECOND_NS,
        },
        "verdict": {"kind": "exited", "exit_code": 0, "text": "exited with code 0"},
        "main": {}, "descendants": {},
        "combined": {
            "cpu_ns": {"value": cpu_s * SECOND_NS, "quality": "exact"},
            "rss_bytes_max": {"value": peak, "quality": "sampled", "lower": peak, "upper": peak + 10},
        },
        "system": {
            "memory_total_bytes_max": {"value": 1000, "quality": "sampled"},
            "cpu_ns": {"value": 77, "quality": "exact"},
        },
        "overhead": {"cpu_ns": 1, "peak_rss_bytes": 2},
    });
    let summary: Summary = serde_json::from_value(json).expect("a summary");
    RankRun { summary, is_running: false }
}

/// Feeds each rank's memory, one reading a second.
fn merged(runs: &[RankRun], memory: &[&[u64]]) -> Job {
    let mut grid = Grid::over(runs);
    for (run, readings) in runs.iter().zip(memory) {
        let mut series = grid.series(run);
        series.define(&Column::of(Scope::Combined, Metric::RssBytes));
        series.define(&Column::of(Scope::System, Metric::MemoryUsedBytes));
        for (second, bytes) in readings.iter().enumerate() {
            series.tick(second as u64 * SECOND_NS, &[Some(*bytes), Some(5)]);
        }
        grid.add(&series);
    }
    Job::merge(runs, grid)
}

fn whole(figure: Option<&Figure>) -> Option<u64> {
    figure.and_then(Figure::as_u64)
}

#[test]
fn totals_are_sums_and_peaks_are_those_of_one_moment() {
    let runs = [
        rank(0, "a", 0, 4, 8, 100),
        rank(1, "a", 0, 4, 8, 100),
        rank(2, "b", 0, 4, 4, 100),
        rank(3, "b", 0, 4, 4, 100),
    ];
    // No two peaks come together.
    let memory: [&[u64]; 4] =
        [&[100, 10, 10, 10], &[10, 100, 10, 10], &[10, 10, 100, 10], &[10, 10, 10, 100]];
    let job = merged(&runs, &memory);
    let combined = &job.summary.combined;
    assert_eq!(whole(combined.get(Metric::CpuNs, Stat::Total)), Some(24 * SECOND_NS));
    assert_eq!(combined["cpu_ns"].quality, Quality::Exact);
    let peak = &combined["rss_bytes_max"];
    assert_eq!(whole(Some(peak)), Some(130));
    assert_eq!(peak.lower.map(|lower| lower.as_f64()), Some(100.0));
    assert_eq!(peak.upper.map(|upper| upper.as_f64()), Some(440.0));
    // A node is counted once, however many ranks run on it.
    assert_eq!(job.nodes.len(), 2);
    assert_eq!(whole(job.summary.system.get(Metric::MemoryTotalBytes, Stat::Max)), Some(2000));
    assert_eq!(whole(job.summary.system.get(Metric::CpuNs, Stat::Total)), Some(154));
    assert_eq!((job.summary.run.system_cores, job.summary.run.expected_cores), (8, 8.0));
    assert_eq!(job.summary.verdict.text, "all 4 ranks exited with code 0");
    assert_eq!(job.imbalance.cpu_max_over_mean, Some(8.0 / 6.0));
    assert!(job.missing_ranks.is_empty());
}

#[test]
fn a_rank_that_has_ended_holds_no_memory_any_more() {
    let runs = [rank(0, "a", 0, 2, 1, 50), rank(1, "a", 2, 2, 1, 60)];
    let job = merged(&runs, &[&[50, 50], &[60, 60]]);
    // The second began when the first had ended: within one cell of 10 ms they never overlap by more.
    let peak = whole(job.summary.combined.get(Metric::RssBytes, Stat::Max)).expect("a peak");
    assert_eq!(peak, 60);
    assert_eq!(job.summary.run.wall_ns, Some(4 * SECOND_NS));
}

/// Ticks of a second lie on cells of 10 ms: the job's pace is that of its ranks, not a burst a second.
#[test]
fn counters_of_ranks_that_tick_together_grow_evenly() {
    struct Rows(Vec<(u64, Option<u64>)>);
    impl jobmeter_model::Sink for Rows {
        fn define(&mut self, _column: &Column) {}
        fn event(&mut self, _event: &jobmeter_model::Event) {}
        fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
            self.0.push((t_ns, values[0]));
        }
    }
    let runs = [rank(0, "a", 0, 4, 8, 1), rank(1, "b", 0, 4, 8, 1)];
    let mut grid = Grid::over(&runs);
    for run in &runs {
        let mut series = grid.series(run);
        series.define(&Column::of(Scope::Combined, Metric::CpuNs));
        for second in 0..=4 {
            series.tick(second * SECOND_NS, &[Some(2 * second * SECOND_NS)]);
        }
        grid.add(&series);
    }
    let job = Job::merge(&runs, grid);
    let mut rows = Rows(Vec::new());
    job.replay(&mut rows);
    assert!(rows.0.len() > 300, "{} cells", rows.0.len());
    for pair in rows.0.windows(2) {
        let [(from_ns, Some(before)), (to_ns, Some(after))] = *pair else { panic!("a cell without a value") };
        let cores = (after - before) as f64 / (to_ns - from_ns) as f64;
        assert!((cores - 4.0).abs() < 0.1, "{cores} cores from {from_ns} ns on");
    }
    let most = job.summary.combined.value(Metric::CpuNs, Stat::RateMax).expect("a highest rate");
    assert!((most - 4.0).abs() < 0.1, "{most}");
}

#[test]
fn ranks_that_are_missing_killed_or_without_an_end_are_named() {
    let mut runs = vec![rank(0, "a", 0, 4, 8, 1), rank(1, "a", 0, 1, 2, 1), rank(2, "b", 0, 2, 2, 1)];
    runs[1].summary.verdict = jobmeter_model::Verdict {
        kind: "signaled".into(),
        exit_code: None,
        signal: Some(9),
        ..verdict("killed by signal 9 (SIGKILL)")
    };
    runs[2].summary.verdict =
        jobmeter_model::Verdict { kind: "crashed".into(), exit_code: None, ..verdict("?") };
    let job = merged(&runs, &[&[1], &[1], &[1]]);
    assert_eq!(job.missing_ranks, [3]);
    let text = &job.summary.verdict.text;
    for part in [
        "1 of 4 ranks was killed: 1 (killed by signal 9, SIGKILL)",
        "1 of 4 ranks has a record without an end: 2",
        "1 of 4 ranks left no record: 3",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!((job.summary.verdict.kind.as_str(), job.summary.verdict.signal), ("signaled", Some(9)));
    let cpu = &job.summary.combined["cpu_ns"];
    assert_eq!((whole(Some(cpu)), cpu.quality), (Some(12 * SECOND_NS), Quality::LowerBound));
    let shown = job_text(&job);
    assert!(shown.contains("3      left no record") && shown.contains("its record has no end"), "{shown}");
    assert!(seff(&job).contains("State: FAILED (a task was killed)"), "{}", seff(&job));
}

fn verdict(text: &str) -> jobmeter_model::Verdict {
    let json = serde_json::json!({"kind": "exited", "exit_code": 0, "text": text});
    serde_json::from_value(json).expect("a verdict")
}

#[test]
fn seff_says_what_slurm_would() {
    let runs = [rank(0, "a", 0, 100, 100, 500), rank(1, "a", 0, 100, 50, 500)];
    let mut job = merged(&runs, &[&[300], &[200]]);
    job.missing_ranks.clear();
    let text = seff(&job);
    for line in [
        "Job ID: 4711",
        "State: COMPLETED (exit code 0)",
        "CPU Utilized: 00:02:30",
        "CPU Efficiency: 37.50% of 00:06:40 core-walltime",
        "Job Wall-clock time: 00:01:40",
        "Memory Efficiency: 50.00% of 1.00 kB (the machines)",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn hundreds_of_ranks_are_shortened_to_what_stands_out() {
    let mut runs: Vec<RankRun> = (0..200).map(|number| rank(number, "a", 0, 4, 1, 1)).collect();
    runs[150].summary.verdict = jobmeter_model::Verdict {
        kind: "signaled".into(),
        exit_code: None,
        signal: Some(11),
        ..verdict("killed by signal 11")
    };
    let memory = vec![&[1_u64][..]; 200];
    let job = merged(&runs, &memory);
    let text = job_text(&job);
    assert!(text.lines().count() < 30 && text.contains("\n150 ") && text.contains("of 200 ranks"), "{text}");
}

#[test]
fn a_request_is_for_the_busiest_and_the_largest_task() {
    let gib = 1 << 30;
    let runs = [
        rank(0, "a", 0, 100, 195, gib),
        rank(1, "a", 0, 100, 50, gib / 2),
        rank(2, "b", 0, 100, 50, gib / 2),
        rank(3, "b", 0, 100, 50, gib / 2),
    ];
    let mut job = merged(&runs, &[&[1], &[1], &[1], &[1]]);
    let text = job.request().expect("a request").text();
    // 1.95 cores are two; 1.2 GiB are 1229 MiB, half of it for each core.
    assert!(text.contains("--ntasks=4 --ntasks-per-node=2 --cpus-per-task=2 --mem-per-cpu=615M"), "{text}");
    assert!(text.contains("per node: 4 cores, 2458 MiB; the job on 2 nodes: 8 cores, 4916 MiB"), "{text}");
    assert!(!text.contains("at least"), "{text}");
    job.missing_ranks.push(4);
    let text = job.request().expect("a request").text();
    assert!(text.contains("--ntasks=5") && text.contains("at least"), "{text}");
    // A GPU for each task, as far as it is known of all that a task saw.
    let cards = |uses: &[&str]| -> Vec<jobmeter_model::summary::EntityFigures> {
        let card = |used: &&str| serde_json::json!({"name": "0", "facts": {"used": used}, "figures": {}});
        uses.iter().map(|used| serde_json::from_value(card(used)).expect("a card")).collect()
    };
    let mut runs = runs;
    runs[1].summary.gpus = cards(&["yes", "no"]);
    runs[2].summary.gpus = cards(&["yes", "unknown"]);
    let job = merged(&runs, &[&[1], &[1], &[1], &[1]]);
    let text = job.request().expect("a request").text();
    assert!(text.contains(" --gpus-per-task=1 ("), "{text}");
    assert!(text.contains("4916 MiB, 4 GPUs"), "{text}");
}
