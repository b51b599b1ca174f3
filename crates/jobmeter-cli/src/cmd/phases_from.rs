//! `--phases-from FILE`: phases that gpu_tracker's sub-tracking noted, attached to recorded runs.

use crate::say::shown;
use jobmeter_compat::sub_track;
use jobmeter_record::{PhaseCall, Run};
use std::cell::Cell;
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct PhasesFromArgs {
    /// Also phases from a gpu_tracker sub-tracking file (.csv or .sqlite)
    #[arg(long, value_name = "FILE")]
    phases_from: Vec<PathBuf>,
}

/// The calls of every file, and how many of them a run has taken so far.
pub(crate) struct PhasesFrom {
    files: Vec<File>,
}

struct File {
    path: PathBuf,
    calls: Vec<PhaseCall>,
    taken: Cell<u64>,
    cut: Cell<u64>,
}

impl PhasesFromArgs {
    pub(crate) fn read(&self) -> Result<PhasesFrom, String> {
        let files = self.phases_from.iter().map(|path| {
            let calls = sub_track::calls(path).map_err(|error| error.to_string())?;
            let calls = calls.into_iter().map(|call| phase_call(path, call)).collect::<Result<_, _>>()?;
            Ok(File { path: path.clone(), calls, taken: Cell::new(0), cut: Cell::new(0) })
        });
        Ok(PhasesFrom { files: files.collect::<Result<_, String>>()? })
    }
}

impl PhasesFrom {
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The run with what of the files lies in its time.
    pub(crate) fn attach(&self, run: Run) -> Run {
        self.files.iter().fold(run, |run, file| {
            let (run, attached) = run.with_phases(&file.calls);
            file.taken.set(file.taken.get() + attached.taken);
            file.cut.set(file.cut.get() + attached.cut);
            run
        })
    }

    /// Once every run has had its share: a file of another job is a mistake, one that reaches beyond is told of.
    pub(crate) fn finish(&self) -> Result<(), String> {
        for file in &self.files {
            let path = shown(&file.path);
            if file.taken.get() == 0 {
                return Err(format!(
                    "none of the {} calls in {path} lies in the time of the run; name the file that was written \
                     while it ran",
                    file.calls.len()
                ));
            }
            if file.cut.get() > 0 {
                let note = format!(
                    "jobmeter: {} calls in {path} reach beyond the run; only their part inside it counts",
                    file.cut.get()
                );
                writeln!(std::io::stderr(), "{note}").map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }
}

fn phase_call(path: &std::path::Path, call: sub_track::Call) -> Result<PhaseCall, String> {
    let wrong = |what: &str| {
        let name = jobmeter_record::text::printable_within(&call.name, 100);
        format!("{}: a call of '{name}' has {what}", shown(path))
    };
    // Beyond 2^63 ns (the year 2262) it is no time stamp.
    let unix_ns = |seconds: f64| {
        let ns = (seconds * 1e9).round();
        (0.0..9.2e18).contains(&ns).then_some(ns as u64).ok_or_else(|| wrong("no Unix time in seconds"))
    };
    let begin_unix_ns = unix_ns(call.begin_s)?;
    let end_unix_ns = call.end_s.map(unix_ns).transpose()?;
    let pid = i32::try_from(call.process_id).map_err(|_| wrong("no process number"))?;
    Ok(PhaseCall { name: call.name, pid, begin_unix_ns, end_unix_ns })
}
