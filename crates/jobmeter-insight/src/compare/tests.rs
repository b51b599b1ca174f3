use super::*;
use jobmeter_model::summary::{Overhead, SCHEMA_VERSION, Verdict as RunVerdict};
use jobmeter_model::{Figure, Figures, Quality, RunInfo, Summary};

pub(crate) fn run(id: usize, wall_ns: u64, figures: &[(&str, u64)]) -> RunView {
    let combined: Figures =
        figures.iter().map(|(key, value)| (key.to_string(), Figure::int(*value, Quality::Exact))).collect();
    let summary = Summary {
        schema_version: SCHEMA_VERSION,
        run: RunInfo {
            id: format!("run-{id}"),
            host: "h".into(),
            wall_ns: Some(wall_ns),
            started_unix_ns: 1_000 + id as u64,
            ..RunInfo::default()
        },
        verdict: RunVerdict {
            kind: "exited".into(),
            exit_code: Some(0),
            signal: None,
            core_dumped: false,
            text: String::new(),
            evidence: vec![],
        },
        main: Figures::new(),
        containers: Default::default(),
        descendants: Figures::new(),
        combined,
        system: Figures::new(),
        cores: vec![],
        disks: vec![],
        mounts: vec![],
        networks: vec![],
        gpus: vec![],
        limits: Default::default(),
        sources: vec![],
        warnings: vec![],
        overhead: Overhead::default(),
    };
    RunView { summary, phases: vec![], label: format!("run-{id}") }
}

/// Runs whose wall times are these milliseconds, alternating in time with another such set.
fn group(label: &str, offset: usize, wall_ms: &[u64]) -> Group {
    let runs = wall_ms.iter().enumerate().map(|(i, ms)| {
        run(2 * i + offset, ms * 1_000_000, &[("cpu_ns", ms * 900_000), ("processes_max", 3)])
    });
    Group { label: label.into(), runs: runs.collect() }
}

fn row<'a>(comparison: &'a Comparison, key: &str) -> &'a Row {
    comparison.rows.iter().find(|row| row.key == key).unwrap()
}

#[test]
fn one_run_a_side_is_arithmetic_without_a_verdict() {
    let groups = [group("a", 0, &[1000]), group("b", 1, &[1100])];
    let comparison = compare(&groups, &Options::default()).unwrap();
    let wall = row(&comparison, "wall_ns");
    assert_eq!(wall.contrasts[0].difference, Some(100_000_000.0));
    assert_eq!(wall.contrasts[0].ratio, Some(1.1));
    assert_eq!(wall.contrasts[0].verdict, Verdict::NotEnoughRuns);
    assert!(wall.cells[0].noise_ratio.is_none() && wall.cells[0].median_interval.is_none());
    assert!(text(&comparison, false, None).contains("+10.0 %"));
}

#[test]
fn separated_sets_are_told_and_the_direction_is_right() {
    let slow = [1100, 1110, 1120, 1090, 1105, 1115];
    let fast = [1000, 1010, 1020, 990, 1005, 1015];
    let worse = compare(&[group("a", 0, &fast), group("b", 1, &slow)], &Options::default()).unwrap();
    assert_eq!(row(&worse, "wall_ns").contrasts[0].verdict, Verdict::Regression);
    assert_eq!(row(&worse, "processes_max").contrasts[0].verdict, Verdict::Noise);
    assert_eq!(worse.with_verdict(Verdict::Regression).count(), 2);
    let better = compare(&[group("a", 0, &slow), group("b", 1, &fast)], &Options::default()).unwrap();
    assert_eq!(row(&better, "wall_ns").contrasts[0].verdict, Verdict::Improvement);
    assert!(better.notes.is_empty(), "{:?}", better.notes);
}

#[test]
fn a_certain_but_tiny_difference_is_not_one() {
    let base: Vec<u64> = (0..10).map(|i| 100_000 + i).collect();
    let new: Vec<u64> = (0..10).map(|i| 100_100 + i).collect();
    let comparison = compare(&[group("a", 0, &base), group("b", 1, &new)], &Options::default()).unwrap();
    let wall = &row(&comparison, "wall_ns").contrasts[0];
    assert!(wall.p_adjusted.unwrap() < 0.001);
    assert_eq!(wall.verdict, Verdict::Noise);
}

#[test]
fn an_unknown_figure_is_unknown_with_its_reason_and_never_zero() {
    let mut groups = [group("a", 0, &[1000, 1001]), group("b", 1, &[1000, 1001])];
    for run in &mut groups[1].runs {
        run.summary.combined.set_by_key("cpu_ns", Figure::unavailable("no wait4"));
    }
    let comparison = compare(&groups, &Options::default()).unwrap();
    let cpu = row(&comparison, "cpu_ns");
    assert_eq!((cpu.cells[1].known, cpu.cells[1].median), (0, None));
    assert_eq!(cpu.cells[1].reason.as_deref(), Some("no wait4"));
    assert_eq!(cpu.contrasts[0].verdict, Verdict::Unknown);
    assert!(text(&comparison, false, None).contains("unknown"));
}

#[test]
fn a_phase_that_regresses_is_named() {
    let mut groups = [group("a", 0, &[1000; 8]), group("b", 1, &[1000; 8])];
    for (index, group) in groups.iter_mut().enumerate() {
        for (i, run) in group.runs.iter_mut().enumerate() {
            for name in ["load", "fit"] {
                let slow = u64::from(name == "fit") * index as u64 * 50;
                run.phases.push(PhaseFigures {
                    name: name.into(),
                    calls: 1,
                    time_ns: 500 + slow + i as u64,
                    cpu_ns: None,
                    ..PhaseFigures::default()
                });
            }
        }
    }
    let comparison = compare(&groups, &Options::default()).unwrap();
    let bad: Vec<_> = comparison.with_verdict(Verdict::Regression).collect();
    assert_eq!(bad.len(), 1);
    assert_eq!((bad[0].entity.as_deref(), bad[0].key.as_str()), (Some("fit"), "time_ns"));
    assert!(text(&comparison, false, None).contains("phase fit: time"));
}

#[test]
fn what_makes_sets_unlike_is_noted() {
    let mut groups = [group("a", 0, &[1000, 1001]), group("b", 1, &[1000, 1001])];
    groups[1].runs[0].summary.run.host = "other".into();
    groups[1].runs[1].summary.verdict.exit_code = Some(1);
    for run in &mut groups[1].runs {
        run.summary.run.started_unix_ns += 1_000_000;
    }
    let notes = compare(&groups, &Options::default()).unwrap().notes.join("\n");
    for part in ["differ in host", "1 of 4 runs did not end well", "alternate the sets"] {
        assert!(notes.contains(part), "{notes}");
    }
}

#[test]
fn hostile_names_stay_text_in_every_output() {
    let hostile = "x|y\n<script>alert(1)</script> `a` [l](javascript:1) @team \u{1b}[2J\u{202e}";
    let mut groups = [group(hostile, 0, &[1000]), group("b", 1, &[1000])];
    groups[0].runs[0].phases.push(PhaseFigures { name: hostile.into(), calls: 1, ..PhaseFigures::default() });
    groups[0].runs[0].summary.run.host = hostile.into();
    let comparison = compare(&groups, &Options::default()).unwrap();
    let markdown = markdown(&comparison, true);
    for bad in ["<script", "`a`", "](", "@team", "\u{1b}", "\u{202e}", "x|y"] {
        assert!(!markdown.contains(bad), "{bad:?} in {markdown}");
    }
    for line in markdown.lines().filter(|line| line.starts_with('|')) {
        assert_eq!(line.matches('|').count(), 8, "{line}");
    }
    let text = text(&comparison, true, None);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
    let json: serde_json::Value = serde_json::from_str(&serde_json::to_string(&comparison).unwrap()).unwrap();
    assert_eq!(json["groups"][0]["label"], hostile);
}

#[test]
fn nonsense_is_refused_in_one_sentence() {
    let one = [group("a", 0, &[1])];
    assert_eq!(compare(&one, &Options::default()), Err(CompareError::TooFewGroups));
    let empty = [group("a", 0, &[1]), group("b", 0, &[])];
    assert_eq!(compare(&empty, &Options::default()), Err(CompareError::EmptyGroup("b".into())));
    let two = [group("a", 0, &[1]), group("b", 1, &[1])];
    for alpha in [0.0, 1.0, f64::NAN, -1.0] {
        assert!(compare(&two, &Options { alpha, ..Options::default() }).is_err());
    }
}
