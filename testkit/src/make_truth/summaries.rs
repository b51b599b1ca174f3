//! `make summaries`: many short jobs of many kinds under varied options; every summary, as it was written and as `show`
//! makes it again from the record, must pass the checker of invariants.

use crate::mode::NOBODY;
use crate::run::Tools;
use jobmeter_testkit::invariants;
use serde_json::Value;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Scripts of a shell; `$T` is the testkit.
const JOBS: &[&str] = &[
    ":",
    "exit 3",
    "kill -9 $$",
    "sleep 0.02",
    "exec $T burn 30",
    "for i in 1 2 3 4 5; do /bin/true; done",
    "i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i+1)); done",
    "$T spawn-short 40 1",
    "$T spawn-exec 20 1",
    "$T threads 4 20",
    "$T churn 300",
    "$T daemons 3 10",
    "$T autoreap ignore 10 2",
    "$T autoreap nocldwait 10 2",
    "$T zombies 5 20",
    "$T hold 30M 20 0 held",
    "$T names 5 5",
    "dd if=/dev/zero of=block bs=64k count=40 2>/dev/null; cat block > /dev/null; rm block",
    "seq 20000 | sort -r | tail -n 1",
    "awk 'BEGIN { for (i = 0; i < 300000; i++) s += i; print s }'",
    "(sleep 0.05 &) ; sleep 0.01",
    "sh -c 'sh -c \"exit 7\"' | cat",
    "$J mark --begin a; $T burn 10; $J mark --end a",
    "setsid sleep 0.03 & wait",
    "perl -e '$SIG{CHLD} = \"IGNORE\"; fork or exit for 1..8; select undef, undef, undef, 0.02'",
];

const OPTIONS: &[&[&str]] =
    &[&["--no-cgroup"], &["--no-perf"], &["--wait-descendants"], &["--timeout", "40ms"]];
const INTERVALS: &[Option<&str>] = &[None, None, Some("1ms"), Some("10ms"), Some("100ms"), Some("1s")];

/// Numbers that are the same in every run: what fails can be repeated.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// Runs `count` jobs; the exit status.
pub(crate) fn run(tools: &Tools, count: usize) -> io::Result<i32> {
    let (mut dice, mut checked, mut bad) = (Dice(count as u64), 0, 0);
    for number in 0..count {
        let place = tools.folder.join(format!("summary-{number}"));
        fs::create_dir_all(&place)?;
        let job = JOBS[dice.throw(JOBS.len())];
        let mut words: Vec<&str> = Vec::new();
        for options in OPTIONS {
            if dice.throw(4) == 0 {
                words.extend(*options);
            }
        }
        if let Some(interval) = INTERVALS[dice.throw(INTERVALS.len())] {
            words.extend(["-i", interval]);
        }
        let as_user = tools.is_root && dice.throw(2) == 0;
        for (how, summary) in measure(tools, &place, job, &words, as_user)? {
            checked += 1;
            let found = summary.map_or_else(|text| vec![text], |summary| invariants::violations(&summary));
            if !found.is_empty() {
                bad += 1;
                let who = if as_user { "user" } else { "root" };
                writeln!(io::stdout(), "- {who} {} -- {job} ({how}): {}", words.join(" "), found.join("; "))?;
            }
        }
        fs::remove_dir_all(&place)?;
    }
    writeln!(io::stdout(), "{checked} summaries of {count} runs, {bad} with contradictions")?;
    Ok(i32::from(bad > 0))
}

type Told = (&'static str, Result<Value, String>);

fn measure(tools: &Tools, place: &Path, job: &str, options: &[&str], as_user: bool) -> io::Result<Vec<Told>> {
    let mut command = Command::new(tools.path("jobmeter"));
    command.args(["run", "--no-gpu", "-f", "json", "-o", "summary.json", "--record", "run.jobmeter"]);
    command.args(options).args(["--", "sh", "-c", job]);
    command.current_dir(place).env("HOME", place).env("XDG_DATA_HOME", place.join("store"));
    command.env("T", tools.path("testkit")).env("J", tools.path("jobmeter"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if as_user {
        chown(place, Some(NOBODY), Some(NOBODY))?;
        command.uid(NOBODY).gid(NOBODY);
    }
    command.status()?;
    let read = |text: Vec<u8>| serde_json::from_slice(&text).map_err(|error| format!("no JSON: {error}"));
    let written = fs::read(place.join("summary.json")).map_err(|error| format!("no summary: {error}"));
    let shown = Command::new(tools.path("jobmeter"))
        .args(["show", "--json", "run.jobmeter"])
        .current_dir(place)
        .output()?;
    Ok(vec![("run", written.and_then(read)), ("show", read(shown.stdout))])
}
