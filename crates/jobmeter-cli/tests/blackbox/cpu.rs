//! CPU time against an independent witness: a cgroup that the job makes for itself where it may (cpuacct.usage
//! of v1 or cpu.stat of v2), else `wait4`. The witness writes which one it was.
//!
//! Tolerance: 0.5 % of the truth, plus 4 ms for what the witness cannot see of itself (its last instructions, and
//! its own start before it looks at its clock: about 1 ms in a debug build).

use crate::help::{Room, figure, testkit, value};
use jobmeter_model::Quality;

const INTERVALS: [&str; 3] = ["10ms", "100ms", "1s"];
const BLIND_NS: f64 = 4e6;

/// Runs a command below the witness at the given options; returns (what jobmeter said, what the witness said).
fn measure(room: &Room, options: &[&str], command: &[&str]) -> (f64, f64, Quality) {
    let file = room.file("truth");
    let mut workload = vec!["witness", file.as_str()];
    workload.extend(command);
    let run = room.run_testkit(options, &workload);
    assert_eq!(run.code, 0, "{command:?}: {}", run.stderr);
    let combined = &run.summary().combined;
    let said = value(combined, "cpu_ns");
    let truth = room.truth_number("truth", "cpu_ns");
    let quality = figure(combined, "cpu_ns").quality;
    let share = 100.0 * (said / truth - 1.0);
    eprintln!(
        "{options:?} {}: {said:.0} ns, {} says {truth:.0} ns ({share:+.3} %), {quality:?}",
        command.join(" ").chars().take(160).collect::<String>(),
        room.truth("truth")["source"],
    );
    (said, truth, quality)
}

fn assert_exact(room: &Room, command: &[&str]) {
    for interval in INTERVALS {
        let (said, truth, quality) = measure(room, &["-i", interval], command);
        assert!(
            (said - truth).abs() <= 0.005 * truth + BLIND_NS,
            "{command:?} at {interval}: {said} instead of {truth}"
        );
        assert_eq!(quality, Quality::Exact, "{command:?} at {interval}");
    }
}

fn assert_exact_testkit(name: &str, workload: &[&str]) {
    let room = Room::new(name);
    let testkit = testkit();
    let mut command = vec![testkit.to_str().expect("a UTF-8 path")];
    command.extend(workload);
    assert_exact(&room, &command);
}

#[test]
fn two_thousand_short_children() {
    assert_exact_testkit("short", &["spawn-short", "2000", "2"]);
}

#[test]
fn short_programs_by_posix_spawn() {
    assert_exact_testkit("exec", &["spawn-exec", "500", "2"]);
}

#[test]
fn children_without_an_exit_signal() {
    assert_exact_testkit("clone", &["clone-no-sigchld", "500", "2"]);
}

#[test]
fn daemons_in_sessions_of_their_own() {
    assert_exact_testkit("daemons", &["daemons", "8", "300"]);
}

#[test]
fn eight_busy_threads() {
    assert_exact_testkit("threads", &["threads", "8", "300"]);
}

#[test]
fn a_process_whose_main_thread_is_gone() {
    assert_exact_testkit("leader", &["leader-exit", "1000", "0"]);
}

#[test]
fn bash_subshells() {
    let script = "for i in {1..150}; do (x=0; for j in {1..3000}; do ((x+=j)); done); done";
    assert_exact(&Room::new("bash"), &["bash", "-c", script]);
}

/// A real compile: two compilers at a time, each with its own assembler and linker below it.
#[test]
fn make_with_two_jobs() {
    let room = Room::new("make");
    let names: Vec<String> = (0..12).map(|index| format!("unit{index}")).collect();
    for name in &names {
        let body: String =
            (0..150).map(|n| format!("int {name}_{n}(int x) {{ int s = {n}; for (int i = 0; i < x; i++) s += i * s; return s; }}\n")).collect();
        std::fs::write(room.path(&format!("{name}.c")), format!("#include <stdio.h>\n{body}"))
            .expect("write");
    }
    let objects: String = names.iter().map(|name| format!("{name}.o ")).collect();
    let rules = format!("all: {objects}\n%.o: %.c\n\tcc -O1 -c -o $@ $<\n");
    std::fs::write(room.path("Makefile"), rules).expect("write");
    let dir = room.file("");
    // No jobserver of an outer make may leak in: `-j2` is to be this make's own.
    assert_exact(&room, &["env", "-u", "MAKEFLAGS", "-u", "MFLAGS", "make", "-s", "-B", "-j2", "-C", &dir]);
}

/// Children that the kernel reaps into nobody: exact with a cgroup, else an honest lower bound.
#[test]
fn parents_that_ignore_their_children() {
    let room = Room::new("autoreap");
    let testkit = testkit();
    let testkit = testkit.to_str().expect("a UTF-8 path");
    for how in ["ignore", "nocldwait"] {
        let command = [testkit, "autoreap", how, "400", "3"];
        let may_make_a_group = room.truth_after_witness(testkit).starts_with("cgroup");
        for interval in INTERVALS {
            let (said, truth, quality) = measure(&room, &["-i", interval], &command);
            assert!(
                said <= truth * 1.005 + BLIND_NS,
                "{how} at {interval}: {said} is above the truth {truth}"
            );
            if may_make_a_group {
                assert!(said >= truth * 0.995 - BLIND_NS, "{how} at {interval}: {said} instead of {truth}");
            } else {
                assert_eq!(quality, Quality::LowerBound, "{how} at {interval}");
            }
            let (said, truth, quality) = measure(&room, &["-i", interval, "--no-cgroup"], &command);
            assert!(
                said <= truth * 1.005 + BLIND_NS,
                "{how} at {interval}: {said} is above the truth {truth}"
            );
            assert_eq!(quality, Quality::LowerBound, "{how} at {interval} without a cgroup");
        }
    }
}

impl Room {
    /// Which witness can be had here.
    fn truth_after_witness(&self, testkit: &str) -> String {
        let done =
            std::process::Command::new(testkit).args(["witness", &self.file("probe"), "true"]).status();
        assert!(done.is_ok_and(|status| status.success()));
        self.truth("probe")["source"].clone()
    }
}

/// Total and parts agree: user + system = CPU time, main + descendants = combined.
#[test]
fn the_parts_add_up() {
    let room = Room::new("parts");
    let run = room.run_testkit(&["-i", "50ms"], &["spawn-short", "100", "5"]);
    let summary = run.summary();
    for figures in [&summary.main, &summary.descendants, &summary.combined] {
        let total = value(figures, "cpu_ns");
        let parts = value(figures, "cpu_user_ns") + value(figures, "cpu_system_ns");
        assert!((total - parts).abs() <= 0.01 * total + 1e6, "{parts} of {total}");
    }
    let whole = value(&summary.combined, "cpu_ns");
    let parts = value(&summary.main, "cpu_ns") + value(&summary.descendants, "cpu_ns");
    assert!((whole - parts).abs() <= 0.01 * whole + 1e6, "{parts} of {whole}");
    // 100 children burned 5 ms each; the main process only forked and waited.
    assert!(value(&summary.descendants, "cpu_ns") >= 500e6);
    assert_eq!(value(&summary.combined, "processes_max"), 2.0);
    let total = figure(&summary.combined, "processes_total");
    let counted = total.as_f64().expect("a count");
    match total.quality {
        Quality::Exact => assert_eq!(counted, 101.0),
        _ => assert!((2.0..=101.0).contains(&counted), "{total:?}"),
    }
}

/// The kernel loses a little of each short thread's time. What a cgroup counts beyond the accounts was called the time of a child of
/// one millisecond: 190 ms, and exact.
#[test]
fn what_short_threads_lose_is_not_the_time_of_a_child() {
    let room = Room::new("churn");
    let testkit = testkit();
    let script = "/bin/true; exec \"$0\" churn 20000";
    for options in [&[][..], &["--no-cgroup"]] {
        let run = room.run(options, &["sh", "-c", script, testkit.to_str().expect("a UTF-8 path")]);
        let summary = run.summary();
        let (main, rest) = (figure(&summary.main, "cpu_ns"), figure(&summary.descendants, "cpu_ns"));
        let whole = value(&summary.combined, "cpu_ns");
        let is_whole = main.as_f64().is_some_and(|main_ns| main_ns >= whole - 50e6);
        assert!(is_whole || main.quality != Quality::Exact, "{main:?} of {whole}");
        let least = rest.lower.map_or(rest.as_f64(), |lower| Some(lower.as_f64()));
        let claims_exact = rest.quality == Quality::Exact || rest.quality == Quality::LowerBound;
        let claimed = if claims_exact { rest.as_f64() } else { least };
        assert!(claimed.is_some_and(|child_ns| child_ns < 50e6), "{rest:?}: the child is /bin/true");
    }
}

/// The machine is looked at when the job starts, not an interval later.
#[test]
fn the_machine_is_counted_from_the_start() {
    let room = Room::new("machine");
    let run = room.run_testkit(&["-i", "1s"], &["threads", "1", "1300"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let (job, machine) = (value(&run.summary().combined, "cpu_ns"), value(&run.summary().system, "cpu_ns"));
    // The machine's clock moves in steps of 10 ms on each core, and the first look comes after a few milliseconds.
    assert!(machine >= job * 0.9, "the job used {job} of {machine} ns");
}

/// The job puts itself and a child on one CPU, where both compute for 0.3 s of it: each waits while the other runs. What
/// the kernel says in the end is a witness from inside.
#[test]
fn two_that_share_a_cpu_wait_for_it() {
    let room = Room::new("queue");
    let script = r#"
        spin_self() { while read -r ran _ < /proc/self/schedstat && [ "$ran" -lt 300000000 ]; do :; done; }
        cpu=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')
        taskset -pc "$cpu" $$ > /dev/null
        (spin_self) &
        spin_self
        read -r _ waited _ < /proc/self/schedstat
        echo "waited_ns $waited" > "$1"
        wait
    "#;
    let truth = room.file("truth");
    let run = room.run(&["-i", "20ms"], &["bash", "-c", script, "bash", &truth]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let summary = run.summary();
    let said = ["main", "descendants", "combined"].map(|scope| {
        let figures = match scope {
            "main" => &summary.main,
            "descendants" => &summary.descendants,
            _ => &summary.combined,
        };
        assert_eq!(figure(figures, "run_queue_wait_ns").quality, Quality::LowerBound, "{scope}");
        value(figures, "run_queue_wait_ns")
    });
    let waited = room.truth_number("truth", "waited_ns");
    eprintln!("main, descendants, both: {said:?}; the job says {waited}");
    assert!(waited > 1.5e8, "two shared a CPU, yet the one waited {waited} ns only");
    assert!(said[0] <= waited * 1.05 + 1e7 && said[0] >= waited * 0.5, "{} of {waited}", said[0]);
    assert_eq!(said[0] + said[1], said[2]);
}
