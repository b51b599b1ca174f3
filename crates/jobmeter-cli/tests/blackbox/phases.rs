//! Phases marked from a shell script: exact however short they are against the ticks, nested, side by side, and
//! adding up. The ticks are 10 s apart here, so every figure rests on the boundaries alone.

use crate::help::{JOBMETER, Room, Run, testkit, value};
use serde_json::Value;

const MS: f64 = 1e6;

/// Runs a script in which `mark`, `burn` are commands; the phases as `show --phases --json` gives them.
fn phases_of(room: &Room, options: &[&str], script: &str) -> (Run, Vec<Value>) {
    let testkit = testkit();
    let script = format!(
        "mark() {{ '{JOBMETER}' mark \"$@\" || exit 90; }}\nburn() {{ '{}' burn \"$1\"; }}\n{script}",
        testkit.display()
    );
    let mut all = vec!["-i", "10s"];
    all.extend(options);
    let run = room.run(&all, &["sh", "-c", &script]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let shown = room.finish(room.jobmeter(&["show", "last", "--phases", "--json"]));
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    (run, shown["phases"].as_array().expect("a list").clone())
}

fn number(phases: &[Value], name: &str, key: &str) -> f64 {
    let phase = phases.iter().find(|phase| phase["name"] == name);
    let phase = phase.unwrap_or_else(|| panic!("no phase is called {name}: {phases:?}"));
    phase[key].as_f64().unwrap_or_else(|| panic!("{key} of {name} is unknown: {phase}"))
}

/// Without a cgroup the kernel tells the time of ended children in ticks of 10 ms, cut off at either boundary.
fn slack_ns(run: &Run) -> f64 {
    let has_group = run.summary().sources.iter().any(|source| source.name == "cgroup" && source.used);
    if has_group { 1.0 * MS } else { 21.0 * MS }
}

fn holds(what: &str, cpu_ns: f64, least_ns: f64, most_ns: f64, slack_ns: f64) {
    eprintln!("{what}: {:.2} ms in {:.2} to {:.2} ms", cpu_ns / MS, least_ns / MS, most_ns / MS);
    assert!(cpu_ns >= least_ns - slack_ns, "{what}: {cpu_ns} ns, but {least_ns} ns were burned in it");
    assert!(cpu_ns <= most_ns + slack_ns, "{what}: {cpu_ns} ns, but at most {most_ns} ns can belong to it");
}

#[test]
fn short_and_nested_phases_hold_the_work_that_was_done_in_them() {
    for options in [&[][..], &["--no-cgroup"][..]] {
        let room = Room::new("phases-nested");
        let script = "mark --begin load; burn 60; mark --end load
            burn 40
            mark --begin train; burn 100; mark --begin inner; burn 150; mark --end inner; mark --end train";
        let (run, phases) = phases_of(&room, options, script);
        let names: Vec<&str> = phases.iter().filter_map(|phase| phase["name"].as_str()).collect();
        assert_eq!(names, ["load", "train", "inner"]);
        let total_ns = value(&run.summary().combined, "cpu_ns");
        // Shells and the marks themselves: all of it may lie in any one phase.
        let rest_ns = total_ns - 350.0 * MS;
        assert!(rest_ns > 0.0, "{total_ns}");
        let slack_ns = slack_ns(&run);
        for (name, burned_ms) in [("load", 60.0), ("train", 250.0), ("inner", 150.0)] {
            let burned_ns = burned_ms * MS;
            holds(name, number(&phases, name, "cpu_ns"), burned_ns, burned_ns + rest_ns, slack_ns);
            assert!(number(&phases, name, "time_total_ns") >= burned_ns, "{phases:?}");
            assert_eq!(number(&phases, name, "calls"), 1.0);
            assert!(number(&phases, name, "peak_rss_bytes") > 0.0);
        }
        let inside = number(&phases, "train", "cpu_ns") - number(&phases, "inner", "cpu_ns");
        holds("train without inner", inside, 100.0 * MS, 100.0 * MS + rest_ns, slack_ns);
    }
}

/// The kernel counts the CPU time of a running process up to its last clock tick: at a mark that is late.
#[test]
fn phases_are_exact_only_while_nobody_else_runs() {
    let room = Room::new("phases-running");
    let script = "mark --begin quiet; burn 30; mark --end quiet
        ( while :; do :; done ) & other=$!
        mark --begin busy; burn 30; mark --end busy
        kill $other";
    let (run, phases) = phases_of(&room, &[], script);
    let quality = |name: &str| {
        let phase = phases.iter().find(|phase| phase["name"] == name);
        phase.and_then(|phase| phase["quality"].as_str()).map(str::to_owned)
    };
    assert_eq!(quality("busy").as_deref(), Some("sampled"), "{phases:?}");
    let has_group = run.summary().sources.iter().any(|source| source.name == "cgroup" && source.used);
    let expected = if has_group { "exact" } else { "sampled" };
    assert_eq!(quality("quiet").as_deref(), Some(expected), "{phases:?}");
}

/// Seven phases without a gap between them, inside one that holds them all: nothing is lost or counted twice.
#[test]
fn a_run_split_into_phases_conserves_cpu_seconds_and_bytes() {
    let room = Room::new("phases-conserve");
    let file = room.file("written");
    let mut script = "mark --begin all\n".to_owned();
    for at in 0..7 {
        script += &format!("mark --begin part{at}; burn 20; head -c 1000000 /dev/zero >> '{file}'\n");
        script += &format!("mark --end part{at}\n");
    }
    script += "mark --end all";
    let (run, phases) = phases_of(&room, &[], &script);
    let part_sum =
        |key: &str| -> f64 { (0..7).map(|at| number(&phases, &format!("part{at}"), key)).sum::<f64>() };
    let combined = &run.summary().combined;
    for (key, least) in [("cpu_ns", 140.0 * MS), ("write_chars_bytes", 7e6)] {
        let (parts, all, total) = (part_sum(key), number(&phases, "all", key), value(combined, key));
        eprintln!("{key}: parts {parts}, all {all}, run {total}");
        let slack = if key == "cpu_ns" { slack_ns(&run) } else { 0.0 };
        assert!(parts >= least - slack, "{key}: {parts} of {least}");
        assert!(parts <= all && all <= total + slack, "{key}: {parts} <= {all} <= {total}");
    }
    for at in 0..7 {
        let written = number(&phases, &format!("part{at}"), "write_chars_bytes");
        assert!((1e6..1.1e6).contains(&written), "part{at} wrote {written} bytes");
    }
}

#[test]
fn concurrent_phases_and_repeated_calls_are_kept_apart() {
    let room = Room::new("phases-concurrent");
    let script = "( mark --begin left; burn 120; mark --end left ) &
        ( mark --begin right; burn 80; mark --end right ) &
        wait
        for n in 10 30 50; do mark --begin again; burn $n; mark --end again; done
        mark --begin open; burn 30";
    let (run, phases) = phases_of(&room, &[], script);
    let total_ns = value(&run.summary().combined, "cpu_ns");
    let slack_ns = slack_ns(&run);
    for (name, burned_ms) in [("left", 120.0), ("right", 80.0), ("again", 90.0), ("open", 30.0)] {
        holds(name, number(&phases, name, "cpu_ns"), burned_ms * MS, total_ns, slack_ns);
    }
    assert_eq!(number(&phases, "again", "calls"), 3.0);
    let times = ["time_min_ns", "time_mean_ns", "time_max_ns"].map(|key| number(&phases, "again", key));
    assert!(times[0] >= 10.0 * MS && times[2] >= 50.0 * MS, "{times:?}");
    assert!(times[0] < times[1] && times[1] < times[2], "{times:?}");
    assert!((number(&phases, "again", "time_total_ns") - 3.0 * times[1]).abs() < 3.0);
    assert!(number(&phases, "again", "time_std_ns") > 0.0);
    assert_eq!(number(&phases, "open", "open_calls"), 1.0);
    let shown = room.finish(room.jobmeter(&["show", "--phases"]));
    let text = String::from_utf8_lossy(&shown.stdout);
    for word in ["phase", "calls", "left", "right", "again", "open", "never ended"] {
        assert!(text.contains(word), "no {word}: {text}");
    }
}

#[test]
fn phases_of_recorded_runs_are_compared() {
    let room = Room::new("phases-compared");
    for burn in ["20", "120"] {
        phases_of(&room, &["--name", "twice"], &format!("mark --begin load; burn {burn}; mark --end load"));
    }
    let compared = room.finish(room.jobmeter(&["compare", "last~1", "last", "-f", "json"]));
    assert_eq!(compared.code, 0, "{}", compared.stderr);
    let comparison: Value = serde_json::from_slice(&compared.stdout).expect("JSON");
    let rows = comparison["rows"].as_array().expect("rows");
    let of_phase: Vec<&Value> = rows.iter().filter(|row| row["scope"] == "phase").collect();
    assert!(of_phase.iter().any(|row| row.to_string().contains("load")), "{comparison}");
}

#[test]
fn an_end_closes_the_phase_it_means_whoever_sends_it() {
    let room = Room::new("phases-senders");
    // The last command of a subshell runs in its place, and each line of a recipe in a shell of its own.
    let script = format!(
        "( mark --begin sub; burn 30; exec '{JOBMETER}' mark --end sub ) & wait
        sh -c \"'{JOBMETER}' mark --begin recipe; true\"; burn 30; sh -c \"'{JOBMETER}' mark --end recipe; true\"
        burn 40"
    );
    let (run, phases) = phases_of(&room, &[], &script);
    let wall_ns = run.summary().run.wall_ns.expect("an end") as f64;
    for name in ["sub", "recipe"] {
        let phase = phases.iter().find(|phase| phase["name"] == name).expect("the phase");
        assert_eq!(phase["open_calls"], 0, "{phase}");
        let spent_ns = number(&phases, name, "time_total_ns");
        assert!(spent_ns < wall_ns - 35.0 * MS, "{name} took {spent_ns} of {wall_ns} ns: it never ended");
    }
}

#[test]
fn a_phase_says_what_it_does_not_know() {
    let room = Room::new("phases-grades");
    let script = "burn 20; mark --begin p; burn 30; mark --end p; burn 20";
    let (_, phases) = phases_of(&room, &["--no-cgroup"], script);
    assert_eq!(phases[0]["quality"], "sampled", "children's time is in ticks of 10 ms: {phases:?}");
    assert_eq!(phases[0]["peak_quality"], "lower_bound", "{phases:?}");
}
