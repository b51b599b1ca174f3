//! What a summary claims: `exact` only where nothing can have been missed, and nothing that the machine does not have.
//! Each test was written for a claim that was false. (Every summary of every test is besides checked for
//! contradictions when it is read, see `help::Room::summary_file`.)

use crate::help::{Room, figure, is_root, not_here, testkit, value};
use jobmeter_model::Quality;
use jobmeter_model::summary::Source;
use std::process::Command;

const COUNTERS: [&str; 9] = [
    "cpu_ns",
    "read_chars_bytes",
    "write_chars_bytes",
    "read_storage_bytes",
    "write_storage_bytes",
    "faults_minor",
    "faults_major",
    "switches_voluntary",
    "switches_involuntary",
];

#[test]
fn a_parent_that_discards_its_children_makes_every_counter_a_lower_bound() {
    let room = Room::new("discards");
    for how in ["ignore", "nocldwait"] {
        for options in [&[][..], &["--no-cgroup"], &["--no-cgroup", "--no-perf"]] {
            let run = room.run_testkit(options, &["autoreap", how, "60", "4"]);
            let summary = run.summary();
            for scope in [&summary.descendants, &summary.combined] {
                for key in &COUNTERS[1..] {
                    let figure = figure(scope, key);
                    assert_eq!(figure.quality, Quality::LowerBound, "{how} {options:?} {key}: {figure:?}");
                }
                // Root has the kernel's mark of every process that ends.
                let peak = figure(scope, "rss_bytes_max");
                let has_marks =
                    summary.sources.iter().any(|source| source.name == "taskstats" && source.used);
                assert!(
                    has_marks || peak.upper.is_none(),
                    "{how} {options:?}: nobody knows the others: {peak:?}"
                );
            }
            let main_ns = value(&summary.main, "cpu_ns");
            assert!(main_ns < 120e6, "{how} {options:?}: {main_ns} ns of its 60 children are not main's");
        }
    }
}

/// That main ignores SIGCHLD is still seen at its end, where no tick came between. SA_NOCLDWAIT is not; events of the
/// kernel tell that it had children which it never waited for.
#[test]
fn children_that_were_discarded_between_two_ticks_are_not_forgotten() {
    let room = Room::new("discards-unseen");
    for how in ["ignore", "nocldwait"] {
        for options in [&["-i", "1s", "--no-cgroup"][..], &["-i", "1s", "--no-cgroup", "--no-perf"]] {
            let run = room.run_testkit(options, &["autoreap", how, "60", "4"]);
            let summary = run.summary();
            let follows = |source: &Source| {
                source.used
                    && ["perf_ring", "exit_events"].contains(&source.name.as_str())
                    && source.detail.starts_with("starts")
            };
            if how == "nocldwait" && !summary.sources.iter().any(follows) {
                eprintln!("skipped: no events of processes with {options:?}");
                continue;
            }
            for key in &COUNTERS[1..] {
                let figure = figure(&summary.combined, key).clone();
                assert_eq!(figure.quality, Quality::LowerBound, "{how} {options:?} {key}: {figure:?}");
            }
        }
    }
}

#[test]
fn who_outlives_main_is_not_counted_to_the_end() {
    let room = Room::new("outlives");
    let file = room.file("left");
    // It sleeps and wakes again and again: the switches of its other threads and children show nowhere.
    let run = room.run_testkit(&["--no-record"], &["leave-behind", "300", &file]);
    let summary = run.summary();
    for key in ["switches_voluntary", "switches_involuntary"] {
        assert_eq!(figure(&summary.combined, key).quality, Quality::LowerBound, "{key}");
    }
    assert_eq!(figure(&summary.main, "cpu_ns").quality, Quality::Exact);
}

#[test]
fn user_and_system_time_are_a_guess_where_the_kernel_guesses() {
    let room = Room::new("split");
    let run = room.run_testkit(&["--no-cgroup"], &["burn", "60"]);
    let combined = &run.summary().combined;
    assert_eq!(figure(combined, "cpu_ns").quality, Quality::Exact);
    for key in ["cpu_user_ns", "cpu_system_ns", "cpu_user_ns_per_s_mean"] {
        assert_eq!(figure(combined, key).quality, Quality::Estimate, "{key}");
    }
    let run = room.run_testkit(&[], &["spawn-exec", "30", "3"]);
    let summary = run.summary();
    let quality = figure(&summary.combined, "cpu_user_ns").quality;
    match summary.sources.iter().any(|source| source.name == "cgroup" && source.used) {
        true => assert_ne!(quality, Quality::Exact, "a group counts by ticks too"),
        false => not_here("no cgroup could be made, so that none divides the time"),
    }
}

#[test]
fn rows_at_marks_hold_nothing_of_the_machine() {
    let room = Room::new("machine");
    let record = room.file("run.jobmeter");
    let script = format!("for i in 1 2 3 4 5 6 7 8; do {} mark m$i; done", crate::help::JOBMETER);
    let run = room.run(&["--record", &record, "-i", "10s"], &["sh", "-c", &script]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let csv = room.finish(room.jobmeter(&["export", &record, "-f", "csv", "-o", "-"]));
    let csv = String::from_utf8(csv.stdout).expect("text");
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let column = |name: &str| {
        header.iter().position(|title| *title == name).unwrap_or_else(|| panic!("no {name} in {header:?}"))
    };
    let (machine, memory, job) =
        (column("system_cpu_ns"), column("system_memory_used_bytes"), column("combined_cpu_ns"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert!(rows.len() >= 9, "a row for each mark: {csv}");
    assert!(rows.iter().all(|row| !row[job].is_empty()), "every row has the job");
    let read = rows.iter().filter(|row| !row[machine].is_empty()).count();
    assert_eq!(read, rows.iter().filter(|row| !row[memory].is_empty()).count());
    // The first, the last, and one for each 90 ms at most.
    let wall_ns = run.summary().run.wall_ns.expect("it has ended");
    let most = 2 + (wall_ns / 90_000_000) as usize + 1;
    assert!(read <= most, "{read} of {} rows in {wall_ns} ns claim a reading of the machine", rows.len());
}

#[test]
fn a_run_that_goes_on_does_not_say_that_its_meter_cost_nothing() {
    let room = Room::new("going");
    let record = room.file("run.jobmeter");
    let testkit = testkit();
    let command = ["run", "--record", &record, "--", testkit.to_str().expect("UTF-8"), "sleep", "60000"];
    let mut child = room.jobmeter(&command).spawn().expect("start jobmeter");
    crate::help::wait_until("the record", || {
        std::fs::metadata(&record).is_ok_and(|record| record.len() > 2000)
    });
    let shown = room.finish(room.jobmeter(&["show", &record, "--json"]));
    let text = room.finish(room.jobmeter(&["show", &record]));
    crate::help::send(child.id(), libc::SIGTERM);
    child.wait().expect("it ends");
    let summary: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    assert_eq!(summary["overhead"]["cpu_ns"], serde_json::Value::Null);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(!text.contains("used 0 ns"), "{text}");
}

#[test]
fn bytes_of_a_job_that_took_on_another_user_are_missing() {
    let room = Room::new("setuid");
    if !is_root() {
        return not_here("to make a program setuid takes root");
    }
    let job = room.file("job");
    std::fs::copy(testkit(), &job).expect("copy the workload");
    let ran = Command::new("sh")
        .args([
            "-c",
            "chmod 755 \"$0\" && chmod 4755 \"$1\" && chown 65534 \"$0\" && unshare --mount sh -c '
                mount -t proc -o hidepid=2 proc /proc || exit 77
                exec setpriv --reuid=65534 --clear-groups \"$@\"' sh \"$2\" run --no-record -f json -o \"$0/summary.json\" -- \"$1\" sleep 200
            ",
        ])
        .arg(&room.dir)
        .arg(&job)
        .arg(crate::help::JOBMETER)
        .output()
        .expect("start sh");
    let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
    let Some(summary) = room.summary_file() else {
        return not_here(&format!("a /proc with hidepid could not be had: {stderr}"));
    };
    for scope in [&summary.main, &summary.combined] {
        for key in ["read_chars_bytes", "write_chars_bytes"] {
            let figure = figure(scope, key);
            assert_eq!((figure.value, figure.quality), (None, Quality::Unavailable), "{key}: {figure:?}");
        }
    }
}

#[test]
fn time_that_short_threads_lose_is_not_called_exact() {
    let room = Room::new("churn");
    for options in [&["--no-cgroup"][..], &["--no-cgroup", "--no-perf", "-i", "5ms"]] {
        let run = room.run_testkit(options, &["churn", "6000"]);
        for scope in [&run.summary().main, &run.summary().combined] {
            let cpu = figure(scope, "cpu_ns");
            assert_eq!(cpu.quality, Quality::LowerBound, "{options:?}: {cpu:?}");
        }
    }
    let run = room.run_testkit(&["--no-cgroup"], &["threads", "3", "60"]);
    assert_eq!(
        figure(&run.summary().combined, "cpu_ns").quality,
        Quality::Exact,
        "three threads lose nothing"
    );
}

#[test]
fn who_killed_it_is_said_where_it_is_known() {
    let room = Room::new("oom");
    // Who is killed in the first moments is not told apart.
    let run = room.run(&[], &["sh", "-c", "sleep 0.1; kill -9 $$"]);
    let verdict = &run.summary().verdict;
    assert!(verdict.text.starts_with("killed by SIGKILL (9)"), "{}", verdict.text);
    if !is_root() {
        return not_here("to make a memory cgroup takes root");
    }
    // A group with a limit, around jobmeter and its job. v1 or v2, wherever memory is counted.
    let script = r#"
        v1=$(sed -n 's/^[0-9]*:memory:/\/sys\/fs\/cgroup\/memory/p' /proc/self/cgroup)
        v2=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
        for dir in $v1 $v2; do
            group=$dir/jobmeter-test-$$
            mkdir "$group" 2>/dev/null || continue
            if echo 67108864 > $group/memory.limit_in_bytes || echo 67108864 > $group/memory.max; then
                sh -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$group" "$@"
                rmdir "$group"; exit 0
            fi 2> /dev/null
            rmdir "$group"
        done; exit 77"#;
    let summary = room.file("summary.json");
    let testkit = testkit();
    let testkit = testkit.to_str().expect("UTF-8");
    let truth = room.file("truth");
    let mut command = std::process::Command::new("sh");
    command.args([
        "-c",
        script,
        "sh",
        crate::help::JOBMETER,
        "run",
        "--no-record",
        "-f",
        "json",
        "--force",
        "-o",
    ]);
    command.args([&summary, "--", testkit, "hold", "200000000", "1000", "1500", &truth]);
    let run = room.finish(command);
    if run.code == 77 {
        return not_here("no memory cgroup with a limit could be made");
    }
    let verdict = &run.summary().verdict;
    assert_eq!(verdict.kind, "oom_killed", "{verdict:?}");
    assert_eq!(verdict.text, "killed for want of memory (OOM), at the limit of 67.1 MB");
    assert!(verdict.evidence.iter().any(|word| word.contains("jobmeter-test-")), "{verdict:?}");
}
