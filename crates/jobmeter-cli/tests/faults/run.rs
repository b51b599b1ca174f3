//! `jobmeter run`: every call of it fails in turn, before and after the job exists.

use crate::bench::{Bench, JOBMETER, Seen};
use crate::namespace::inside;
use crate::sweep::sweep;
use crate::verdict::{Expected, judge, unharmed};
use jobmeter_testkit::fault::Fault;
use jobmeter_testkit::fault::plan::Depth;

/// Sweeps one command line over one job.
fn sweep_run(name: &str, options: &[&str], status: u8, child_ms: u64, depth: Depth, at_least: u64) {
    let bench = Bench::new(name);
    let case = |fault: Option<&Fault>| {
        let mut command = bench.traced(fault);
        command.args([JOBMETER, "run"]).args(options).arg("--").args(bench.job(status, child_ms));
        bench.finish(command, None)
    };
    let expected = Expected { code: i32::from(status), stdout: "out\n".to_owned() };
    let verdict = |seen: &Seen, fault: Option<&Fault>| {
        if fault.is_some_and(hides_the_status) { status_unknown(seen) } else { judge(seen, &expected) }
    };
    sweep(&bench, depth, case, verdict).close(name, at_least);
}

/// Somebody else has reaped the job: its status is lost.
fn hides_the_status(fault: &Fault) -> bool {
    fault.call == "wait4" && fault.errno == libc::ECHILD
}

/// Then only the status may be another.
fn status_unknown(seen: &Seen) -> Result<bool, String> {
    unharmed(seen)?;
    if seen.ran == 1 && seen.stdout == "out\n" { Ok(true) } else { Err(format!("ran {} times", seen.ran)) }
}

#[test]
fn a_quick_job() {
    inside("run::a_quick_job", || {
        let depth = Depth { whole_up_to: 5, errors_each: 2, stride: 1, lasting_places: 6 };
        sweep_run("run-quick", &[], 0, 0, depth, 400);
    });
}

#[test]
fn a_job_with_ticks_and_a_summary_file() {
    inside("run::a_job_with_ticks_and_a_summary_file", || {
        let depth = Depth { whole_up_to: 2, errors_each: 1, stride: 1, lasting_places: 4 };
        let options = ["-i", "10ms", "--timeout", "60s", "-f", "json", "-o", "summary.json", "--name", "x"];
        sweep_run("run-ticks", &options, 3, 30, depth, 300);
    });
}

#[test]
fn a_longer_job_without_privileges() {
    inside("run::a_longer_job_without_privileges", || {
        let depth = Depth { whole_up_to: 1, errors_each: 1, stride: 3, lasting_places: 1 };
        let options = ["-q", "--no-cgroup", "--no-perf", "-i", "30ms", "--wait-descendants"];
        sweep_run("run-longer", &options, 7, 150, depth, 150);
    });
}
