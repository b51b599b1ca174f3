//! The jobs: real programs, and small ones whose truth is known by how they are made. A job may write lines
//! `FIGURE LOW HIGH` to `$TRUTH_FILE` (`-` where nothing is known); they count beside the witnesses.

use std::ffi::OsString;

/// What runs the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Shell,
    Python,
    Perl,
    /// None: this command is the job.
    Free(&'static [OsString]),
}

impl Language {
    /// The command line of the job, whose script is in the file `script`.
    pub(crate) fn command(self) -> Vec<OsString> {
        let program = match self {
            Language::Shell => "/bin/sh",
            // Not the one in front of the path: that may belong to root's home.
            Language::Python => "/usr/bin/python3",
            Language::Perl => "/usr/bin/perl",
            Language::Free(command) => return command.to_vec(),
        };
        vec![program.into(), "script".into()]
    }
}

/// What is special about how a job is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Plain,
    /// It runs already when jobmeter comes; it says so with a file called `ready`.
    Attach,
    /// In a group that may have this much memory.
    Limited(u64),
    /// An ordinary user's job with a program of root's, where `/proc` hides others.
    Hidden,
}

pub(crate) struct Job {
    pub name: &'static str,
    pub language: Language,
    pub script: &'static str,
    pub how: How,
    /// Programs without which it is left out.
    pub needs: &'static [&'static str],
}

impl Job {
    /// Any command, for jobs that are not in the project.
    pub(crate) fn free(command: &[OsString]) -> Job {
        let language = Language::Free(Vec::leak(command.to_vec()));
        Job { name: "command", language, script: "", how: How::Plain, needs: &[] }
    }
}

macro_rules! job {
    ($name:literal, $ending:literal, $language:ident, $how:expr, $needs:expr) => {
        job!($name, $name, $ending, $language, $how, $needs)
    };
    ($name:literal, $script:literal, $ending:literal, $language:ident, $how:expr, $needs:expr) => {
        Job {
            name: $name,
            language: Language::$language,
            script: include_str!(concat!("scripts/", $script, ".", $ending)),
            how: $how,
            needs: $needs,
        }
    };
}

macro_rules! grab {
    ($name:literal) => {
        job!($name, "grab", "sh", Shell, How::Plain, &[])
    };
}

macro_rules! lost {
    ($name:literal) => {
        job!($name, "lost", "pl", Perl, How::Plain, &["/usr/bin/perl"])
    };
}

macro_rules! outlive {
    ($name:literal) => {
        job!($name, "outlive", "py", Python, How::Plain, &["/usr/bin/python3"])
    };
}

pub(crate) const JOBS: &[Job] = &[
    job!("compile-make", "sh", Shell, How::Plain, &["make", "cc"]),
    job!("compile-large", "sh", Shell, How::Plain, &["cc"]),
    job!("pytest-workers", "sh", Shell, How::Plain, &["$TRUTH_VENV/bin/pytest"]),
    job!("fork-pool", "py", Python, How::Plain, &["/usr/bin/python3"]),
    job!("shared-memory", "py", Python, How::Plain, &["/usr/bin/python3"]),
    job!("postgres", "sh", Shell, How::Plain, &["postgres", "psql", "setpriv"]),
    job!("sqlite", "sh", Shell, How::Plain, &["sqlite3"]),
    job!("jvm", "sh", Shell, How::Plain, &["java", "javac"]),
    job!("pipeline", "sh", Shell, How::Plain, &["awk", "sort", "gzip"]),
    job!("daemon", "sh", Shell, How::Plain, &["setsid"]),
    job!("thread-churn", "sh", Shell, How::Plain, &[]),
    job!("sigchld-perl", "pl", Perl, How::Plain, &["/usr/bin/perl"]),
    job!("sigchld-python", "py", Python, How::Plain, &["/usr/bin/python3"]),
    job!("attach", "sh", Shell, How::Attach, &["dd"]),
    job!("exec-storm", "sh", Shell, How::Plain, &["/bin/true"]),
    job!("memfd", "py", Python, How::Plain, &["/usr/bin/python3"]),
    job!("tmpfs", "sh", Shell, How::Plain, &["/dev/shm"]),
    job!("oom", "sh", Shell, How::Limited(120_000_000), &[]),
    job!("burst", "sh", Shell, How::Plain, &[]),
    job!("bursts", "sh", Shell, How::Plain, &[]),
    job!("copy-on-write", "sh", Shell, How::Plain, &[]),
    job!("parent-writes", "py", Python, How::Plain, &["/usr/bin/python3"]),
    job!("pure-user", "sh", Shell, How::Plain, &[]),
    job!("pure-system", "sh", Shell, How::Plain, &["dd"]),
    job!("phases-subshell", "sh", Shell, How::Plain, &["sed"]),
    job!("phases-make", "sh", Shell, How::Plain, &["make", "sed"]),
    job!("known-bytes", "sh", Shell, How::Plain, &["dd"]),
    job!("leader-copies", "py", Python, How::Plain, &["/usr/bin/python3"]),
    job!("main-execs", "py", Python, How::Plain, &["/usr/bin/python3"]),
    job!("killed-main", "py", Python, How::Plain, &["/usr/bin/python3"]),
    job!("pid-namespace", "sh", Shell, How::Plain, &["unshare"]),
    job!("orphans", "sh", Shell, How::Plain, &[]),
    grab!("grab-touch"),
    grab!("grab-populate"),
    grab!("grab-advise"),
    grab!("grab-huge"),
    grab!("grab-file"),
    grab!("grab-file-populate"),
    grab!("grab-shared"),
    grab!("grab-exec"),
    grab!("grab-huge-exec"),
    grab!("grab-file-exec"),
    grab!("grab-orphan"),
    grab!("grab-leader"),
    outlive!("outlive-exec"),
    outlive!("outlive-end"),
    outlive!("outlive-free"),
    lost!("lost-touch"),
    lost!("lost-populate"),
    lost!("lost-huge"),
    lost!("lost-file"),
    lost!("lost-exec"),
    job!("setuid-main", "sh", Shell, How::Hidden, &["unshare", "mount", "setpriv"]),
    job!("hidepid", "sh", Shell, How::Hidden, &["unshare", "mount", "setpriv"]),
];
