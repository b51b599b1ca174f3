//! What ran in a container is told apart. Real engines are tried by `make test-containers`; here a client is known by its
//! name.

use crate::help::{Room, figure, testkit, value};
use jobmeter_model::Quality;

#[test]
fn what_apptainer_runs_is_the_scope_containers_and_a_part_of_the_job() {
    let room = Room::new("apptainer");
    // A shell of that name, which starts what runs in the container as its child.
    std::fs::copy("/bin/sh", room.path("apptainer")).expect("a shell");
    // A program that starts others would make the number of processes change while a tick counts them.
    let script = format!("{} burn 400; sleep 0.1; true", testkit().display());
    let run = room.run(&["-i", "20ms"], &[&room.file("apptainer"), "-c", &script]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let summary = run.summary();
    let inside = figure(&summary.containers, "cpu_ns");
    let (inside_ns, whole_ns) = (value(&summary.containers, "cpu_ns"), value(&summary.combined, "cpu_ns"));
    // As last read, in clock ticks of 10 ms; the client's own time is in it.
    assert!(inside_ns >= 0.38e9 && inside_ns <= whole_ns + 1.0, "{inside_ns} of {whole_ns}");
    assert_eq!(inside.quality, Quality::LowerBound, "{inside:?}");
    let processes = value(&summary.containers, "processes_max");
    assert!(processes >= 1.0 && processes < value(&summary.combined, "processes_max"), "{processes}");
    let held = value(&summary.containers, "rss_sum_bytes_max");
    assert!(held > 1e6 && held <= value(&summary.combined, "rss_sum_bytes_max"), "{held}");
    let names: Vec<&str> = summary
        .sources
        .iter()
        .filter(|source| source.name == "containers")
        .map(|source| source.detail.as_str())
        .collect();
    assert_eq!(names, ["apptainer"]);

    let run = room.run(&[], &["true"]);
    assert!(run.summary().containers.is_empty(), "no container, no figures");
}
