//! Limits from tiny upwards. What the job does under a limit without us is what it does under us, or it never
//! runs and we say 125.

use crate::bench::{Bench, JOBMETER, Seen};
use crate::namespace::{inside, is_root};
use crate::verdict::{Account, Expected, judge, unharmed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sweeps one limit; `limited` is the command that sets it and then executes its arguments. At the last limit the
/// job has to run; returns the first at which it did.
fn sweep(
    name: &str,
    bench: &Bench,
    limits: impl IntoIterator<Item = u64>,
    limited: impl Fn(u64) -> Command,
    options: &[&str],
    account: &mut Account,
) -> u64 {
    let (mut ran, mut first) = (false, None);
    for limit in limits {
        let mut alone = limited(limit);
        alone.args(bench.job(3, 0));
        let alone = bench.finish(alone, None);
        let mut version = limited(limit);
        version.args([JOBMETER, "--version"]);
        let starts = bench.finish(version, None).code == Some(0);
        let mut command = limited(limit);
        command.args([JOBMETER, "run"]).args(options).arg("--").args(bench.job(3, 0));
        let seen = bench.finish(command, None);
        let verdict = if starts || seen.ran > 0 { compare(&seen, &alone) } else { refused(&seen) };
        ran = verdict == Ok(true);
        first = first.or(ran.then_some(limit));
        account.add(name, &format!("{name} {limit}"), verdict);
    }
    assert!(ran, "{name}: at the largest limit the job runs");
    first.expect("a limit at which the job ran")
}

/// The job does what it does alone, or never runs.
fn compare(seen: &Seen, alone: &Seen) -> Result<bool, String> {
    if alone.ran == 0 {
        return refused(seen);
    }
    let code = alone.code.ok_or("the job hangs without jobmeter")?;
    judge(seen, &Expected { code, stdout: alone.stdout.clone() })
}

/// The limit is too tiny for the job alone, or for jobmeter to be loaded: whatever the loader or the kernel says.
fn refused(seen: &Seen) -> Result<bool, String> {
    unharmed(seen)?;
    let failed = seen.ran == 0 && seen.code != Some(0) && seen.stdout.is_empty();
    if failed { Ok(false) } else { Err(format!("it ran, with status {:?}", seen.code)) }
}

/// `prlimit` of util-linux with one limit, soft and hard.
fn prlimit(bench: &Bench, option: &str, limit: u64) -> Command {
    let mut command = bench.command(Path::new("prlimit"));
    command.arg(format!("--{option}={limit}:{limit}"));
    command
}

#[test]
fn descriptors() {
    inside("limits::descriptors", || {
        let (bench, mut account) = (Bench::new("descriptors"), Account::default());
        let limited = |limit| prlimit(&bench, "nofile", limit);
        sweep("ulimit -n", &bench, 4..=40, limited, &[], &mut account);
        let options = ["-q", "--no-perf", "--no-cgroup", "-f", "json", "-o", "summary.json"];
        sweep("ulimit -n, plain", &bench, 4..=40, limited, &options, &mut account);
        account.close("descriptors", 70);
    });
}

#[test]
fn address_space() {
    inside("limits::address_space", || {
        let (bench, mut account) = (Bench::new("address-space"), Account::default());
        let limited = |limit| prlimit(&bench, "as", limit);
        let coarse = (1..=200).map(|step| step * 1_000_000);
        let first = sweep("ulimit -v", &bench, coarse, limited, &[], &mut account);
        // Around the smallest one at which the job ran, in steps of five pages: each allocation is the first to fail.
        let fine = (0..=200).map(|step| first - 1_500_000 + step * 20_480);
        sweep("ulimit -v, finely", &bench, fine, limited, &[], &mut account);
        account.close("address space", 400);
    });
}

/// A stack that may not grow any more gives SIGSEGV, in whatever function is called next.
#[test]
fn stack() {
    inside("limits::stack", || {
        let (bench, mut account) = (Bench::new("stack"), Account::default());
        let limited = |limit| prlimit(&bench, "stack", limit);
        // The debug build fills 200 kB of it.
        let sizes = || (1..=120).map(|step| step * 4096);
        sweep("ulimit -s", &bench, sizes(), limited, &[], &mut account);
        let options = ["-f", "json", "-o", "summary.json"];
        sweep("ulimit -s, with -o", &bench, sizes(), limited, &options, &mut account);
        account.close("stack", 240);
    });
}

#[test]
fn file_size() {
    inside("limits::file_size", || {
        let (bench, mut account) = (Bench::new("file-size"), Account::default());
        let limited = |limit| prlimit(&bench, "fsize", limit);
        let sizes = || [0, 1, 2, 10, 100, 512, 1000].into_iter().chain((1..=40).map(|step| step * 2048));
        sweep("ulimit -f", &bench, sizes(), limited, &[], &mut account);
        let options = ["-f", "json", "-o", "summary.json"];
        sweep("ulimit -f, with -o", &bench, sizes(), limited, &options, &mut account);
        account.close("file size", 90);
    });
}

#[test]
fn processes_of_a_user() {
    inside("limits::processes_of_a_user", || {
        let (bench, mut account) = (Bench::new("processes"), Account::default());
        // The limit counts all processes of the user, also those outside this test. Root is exempt from it.
        let others = if is_root() { 0 } else { own_processes() };
        let limited = |limit| {
            let mut command = prlimit(&bench, "nproc", others + limit);
            if is_root() {
                command.args(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
                // The build may lie where only root may look, such as in its home.
                command.args(["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]);
            }
            command
        };
        sweep("ulimit -u", &bench, 0..=16, limited, &[], &mut account);
        account.close("processes of a user", 17);
    });
}

/// Processes and threads on the machine: at least as many as this user's.
fn own_processes() -> u64 {
    let load = fs::read_to_string("/proc/loadavg").expect("/proc/loadavg");
    let total = load.split(['/', ' ']).nth(4).and_then(|text| text.parse().ok());
    total.expect("loadavg tells the number of tasks")
}

#[test]
fn processes_of_a_group() {
    inside("limits::processes_of_a_group", || {
        let (bench, mut account) = (Bench::new("pids-max"), Account::default());
        let group = match make_group() {
            Ok(group) => group,
            Err(reason) => {
                eprintln!("not done: {reason}");
                return;
            }
        };
        let limited = |limit: u64| {
            fs::write(group.join("pids.max"), limit.to_string()).expect("set pids.max");
            let mut command = bench.command(Path::new("sh"));
            command.args(["-c", "echo $$ >\"$1/cgroup.procs\" && shift && exec \"$@\"", "sh"]).arg(&group);
            command
        };
        sweep("pids.max", &bench, 1..=12, limited, &[], &mut account);
        fs::remove_dir(&group).expect("the group is empty");
        account.close("processes of a group", 12);
    });
}

/// A group with a `pids.max`, of either version.
fn make_group() -> Result<PathBuf, String> {
    let mut reasons = Vec::new();
    for root in ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"] {
        // Unique also among namespaces, where this is always PID 1.
        let unique = fs::read_link("/proc/self/ns/pid")
            .map(|link| link.to_string_lossy().replace(['[', ']', ':'], ""));
        let group = Path::new(root).join(format!("jobmeter-faults-{}", unique.unwrap_or_default()));
        match fs::create_dir(&group) {
            Ok(()) if group.join("pids.max").exists() => return Ok(group),
            Ok(()) => {
                let _ = fs::remove_dir(&group);
                reasons.push(format!("{root} has no pids controller for its children"));
            }
            Err(error) => reasons.push(format!("no group below {root}: {error}")),
        }
    }
    Err(reasons.join("; "))
}
