//! `make truth`: real jobs under jobmeter, held against witnesses that know nothing of it.
//!
//! `jobmeter-truth [JOB…]` runs the jobs whose names contain one of the words, or all of them. `TRUTH_RUNS` says how
//! often (3), `TRUTH_MODES` in which modes (all: root root-1s root-nogroup … user-nogroup-1s), `TRUTH_FIGURES` which
//! figures are judged (all), `TRUTH_KEEP=all` keeps the folders, `false` those of runs with a false claim. `jobmeter-truth
//! summaries [N]` checks N summaries (1000) of short jobs for contradictions. `jobmeter-truth run -- COMMAND…` holds any
//! command against the witnesses. The exit status is 1 if a claim was false, 2 if the harness itself failed. docs/truth.md
//! says more.

mod claim;
mod goals;
mod jobs;
mod join;
mod mode;
mod processes;
mod rows;
mod run;
mod span;
mod summaries;
mod table;
mod truths;
mod witness;

use jobs::{How, JOBS, Job};
use mode::Mode;
use run::Tools;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use table::{Entry, Table};

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let code = match arguments.split_first() {
        Some((word, rest)) if word == "join" && !rest.is_empty() => {
            join::join(Path::new(&rest[0]), &rest[1..])
        }
        Some((word, rest)) if word == "summaries" => check_summaries(rest.first()),
        Some((word, rest)) if word == "run" => free(rest),
        _ => harness(JOBS.iter().filter(|job| is_wanted(job, &arguments))),
    };
    std::process::exit(code.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "jobmeter-truth: {error}");
        2
    }));
}

/// `jobmeter-truth summaries [N]`.
fn check_summaries(count: Option<&OsString>) -> io::Result<i32> {
    let count = count.and_then(|text| text.to_str()?.parse().ok()).unwrap_or(1000);
    let folder = std::env::temp_dir().join(format!("jobmeter-summaries-{}", std::process::id()));
    // SAFETY: has no arguments and cannot fail.
    let tools = prepare(&folder, unsafe { libc::geteuid() } == 0)?;
    let code = summaries::run(&tools, count);
    fs::remove_dir_all(&folder)?;
    code
}

/// `jobmeter-truth run -- COMMAND…`. Each run begins in an empty folder.
fn free(rest: &[OsString]) -> io::Result<i32> {
    match rest {
        [dashes, command @ ..] if dashes == "--" && !command.is_empty() => {
            harness(std::iter::once(Box::leak(Box::new(Job::free(command))) as &Job))
        }
        _ => Err(io::Error::other("say what to run: jobmeter-truth run -- COMMAND…")),
    }
}

fn harness(jobs: impl Iterator<Item = &'static Job>) -> io::Result<i32> {
    extend_path()?;
    witness::Group::tidy();
    // SAFETY: has no arguments and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    for line in witness::missing() {
        writeln!(io::stderr(), "{line}")?;
    }
    let runs: usize = setting("TRUTH_RUNS").and_then(|text| text.parse().ok()).unwrap_or(3);
    let modes = Mode::all(is_root, setting("TRUTH_MODES").as_deref());
    let folder = std::env::temp_dir().join(format!("jobmeter-truth-{}", std::process::id()));
    let tools = prepare(&folder, is_root)?;
    let keep = Keep::of(setting("TRUTH_KEEP").as_deref());
    let mut table = Table::default();
    stop_on_signals();
    'jobs: for job in jobs {
        if let Some(missing) = job.needs.iter().find(|program| find(program).is_none()) {
            writeln!(io::stderr(), "{} is left out: there is no {missing}", job.name)?;
            continue;
        }
        for mode in modes.iter().filter(|mode| fits(job, **mode, is_root)) {
            for number in 0..runs {
                let place = folder.join(format!(
                    "truth-{}-{}-{}-{number}",
                    std::process::id(),
                    job.name,
                    mode.name()
                ));
                if STOPPED.load(Ordering::Relaxed) {
                    table.failed.push("the rest: it was interrupted".to_owned());
                    break 'jobs;
                }
                let is_wrong = judge(&tools, job, *mode, &place, &mut table)?;
                if !keep.keeps(is_wrong) {
                    let _ = fs::remove_dir_all(&place);
                }
            }
        }
    }
    table.print(&mut io::stdout().lock())?;
    if !keep.keeps(table.wrong() > 0) {
        fs::remove_dir_all(&folder)?;
    }
    Ok(if table.wrong() > 0 {
        1
    } else if table.failed.is_empty() {
        0
    } else {
        2
    })
}

/// Which folders of runs are left for a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    None,
    /// Those with a false claim.
    False,
    All,
}

impl Keep {
    fn of(setting: Option<&str>) -> Keep {
        match setting {
            None => Keep::None,
            Some("false") => Keep::False,
            Some(_) => Keep::All,
        }
    }

    fn keeps(self, is_wrong: bool) -> bool {
        self == Keep::All || self == Keep::False && is_wrong
    }
}

/// Returns whether a claim was false. What the witnesses read is then written to the folder of the run.
fn judge(tools: &Tools, job: &'static Job, mode: Mode, place: &Path, table: &mut Table) -> io::Result<bool> {
    let name = format!("{} {}", job.name, mode.name());
    match run::run(tools, job, mode, place) {
        Err(error) => {
            let said = fs::read_to_string(place.join("errors")).unwrap_or_default();
            writeln!(io::stderr(), "{name}: not judged: {error} {}", said.trim())?;
            table.failed.push(format!("{name}: {error}"));
            Ok(false)
        }
        Ok(outcome) => {
            // What outlives the main process is not measured any more.
            let outlived = outcome.evidence.tree.as_ref().is_some_and(|tree| tree.outlived);
            let window =
                (outlived || job.how == How::Attach).then(|| truths::window(&outcome.summary)).flatten();
            let truths = truths::truths(&outcome, window);
            let mut rows = rows::rows(&outcome, &truths, window, mode);
            if let Some(figures) = setting("TRUTH_FIGURES") {
                rows.retain(|row| figures.split(',').any(|figure| row.figure == figure));
            }
            let wrong = rows.iter().filter(|row| row.wrong.is_some()).count();
            let samples = outcome.evidence.oracle_samples;
            let lost =
                outcome.evidence.lost.iter().map(|name| format!(", {name} lost some")).collect::<String>();
            let count = rows.len();
            let peak = rows.iter().find(|row| row.figure == "combined.rss_bytes_max").map(table::peak);
            let peak = peak.unwrap_or_default();
            writeln!(
                io::stderr(),
                "{name}: {count} claims, {wrong} false, {samples} looks at memory{lost}{peak}"
            )?;
            for row in rows.iter().filter(|row| row.wrong.is_some()) {
                writeln!(io::stderr(), "  {}: {}", row.figure, table::told(row))?;
            }
            if wrong > 0 {
                fs::write(place.join("witnesses"), outcome.evidence.timeline.told())?;
                fs::write(place.join("summary"), format!("{:#}", outcome.summary))?;
            }
            table.entries.extend(rows.into_iter().map(|row| Entry { job: job.name, mode, row }));
            Ok(wrong > 0)
        }
    }
}

/// Set by Ctrl-C or TERM: the run that is at it goes on, then the table is printed with what there is.
static STOPPED: AtomicBool = AtomicBool::new(false);

extern "C" fn stop(_signal: libc::c_int) {
    STOPPED.store(true, Ordering::Relaxed);
}

fn stop_on_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only stores to an atomic; exec sets the signals of the jobs back.
        unsafe { libc::signal(signal, stop as *const () as libc::sighandler_t) };
    }
}

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// By its whole name, or by a part of it that is no other job's name.
fn is_wanted(job: &Job, wanted: &[OsString]) -> bool {
    let fits = |word: &str| {
        job.name == word || job.name.contains(word) && JOBS.iter().all(|other| other.name != word)
    };
    wanted.is_empty() || wanted.iter().any(|word| fits(&word.to_string_lossy()))
}

/// Some jobs make sense in some modes only: a group with a limit, and a `/proc` of its own, are root's to make.
fn fits(job: &Job, mode: Mode, is_root: bool) -> bool {
    match job.how {
        How::Limited(_) => is_root,
        How::Hidden => is_root && mode.as_user && !mode.with_group,
        // attach makes no group.
        How::Attach => mode.with_group || mode.as_user && !is_root,
        How::Plain => true,
    }
}

/// The programs in a folder where every user may run them.
fn prepare(folder: &Path, is_root: bool) -> io::Result<Tools> {
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    let own = std::env::current_exe()?;
    let built = own.parent().unwrap_or(Path::new("."));
    for program in ["jobmeter", "testkit", "jobmeter-truth"] {
        let from = built.join(program);
        fs::copy(&from, folder.join(program))
            .map_err(|error| io::Error::other(format!("cannot copy {}: {error}", from.display())))?;
    }
    Ok(Tools { folder: folder.to_owned(), is_root })
}

/// Debian keeps the programs of the database server out of the path.
fn extend_path() -> io::Result<()> {
    let mut path = setting("PATH").unwrap_or_default();
    for folder in fs::read_dir("/usr/lib/postgresql").into_iter().flatten() {
        path = format!("{path}:{}", folder?.path().join("bin").display());
    }
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("PATH", path) };
    Ok(())
}

/// A program by name in the path, by path, or below a folder that a variable names.
fn find(program: &str) -> Option<PathBuf> {
    if let Some(rest) = program.strip_prefix('$') {
        let (variable, rest) = rest.split_once('/')?;
        return Some(Path::new(&setting(variable)?).join(rest)).filter(|path| path.exists());
    }
    let path = setting("PATH").unwrap_or_default();
    path.split(':').map(|folder| Path::new(folder).join(program)).find(|path| path.exists())
}
