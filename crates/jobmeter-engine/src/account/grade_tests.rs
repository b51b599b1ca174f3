use super::*;
use crate::account::cpu::CpuEvidence;

fn figures() -> AllFigures {
    let mut all = AllFigures::default();
    for scope in Scope::JOB {
        let mut figures = Figures::new();
        for metric in CPU.into_iter().chain(CHARS).chain(STORAGE).chain(FAULTS).chain(SWITCHES) {
            figures.set(metric, Stat::Total, Figure::int(1000, Quality::Exact));
        }
        figures.set_by_key("processes_max", Figure::int(3, Quality::Sampled));
        figures.set_by_key("rss_bytes_max", Figure::unavailable("never read"));
        all.scopes.insert(scope, figures);
    }
    all
}

fn signs() -> CounterSigns {
    CounterSigns {
        cpu: CpuEvidence::default().settle(),
        main: Some(Gaps::default()),
        main_has_waited: false,
        combined: Gaps::default(),
        was_alone: false,
    }
}

fn graded(signs: &CounterSigns) -> impl Fn(Scope, Metric) -> Quality + use<> {
    let mut all = figures();
    signs.grade(&mut all);
    move |scope, metric| all.scopes[&scope][metric.key()].quality
}

#[test]
fn without_a_sign_all_but_the_split_is_exact() {
    let grade = graded(&signs());
    for scope in Scope::JOB {
        for metric in [&CPU[..1], &CHARS, &STORAGE, &FAULTS, &SWITCHES].concat() {
            assert_eq!(grade(scope, metric), Quality::Exact, "{scope:?} {metric:?}");
        }
        assert_eq!(grade(scope, Metric::CpuUserNs), Quality::Estimate);
        assert_eq!(grade(scope, Metric::CpuSystemNs), Quality::Estimate);
    }
}

#[test]
fn a_discarding_parent_makes_every_counter_of_the_whole_a_lower_bound() {
    let cpu = CpuEvidence { has_hole: true, ..CpuEvidence::default() }.settle();
    let grade = graded(&CounterSigns { cpu, ..signs() });
    for scope in [Scope::Descendants, Scope::Combined] {
        for metric in [&CPU[..1], &CHARS, &STORAGE, &FAULTS, &SWITCHES].concat() {
            assert_eq!(grade(scope, metric), Quality::LowerBound, "{scope:?} {metric:?}");
        }
        assert_eq!(grade(scope, Metric::CpuUserNs), Quality::Estimate, "no better than its split");
    }
    assert_eq!(grade(Scope::Main, Metric::CpuNs), Quality::Exact, "main has a clock of its own");
    assert_eq!(grade(Scope::Main, Metric::FaultsMinor), Quality::Exact);
}

#[test]
fn a_split_by_the_group_is_not_better_than_the_total() {
    let split = |quality| {
        let cpu = CpuTotal { split: Quality::Sampled, quality, ..signs().cpu };
        graded(&CounterSigns { cpu, ..signs() })(Scope::Combined, Metric::CpuUserNs)
    };
    assert_eq!((split(Quality::Exact), split(Quality::LowerBound)), (Quality::Sampled, Quality::LowerBound));
}

#[test]
fn each_gap_lowers_its_own_counters() {
    type Case = (Gaps, [Metric; 2]);
    let cases: [Case; 3] = [
        (Gaps { chars: true, ..Gaps::default() }, CHARS),
        (Gaps { storage: true, ..Gaps::default() }, STORAGE),
        (Gaps { switches: true, ..Gaps::default() }, SWITCHES),
    ];
    for (combined, lowered) in cases {
        let grade = graded(&CounterSigns { combined, ..signs() });
        for metric in [CHARS, STORAGE, FAULTS, SWITCHES].concat() {
            let expected = if lowered.contains(&metric) { Quality::LowerBound } else { Quality::Exact };
            assert_eq!(grade(Scope::Combined, metric), expected, "{combined:?} {metric:?}");
            assert_eq!(grade(Scope::Descendants, metric), expected, "{combined:?} {metric:?}");
            assert_eq!(grade(Scope::Main, metric), Quality::Exact, "{metric:?}");
        }
    }
}

#[test]
fn main_by_its_threads_is_a_lower_bound() {
    let switches = Gaps { switches: true, ..Gaps::default() };
    let grade = graded(&CounterSigns { main: Some(switches), main_has_waited: true, ..signs() });
    for metric in [CHARS, STORAGE, SWITCHES].concat() {
        assert_eq!(grade(Scope::Main, metric), Quality::LowerBound, "{metric:?}");
    }
    for metric in [Metric::CpuNs, Metric::FaultsMinor, Metric::FaultsMajor] {
        assert_eq!(grade(Scope::Main, metric), Quality::Exact, "{metric:?}");
    }
}

#[test]
fn an_attached_process_whose_end_was_missed_is_a_lower_bound_itself() {
    let cpu = CpuEvidence { end_is_missing: true, ..CpuEvidence::default() }.settle();
    let grade = graded(&CounterSigns { cpu, ..signs() });
    for metric in [&CPU[..1], &CHARS, &STORAGE, &FAULTS, &SWITCHES].concat() {
        assert_eq!(grade(Scope::Main, metric), Quality::LowerBound, "{metric:?}");
    }
    let evidence = CpuEvidence { threads: 50_000, ..CpuEvidence::default() };
    let grade = graded(&CounterSigns { cpu: evidence.settle(), ..signs() });
    assert_eq!(grade(Scope::Main, Metric::CpuNs), Quality::LowerBound);
    assert_eq!(grade(Scope::Main, Metric::FaultsMinor), Quality::Exact, "threads lose time only");
}

#[test]
fn what_a_group_counted_beyond_short_threads_may_be_of_main() {
    let cpu = CpuTotal { beyond_accounts_ns: 5, main_is_short: true, ..signs().cpu };
    let grade = graded(&CounterSigns { cpu: cpu.clone(), ..signs() });
    assert_eq!(grade(Scope::Main, Metric::CpuNs), Quality::LowerBound);
    assert_eq!(grade(Scope::Descendants, Metric::CpuNs), Quality::Estimate);
    assert_eq!(grade(Scope::Combined, Metric::CpuNs), Quality::Exact);
    assert_eq!(grade(Scope::Descendants, Metric::FaultsMinor), Quality::Exact);
    let grade = graded(&CounterSigns { cpu: CpuTotal { beyond_accounts_ns: 0, ..cpu }, ..signs() });
    assert_eq!(grade(Scope::Descendants, Metric::CpuNs), Quality::Exact, "by the accounts");
}

#[test]
fn main_without_a_child_is_graded_as_the_whole() {
    let cpu = CpuTotal { split: Quality::Sampled, ..signs().cpu };
    let grade = graded(&CounterSigns { cpu, was_alone: true, main_has_waited: true, ..signs() });
    assert_eq!(grade(Scope::Main, Metric::CpuUserNs), Quality::Sampled);
    assert_eq!(grade(Scope::Main, Metric::ReadCharsBytes), Quality::Exact);
}

#[test]
fn bytes_of_main_that_may_not_be_read_are_missing_and_not_nought() {
    let both = Gaps { chars: true, storage: true, ..Gaps::default() };
    let chars = Gaps { chars: true, ..Gaps::default() };
    let signs = CounterSigns { main: Some(both), combined: chars, ..signs() };
    let grade = graded(&signs);
    for scope in Scope::JOB {
        assert_eq!(grade(scope, Metric::ReadCharsBytes), Quality::Unavailable, "{scope:?}");
        assert_eq!(grade(scope, Metric::WriteCharsBytes), Quality::Unavailable, "{scope:?}");
        assert!(signs.is_known(scope, Metric::CpuNs));
    }
    assert_eq!(grade(Scope::Combined, Metric::ReadStorageBytes), Quality::Exact, "wait4 told it");
    assert_eq!(grade(Scope::Main, Metric::ReadStorageBytes), Quality::Unavailable);
    assert_eq!(grade(Scope::Descendants, Metric::WriteStorageBytes), Quality::Unavailable);
    let nothing = CounterSigns { main: None, combined: chars, ..signs.clone() };
    assert!(!nothing.is_known(Scope::Combined, Metric::ReadCharsBytes));
    let child = CounterSigns { main: Some(Gaps::default()), combined: both, ..signs };
    assert!(child.is_known(Scope::Combined, Metric::ReadCharsBytes), "a lower bound, by the others");
    assert!(child.is_known(Scope::Combined, Metric::ReadStorageBytes));
}

#[test]
fn rounding_gives_bounds_to_the_whole_and_to_the_descendants() {
    let bounds_ns = Some((900, 1300));
    let cpu = CpuTotal { total_ns: 1000, bounds_ns, quality: Quality::LowerBound, ..signs().cpu };
    let mut all = figures();
    if let Some(figures) = all.scopes.get_mut(&Scope::Descendants) {
        figures.set_by_key("cpu_ns", Figure::int(400, Quality::Exact));
    }
    CounterSigns { cpu, ..signs() }.grade(&mut all);
    let bounds = |scope| {
        let figure: &Figure = &all.scopes[&scope]["cpu_ns"];
        (figure.lower, figure.upper)
    };
    assert_eq!(bounds(Scope::Combined), (Some(Number::Int(900)), Some(Number::Int(1300))));
    assert_eq!(bounds(Scope::Descendants), (Some(Number::Int(300)), Some(Number::Int(700))));
    assert_eq!(bounds(Scope::Main), (None, None));
}

#[test]
fn what_is_unknown_is_not_graded() {
    let mut all = AllFigures::default();
    let mut unknown = Figures::new();
    unknown.set_by_key("faults_minor", Figure::unavailable("no tick could read it"));
    all.scopes.insert(Scope::Combined, unknown);
    let cpu = CpuEvidence { has_hole: true, ..CpuEvidence::default() }.settle();
    CounterSigns { cpu, ..signs() }.grade(&mut all);
    let figure = &all.scopes[&Scope::Combined]["faults_minor"];
    assert_eq!(
        (figure.quality, figure.reason.as_deref()),
        (Quality::Unavailable, Some("no tick could read it"))
    );
}

#[test]
fn samples_over_missing_processes_are_lower_bounds() {
    let mut all = figures();
    grade_partial(&mut all, "some are missing");
    for scope in [Scope::Descendants, Scope::Combined] {
        let figures = &all.scopes[&scope];
        assert_eq!(figures["processes_max"].quality, Quality::LowerBound);
        assert_eq!(figures["processes_max"].reason.as_deref(), Some("some are missing"));
        assert_eq!(figures["rss_bytes_max"].quality, Quality::Unavailable);
        assert_eq!(figures["cpu_ns"].quality, Quality::Exact);
    }
    assert_eq!(all.scopes[&Scope::Main]["processes_max"].quality, Quality::Sampled);
}

#[test]
fn a_part_that_was_never_read_makes_the_whole_a_lower_bound() {
    let mut all = figures();
    let whole = all.scopes.get_mut(&Scope::Combined).expect("the whole");
    whole.get_mut(Metric::CpuNs, Stat::Total).expect("CPU time").upper = Some(Number::Int(u64::MAX));
    grade_unread(&mut all, "a container could not be read");
    for scope in [Scope::Descendants, Scope::Combined] {
        let figures = &all.scopes[&scope];
        for key in ["cpu_ns", "processes_max"] {
            let figure = &figures[key];
            assert_eq!((figure.quality, figure.upper), (Quality::LowerBound, None), "{key}");
            assert_eq!(figure.reason.as_deref(), Some("a container could not be read"));
        }
        assert_eq!(figures["rss_bytes_max"].quality, Quality::Unavailable, "unknown stays unknown");
    }
    assert_eq!(all.scopes[&Scope::Main]["cpu_ns"].quality, Quality::Exact, "main itself was read");
}
