//! Run files that were written by earlier builds and stay readable. A fixture is never written anew: what a later
//! version of the format changes gets a file of its own beside it.

use jobmeter_record::{DamageKind, Run};
use std::path::PathBuf;

fn fixture(name: &str) -> Run {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs");
    Run::open(&folder.join(name)).expect("a readable run file")
}

/// Verdict, wall time, ticks, CPU time and peak memory of the job.
fn figures(run: &Run) -> (String, Option<u64>, u64, Option<u64>, Option<u64>) {
    let summary = run.told_summary();
    let figure = |key: &str| summary.combined.by_key(key).and_then(|figure| figure.as_u64());
    (
        summary.verdict.kind.to_string(),
        summary.run.wall_ns,
        summary.run.ticks,
        figure("cpu_ns"),
        figure("rss_bytes_max"),
    )
}

#[test]
fn version_1_of_a_plain_run() {
    let run = fixture("v1-plain.jobmeter");
    let told = ("exited".to_owned(), Some(980_851_752), 11, Some(61_853_862), Some(1_703_936));
    assert_eq!(figures(&run), told);
    assert_eq!(run.told_summary().verdict.exit_code, Some(3));
    assert_eq!((run.info().name.as_deref(), run.info().host.as_str()), (Some("plain"), "example"));
    assert_eq!(run.find_damage(), None);
}

#[test]
fn version_1_of_a_run_with_phases() {
    let run = fixture("v1-phases.jobmeter");
    let told = ("exited".to_owned(), Some(495_548_261), 10, Some(10_455_000), Some(4_349_952));
    assert_eq!(figures(&run), told);
    let phases = run.phases();
    let told: Vec<(&str, u64, u64)> =
        phases.iter().map(|phase| (phase.name.as_str(), phase.calls, phase.open_calls)).collect();
    assert_eq!(told, [("load", 1, 0), ("open", 1, 1)]);
    assert_eq!(phases[0].time_total_ns, run.spans()[0].time_ns());
    assert!(run.find_damage().is_none());
}

#[test]
fn version_1_of_an_attached_run() {
    let run = fixture("v1-attached.jobmeter");
    let told = ("unknown".to_owned(), Some(550_294_631), 6, Some(0), Some(1_855_488));
    assert_eq!(figures(&run), told);
    assert_eq!(run.info().mode, "attach");
}

#[test]
fn version_1_of_a_run_that_was_cut_off_is_crashed_and_not_damaged() {
    let run = fixture("v1-cut-off.jobmeter");
    let told = ("crashed".to_owned(), Some(495_289_958), 10, Some(8_728_000), Some(4_349_952));
    assert_eq!(figures(&run), told);
    let kinds: Vec<String> =
        run.told_summary().warnings.into_iter().map(|warning| warning.kind.to_string()).collect();
    assert_eq!(kinds, ["no_trailer"]);
    assert_eq!(run.find_damage().map(|damage| damage.kind), Some(DamageKind::CutOff));
}
