use super::*;
use crate::compare::test_run;
use jobmeter_model::Number;

fn run_with(key: &str, figure: Figure) -> RunView {
    let mut run = test_run(1, 60_000_000_000, &[]);
    run.summary.combined.set_by_key(key, figure);
    run
}

fn ram(figure: Figure, limit: u64) -> Report {
    check(&run_with("rss_bytes_max", figure), &[Budget::at_most(BudgetKind::Ram, limit)])
}

fn bounded(value: u64, lower: u64, upper: u64) -> Figure {
    Figure {
        lower: Some(Number::Int(lower)),
        upper: Some(Number::Int(upper)),
        ..Figure::int(value, Quality::Sampled)
    }
}

#[test]
fn every_outcome_and_its_exit_code() {
    let cases = [
        (Figure::int(100, Quality::Exact), Outcome::Holds, 0, 0),
        (Figure::int(101, Quality::Exact), Outcome::Exceeded, EXIT_EXCEEDED, EXIT_EXCEEDED),
        (bounded(90, 90, 100), Outcome::Holds, 0, 0),
        (bounded(90, 80, 101), Outcome::CannotExclude, 0, EXIT_UNDECIDED),
        (bounded(90, 101, 120), Outcome::Exceeded, EXIT_EXCEEDED, EXIT_EXCEEDED),
        (Figure::int(90, Quality::LowerBound), Outcome::CannotExclude, 0, EXIT_UNDECIDED),
        (Figure::int(90, Quality::Sampled), Outcome::Holds, 0, 0),
        (Figure::unavailable("smaps unreadable"), Outcome::Unknown, EXIT_UNDECIDED, EXIT_UNDECIDED),
        (
            Figure { upper: Some(Number::Int(99)), ..Figure::unavailable("only a bound") },
            Outcome::Holds,
            0,
            0,
        ),
        (
            Figure { upper: Some(Number::Int(101)), ..Figure::unavailable("only a bound") },
            Outcome::Unknown,
            EXIT_UNDECIDED,
            EXIT_UNDECIDED,
        ),
        (
            Figure { upper: Some(Number::Int(99)), ..Figure::int(90, Quality::LowerBound) },
            Outcome::Holds,
            0,
            0,
        ),
        (Figure::float(f64::NAN, Quality::Exact), Outcome::Unknown, EXIT_UNDECIDED, EXIT_UNDECIDED),
    ];
    for (figure, outcome, code, strict_code) in cases {
        let report = ram(figure.clone(), 100);
        assert_eq!(report.lines[0].outcome, outcome, "{figure:?}");
        assert_eq!((report.exit_code(false), report.exit_code(true)), (code, strict_code), "{figure:?}");
        assert_eq!(text(&report).lines().count(), 1);
    }
}

#[test]
fn a_budget_that_only_the_upper_bound_decides_says_so() {
    let figure = Figure { upper: Some(Number::Int(99)), ..Figure::unavailable("too short to be seen") };
    let line = text(&ram(figure, 100));
    assert_eq!(
        line,
        "holds           RAM, peak at most 99 B, budget 100 B; decided by the upper bound: even that is within \
         it: too short to be seen\n"
    );
    let figure = Figure { upper: Some(Number::Int(99)), ..Figure::int(90, Quality::LowerBound) };
    assert!(
        text(&ram(figure, 100)).contains("90 B (at most 99 B), budget 100 B; decided by the upper bound")
    );
}

#[test]
fn a_figure_that_is_missing_is_never_a_pass() {
    let run = test_run(1, 1, &[]);
    for kind in BudgetKind::ALL {
        let report = check(&run, &[Budget::at_most(kind, u64::MAX)]);
        let expected = if kind == BudgetKind::Time { Outcome::Holds } else { Outcome::Unknown };
        assert_eq!(report.lines[0].outcome, expected, "{kind:?}");
    }
    let mut running = test_run(1, 1, &[]);
    running.summary.run.wall_ns = None;
    let report = check(&running, &[Budget::at_most(BudgetKind::Time, 1)]);
    assert_eq!(report.lines[0].outcome, Outcome::Unknown);
}

#[test]
fn exceeded_outweighs_undecided_and_failure_of_the_run_is_noted() {
    let mut run = test_run(1, 700_000_000_000, &[]);
    run.summary.verdict.kind = "oom_killed".into();
    let budgets =
        [Budget::at_most(BudgetKind::Time, 600_000_000_000), Budget::at_most(BudgetKind::GpuRam, 1 << 30)];
    let report = check(&run, &budgets);
    assert_eq!(report.exit_code(false), EXIT_EXCEEDED);
    assert_eq!(inline_exit_code(0, &report, false), EXIT_EXCEEDED);
    assert_eq!(inline_exit_code(137, &report, false), 137, "the command's own failure is not hidden");
    let text = text(&report);
    assert!(text.contains("Wall time 11 min 40 s, budget 10 min 00 s, over by 16.7 %"), "{text}");
    assert!(text.contains("note: the run did not end well (oom_killed)"), "{text}");
}

#[test]
fn a_baseline_sets_budgets_from_its_median() {
    let baseline: Vec<RunView> = [90, 100, 300]
        .iter()
        .map(|ns| test_run(1, *ns, &[("cpu_ns", 50), ("rss_bytes_max", 1000)]))
        .collect();
    let checked = |wall_ns, cpu_ns| test_run(2, wall_ns, &[("cpu_ns", cpu_ns), ("gpu_memory_bytes_max", 7)]);
    let run = checked(105, 53);
    let budgets = baseline_budgets(&baseline, std::slice::from_ref(&run), 0.05);
    let report = check(&run, &budgets);
    let outcomes: Vec<_> = report.lines.iter().map(|line| (line.budget, line.outcome)).collect();
    assert_eq!(
        outcomes,
        [
            ("time", Outcome::Holds),
            ("cpu-time", Outcome::Exceeded),
            ("ram", Outcome::Unknown),
            ("gpu-ram", Outcome::NoBaseline)
        ]
    );
    // Nothing but missing baselines is not a success.
    let nothing = check(&run, &budgets[3..]);
    assert_eq!(nothing.exit_code(false), EXIT_UNDECIDED);
}

#[test]
fn hostile_labels_stay_text_in_machine_outputs() {
    let mut run = run_with("rss_bytes_max", Figure::unavailable("a]]>\n::error::b\u{1}"));
    run.label = "\"><script>&,:%\n::set-output name=x::y\u{0}".into();
    let report = check(&run, &[Budget::at_most(BudgetKind::Ram, 1), Budget::at_most(BudgetKind::Time, 1)]);
    let reports = [report];
    let xml = junit(&reports);
    assert!(!xml.contains("<script") && !xml.chars().any(|c| c != '\n' && c.is_control()), "{xml}");
    assert_eq!(xml.matches("<testcase ").count(), 2);
    assert!(xml.contains("failures=\"1\" errors=\"1\""));
    let annotations = github(&reports);
    assert_eq!(annotations.lines().count(), 2, "{annotations}");
    for line in annotations.lines() {
        assert!(line.starts_with("::error title="), "{line}");
        let title = line.strip_prefix("::error title=").unwrap().split("::").next().unwrap();
        assert!(!title.contains([',', ':']), "{title}");
    }
    let json: serde_json::Value = serde_json::from_str(&serde_json::to_string(&reports).unwrap()).unwrap();
    assert_eq!(json[0]["lines"][0]["value"], serde_json::Value::Null);
}

#[test]
fn all_well_is_one_notice() {
    let report = ram(Figure::int(1, Quality::Exact), 2);
    assert_eq!(github(&[report]), "::notice title=jobmeter check::all budgets hold (1 checked)\n");
}
