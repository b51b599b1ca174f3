//! Attaching to all processes of a control group: real groups, made by the test where it may.

use crate::help::{Room, figure, not_here, testkit, value, wait_until};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A cgroup that this test makes. Dropping it ends the processes that are still in it.
struct Group {
    dir: PathBuf,
    children: Vec<Child>,
}

impl Group {
    fn make(hierarchy: &Path, name: &str) -> io::Result<Group> {
        let dir = hierarchy.join(format!("jobmeter-test-{}", std::process::id())).join(name);
        fs::create_dir_all(dir.join("step_0"))?;
        Ok(Group { dir, children: Vec::new() })
    }

    /// Starts a workload that waits until it is in the group, or in one below.
    fn start(&mut self, below: &str, workload: &str) -> io::Result<()> {
        let script = format!("read go; exec {} {workload}", testkit().display());
        let mut command = Command::new("sh");
        let mut child = command.args(["-c", &script]).stdin(Stdio::piped()).spawn()?;
        let joined = fs::write(self.dir.join(below).join("cgroup.procs"), child.id().to_string());
        drop(child.stdin.take());
        self.children.push(child);
        joined
    }

    /// By its own count.
    fn cpu_ns(&self) -> f64 {
        let v1 =
            fs::read_to_string(self.dir.join("cpuacct.usage")).ok().and_then(|text| text.trim().parse().ok());
        v1.unwrap_or_else(|| {
            let text = fs::read_to_string(self.dir.join("cpu.stat")).expect("a group counts its time");
            let us = text.lines().find_map(|line| line.strip_prefix("usage_usec ")).expect("its use");
            us.parse::<f64>().expect("a number") * 1000.0
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        for dir in [self.dir.join("step_0"), self.dir.clone()] {
            // The kernel lets go of a member a moment after it was reaped.
            wait_until("the group is empty", || fs::remove_dir(&dir).is_ok() || !dir.exists());
        }
        let _ = self.dir.parent().map(fs::remove_dir);
    }
}

/// One of each version of control groups that this machine lets us make.
fn groups(name: &str) -> Vec<Group> {
    let places =
        ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct"];
    let places = places.map(Path::new).into_iter().filter(|place| place.join("cgroup.procs").is_file());
    let mut groups = Vec::new();
    for place in places {
        match Group::make(place, name).and_then(|mut group| group.start("", "sleep 0").map(|()| group)) {
            Ok(group) => groups.push(group),
            Err(error) => not_here(&format!("no group can be made in {}: {error}", place.display())),
        }
    }
    if groups.is_empty() {
        not_here("no control group can be made");
    }
    groups
}

#[test]
fn all_members_of_a_group_are_measured_and_nobody_else() {
    for mut group in groups("members") {
        let room = Room::new("attach-group");
        let summary = room.file("summary.json");
        // Two that are no relatives of each other, one of them in a group below; the longer one came second.
        group.start("", "burn 500").expect("it joins");
        group.start("step_0", "spawn-short 4 200").expect("it joins");
        let path = group.dir.display().to_string();
        let before_ns = group.cpu_ns();
        let meter = room.jobmeter(&["attach", "-f", "json", "-o", &summary, "--cgroup", &path]).spawn();
        let mut meter = meter.expect("start jobmeter");
        // Reaped as they end, as parents do.
        let mut children = std::mem::take(&mut group.children);
        for child in &mut children {
            child.wait().expect("wait");
        }
        let code = crate::help::code_of(&mut meter);
        assert_eq!(code, 0);
        let summary = room.summary_file().expect("a summary");
        // What they used before the meter was there is between nothing and all that was counted before it.
        let (all_ns, measured) = (group.cpu_ns(), figure(&summary.combined, "cpu_ns"));
        let measured_ns = value(&summary.combined, "cpu_ns");
        assert!(measured_ns <= all_ns + 20e6, "{measured:?} of {all_ns}");
        assert!(measured_ns >= (all_ns - before_ns) * 0.5, "{measured:?} of {all_ns} less {before_ns}");
        assert!(value(&summary.combined, "processes_total") >= 2.0, "{}", path);
        let source = summary.sources.iter().find(|source| source.detail.contains(&path));
        assert!(source.is_some_and(|source| source.used), "{:?}", summary.sources);
    }
}

#[test]
fn the_processes_of_a_slurm_job_are_found_by_its_group() {
    let id = 900_000_000 + std::process::id();
    for mut group in groups(&format!("job_{id}")) {
        let room = Room::new("attach-slurm");
        let summary = room.file("summary.json");
        group.start("step_0", "sleep 60000").expect("it joins");
        let job = format!("slurm:{id}");
        let run = room.finish(room.jobmeter(&[
            "attach",
            "-f",
            "json",
            "-o",
            &summary,
            "--job",
            &job,
            "--duration",
            "300ms",
        ]));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let job = run.summary().run.job.as_ref().expect("it knows its job");
        assert_eq!((job.scheduler.as_str(), job.id.as_str()), ("slurm", id.to_string().as_str()));
        assert_eq!(run.summary().verdict.kind.as_str(), "detached");
    }
}

#[test]
fn what_cannot_be_attached_to_is_said_in_one_sentence() {
    let room = Room::new("attach-nothing");
    for (arguments, wanted) in [
        (&["--cgroup", "/tmp"][..], "is no control group; write a folder below /sys/fs/cgroup"),
        (&["--cgroup", "no-such-group"], "is no control group"),
        (&["--container", "no-such-container"], "no running container 'no-such-container' is to be seen"),
        (&["--container", "../x"], "no running container '../x'"),
        (
            &["--job", "slurm:4294967295"],
            "no process of Slurm job 4294967295 is in a control group of this node",
        ),
        (&["--job", "4711"], "write slurm: and a number, or name a PID"),
        (&["--job", "slurm:x"], "write slurm: and a number, or name a PID"),
        (&[], "name a PID, --cgroup PATH, --container NAME or --job slurm:ID"),
    ] {
        let run = room.finish(room.jobmeter(&[&["attach"], arguments].concat()));
        assert_eq!(run.code, 125, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(wanted), "{arguments:?}: {}", run.stderr);
        assert_eq!(run.stderr.trim_end().lines().count(), 1, "{}", run.stderr);
    }
    for group in groups("empty") {
        let mut group = group;
        group.children.drain(..).for_each(|mut child| drop(child.wait()));
        let path = group.dir.display().to_string();
        wait_until("it is empty", || {
            fs::read_to_string(group.dir.join("cgroup.procs")).is_ok_and(|text| text.is_empty())
        });
        let run = room.finish(room.jobmeter(&["attach", "--cgroup", &path]));
        assert_eq!(run.code, 125, "{}", run.stderr);
        assert!(run.stderr.contains(&format!("no process is in the control group {path}")), "{}", run.stderr);
    }
}
