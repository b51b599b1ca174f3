//! One run of one job in one mode: a folder of its own, the witnesses, jobmeter around the job, and what both said.

use crate::jobs::{How, Job};
use crate::join;
use crate::mode::{Mode, NOBODY};
use crate::span::Span;
use crate::witness::{Evidence, Group, PageMaps, Witnesses};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A job that takes longer has hung.
const MOST: Duration = Duration::from_secs(180);

/// Copies of the programs in a place where every user may run them.
pub(crate) struct Tools {
    pub folder: PathBuf,
    pub is_root: bool,
}

impl Tools {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

pub(crate) struct Outcome {
    pub evidence: Evidence,
    /// What the job wrote about itself.
    pub notes: BTreeMap<String, Span>,
    pub summary: Value,
    /// Processes and phases, as `show` gives them.
    pub views: Value,
}

/// Runs it. The folder is left to the caller.
pub(crate) fn run(tools: &Tools, job: &Job, mode: Mode, folder: &Path) -> io::Result<Outcome> {
    fs::create_dir_all(folder)?;
    let as_user = mode.as_user && tools.is_root;
    fs::write(folder.join("script"), job.script)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    if job.how == How::Hidden {
        hide(tools, folder)?;
    }
    if as_user {
        chown(folder, Some(NOBODY), Some(NOBODY))?;
    }
    let socket = folder.join("socket");
    let listener = UnixListener::bind(&socket)?;
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o777))?;

    let mut witnesses = Witnesses::start();
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or("truth").to_owned();
    let outer = Outer::make(job, mode, as_user, &name)?;
    let page_maps = match job.how {
        How::Attach => PageMaps::Every,
        How::Limited(_) => PageMaps::Never,
        _ => PageMaps::Peaks,
    };
    let job_command = |command: &mut Command| {
        command.arg(tools.path("jobmeter-truth")).arg("join").arg(&socket).args(job.language.command());
    };

    let mut started = Vec::new();
    let pid;
    if job.how == How::Attach {
        let mut command = start(tools, job, folder, as_user, &outer, None)?;
        job_command(&mut command);
        started.push(spawn(&mut command)?);
        pid = admit(&listener, &mut witnesses, &mut started[0], &name, page_maps)?;
        wait_for(&folder.join("ready"), &mut started[0])?;
        let mut command = start(tools, job, folder, as_user, &outer, None)?;
        command.arg(tools.path("jobmeter"));
        command.arg("attach").args(options(mode, "attach")).arg(pid.to_string());
        started.push(spawn(&mut command)?);
    } else {
        let mut command = start(tools, job, folder, as_user, &outer, Some(job.how))?;
        command.arg(tools.path("jobmeter"));
        command.arg("run").args(options(mode, "run")).arg("--");
        job_command(&mut command);
        started.push(spawn(&mut command)?);
        admit(&listener, &mut witnesses, &mut started[0], &name, page_maps)?;
    }
    for child in started.iter_mut().rev() {
        if let Err(error) = wait(child) {
            witnesses.end_the_job();
            witnesses.wait_for_the_end(Duration::from_secs(5));
            return Err(error);
        }
    }
    if !witnesses.wait_for_the_end(Duration::from_secs(20)) {
        witnesses.end_the_job();
        return Err(io::Error::other("processes of the job were still there 20 s after its end"));
    }
    let evidence = witnesses.finish();
    drop(outer);

    let shown = Command::new(tools.path("jobmeter"))
        .args(["show", "--processes", "--phases", "--json"])
        .arg(folder.join("run.jobmeter"))
        .output()?;
    Ok(Outcome {
        evidence,
        notes: notes(folder),
        summary: summary(folder)?,
        views: serde_json::from_slice(&shown.stdout).unwrap_or(Value::Null),
    })
}

/// Groups that jobmeter itself is started in: one with a limit, or one that belongs to the user.
struct Outer {
    groups: Vec<Group>,
    joins: Vec<File>,
}

impl Outer {
    fn make(job: &Job, mode: Mode, as_user: bool, name: &str) -> io::Result<Outer> {
        let mut outer = Outer { groups: Vec::new(), joins: Vec::new() };
        if let How::Limited(bytes) = job.how {
            let group = Group::below("self", "memory", &format!("{name}-limited"))?;
            group.limit_memory(bytes)?;
            outer.enter(group)?;
        }
        if as_user && mode.with_group {
            // Controller names that no v1 hierarchy has lead to the unified one.
            if let Ok(group) = Group::below("self", "unified", &format!("{name}-delegated")) {
                for file in ["", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"] {
                    chown(group.path.join(file), Some(NOBODY), Some(NOBODY))?;
                }
                outer.enter(group)?;
            }
        }
        Ok(outer)
    }

    fn enter(&mut self, group: Group) -> io::Result<()> {
        self.joins.push(fs::OpenOptions::new().write(true).open(group.path.join("cgroup.procs"))?);
        self.groups.push(group);
        Ok(())
    }
}

/// A command up to the program: user, folder, environment, groups.
fn start(
    tools: &Tools,
    job: &Job,
    folder: &Path,
    as_user: bool,
    outer: &Outer,
    how: Option<How>,
) -> io::Result<Command> {
    // `env` gives one place for what comes first, whatever the program is.
    let mut command = if how == Some(How::Hidden) {
        let mut command = Command::new("unshare");
        let script = "mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"";
        command.args(["--mount", "--propagation", "private", "/bin/sh", "-c", script, "sh", "env"]);
        command
    } else {
        let mut command = Command::new("env");
        if as_user {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    };
    command
        .current_dir(folder)
        .env("HOME", folder)
        .env("XDG_DATA_HOME", folder.join("store"))
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .env("TRUTH_JOB", job.name)
        .env("TRUTH_FILE", folder.join("truth"))
        .env("TESTKIT", tools.path("testkit"))
        .env("JOBMETER", tools.path("jobmeter"))
        .stdin(Stdio::null())
        .stdout(File::create(folder.join("output"))?)
        .stderr(File::options().append(true).create(true).open(folder.join("errors"))?);
    let joins: Vec<File> = outer.joins.iter().map(File::try_clone).collect::<io::Result<_>>()?;
    let join = move || joins.iter().try_for_each(|mut file| io::Write::write_all(&mut file, b"0"));
    // SAFETY: in the child only writes to descriptors that are open already.
    unsafe { command.pre_exec(join) };
    Ok(command)
}

fn options(mode: Mode, verb: &str) -> Vec<&'static str> {
    let mut options = vec!["-f", "json", "-o", "summary.json", "--record", "run.jobmeter", "--no-gpu"];
    if mode.every_second {
        options.extend(["-i", "1s"]);
    }
    if !mode.with_group && verb == "run" {
        options.push("--no-cgroup");
    }
    if mode.follows && verb == "run" {
        options.push("--follow");
    }
    options
}

/// Waits for the job's first process and lets it go on under observation.
fn admit(
    listener: &UnixListener,
    witnesses: &mut Witnesses,
    child: &mut Child,
    name: &str,
    page_maps: PageMaps,
) -> io::Result<i32> {
    let start = Instant::now();
    let (pid, mut stream) =
        join::accept(listener, || Ok(child.try_wait()?.is_some() || start.elapsed() > MOST))?;
    let file = witnesses.adopt(pid, name, page_maps).unwrap_or_default();
    io::Write::write_all(&mut stream, file.as_os_str().as_encoded_bytes())?;
    Ok(pid)
}

fn spawn(command: &mut Command) -> io::Result<Child> {
    command.spawn().map_err(|error| io::Error::other(format!("cannot start {command:?}: {error}")))
}

fn wait(child: &mut Child) -> io::Result<()> {
    let start = Instant::now();
    while child.try_wait()?.is_none() {
        if start.elapsed() > MOST {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other("it hung and was ended"));
        }
        jobmeter_testkit::sys::sleep_ms(2);
    }
    Ok(())
}

fn wait_for(file: &Path, child: &mut Child) -> io::Result<()> {
    while !file.exists() {
        if child.try_wait()?.is_some() {
            return Err(io::Error::other(format!("{} was never written", file.display())));
        }
        jobmeter_testkit::sys::sleep_ms(1);
    }
    Ok(())
}

/// A program that runs as root for everybody, and something for it to read.
fn hide(tools: &Tools, folder: &Path) -> io::Result<()> {
    let program = folder.join("setuid-testkit");
    fs::copy(tools.path("testkit"), &program)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755))?;
    fs::write(folder.join("block"), vec![1_u8; 3_000_000])
}

fn summary(folder: &Path) -> io::Result<Value> {
    let text = fs::read(folder.join("summary.json"))
        .map_err(|error| io::Error::other(format!("jobmeter left no summary.json: {error}")))?;
    serde_json::from_slice(&text).map_err(io::Error::other)
}

fn notes(folder: &Path) -> BTreeMap<String, Span> {
    let text = fs::read_to_string(folder.join("truth")).unwrap_or_default();
    let mut notes = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if let [figure, low, high] = words[..] {
            notes
                .insert(figure.to_owned(), Span::new(low.parse().ok(), high.parse().ok(), "by construction"));
        }
    }
    notes
}
