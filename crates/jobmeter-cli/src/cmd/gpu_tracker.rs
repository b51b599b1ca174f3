//! `jobmeter gpu-tracker`: the command line of gpu-tracker on our engine. Its exit code is its own: 0 when
//! the tracking went well, whatever the command's status was, and 1 for every mistake.

use super::run::end_plainly;
use crate::platform::leave::{self, Ending};
use crate::say::say;
use jobmeter_compat::arguments::{Request, parse, split_command};
use jobmeter_compat::command_file;
use jobmeter_compat::output::Destination;
use jobmeter_compat::settings::{Settings, TrackOptions};
use jobmeter_compat::sub_track::{CompareOptions, Comparison, analyze};
use jobmeter_compat::{
    CompatError, Look, Machine, Timepoints, Track, check_tracking_path, combine, help, usage,
};
use jobmeter_engine::run::job::{Job, LaunchError, RunOptions};
use jobmeter_engine::run::spawn::SpawnError;
use jobmeter_engine::run::supervise::{Outcome, Supervisor};
use jobmeter_gpu::{GpuExtra, Listing};
use jobmeter_model::summary::RunInfo;
use jobmeter_model::text::printable;
use jobmeter_model::{Mode, WarningKind};
use std::ffi::OsString;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

const FAILURE: u8 = 1;
const DONE: &str = "Resource tracking complete. Process completed with status code: ";

#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct GpuTrackerArgs {
    /// Options of gpu-tracker; -h lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    pub(crate) words: Vec<OsString>,
}

/// The arguments, when we go by the other program's name.
pub(crate) fn called_by_name() -> Option<Vec<OsString>> {
    let mut words = crate::platform::arguments();
    let name = words.next()?;
    (Path::new(&name).file_name()? == "gpu-tracker").then(|| words.collect())
}

pub(crate) fn run(words: Vec<OsString>) -> u8 {
    match answer(words) {
        Ok(()) => 0,
        Err(error @ CompatError::Usage(_)) => {
            say(&error.to_string());
            FAILURE
        }
        Err(error) => {
            say(&format!("ERROR:root:{error}"));
            FAILURE
        }
    }
}

fn answer(words: Vec<OsString>) -> Result<(), CompatError> {
    let words: Result<Vec<String>, OsString> = words.into_iter().map(OsString::into_string).collect();
    let words = words.map_err(|word| {
        CompatError::Value(format!("the argument '{}' is not UTF-8", printable(&word.to_string_lossy())))
    })?;
    match parse(&words)? {
        Request::Help => print(&help::help()),
        Request::Version => print(help::VERSION),
        Request::InstallCommand(folder) => {
            let path = command_file::install(&own_program()?, folder.as_deref())?;
            print(&format!("{} runs jobmeter gpu-tracker.", printable(&path.to_string_lossy())))
        }
        Request::UninstallCommand(folder) => {
            let path = command_file::uninstall(&own_program()?, folder.as_deref())?;
            print(&format!("{} is removed.", printable(&path.to_string_lossy())))
        }
        Request::Track { command, destination, options } => track(&command, &destination, options),
        Request::Combine { target, files } => combine(&target, &files),
        Request::Analyze { tracking, sub_tracking, destination } => {
            destination.deliver(&analyze(&tracking, &sub_tracking)?)
        }
        Request::Compare { config, sessions, statistic, destination } => {
            let comparison = Comparison::load(CompareOptions::new(config.as_deref(), &sessions, statistic)?)?;
            comparison.warnings.iter().for_each(|text| warn(text));
            destination.deliver(&comparison.results()?)
        }
    }
}

fn own_program() -> Result<PathBuf, CompatError> {
    std::env::current_exe()
        .map_err(|error| CompatError::File(format!("cannot find out where jobmeter itself is: {error}")))
}

fn print(text: &str) -> Result<(), CompatError> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(|error| CompatError::File(format!("cannot write to standard output: {error}")))
}

fn warn(text: &str) {
    say(&format!("WARNING:root:{text}"));
}

/// Everything that can be wrong is found out before the command starts.
fn track(command: &str, destination: &Destination, options: TrackOptions) -> Result<(), CompatError> {
    let command = split_command(command, shlex::split);
    let Some(program) = command.first().cloned() else {
        return Err(CompatError::Value("Empty command provided.".to_owned()));
    };
    let settings = Settings::new(options)?;
    destination.check()?;
    if let Some(path) = &settings.tracking_file {
        check_tracking_path(path, settings.overwrite)?;
    }
    let look = Machine::look(&settings)?;
    let options = RunOptions {
        command: command.iter().map(OsString::from).collect(),
        interval_ns: Some(settings.interval_ns),
        timeout_ns: None,
        grace_ns: 0,
        wait_descendants: false,
        use_cgroup: true,
        use_perf: true,
        follow: false,
    };
    let mut job = Job::start(options).map_err(|error| launch_failed(&program, error))?;
    crate::platform::streams::survive_write_errors();
    // Whatever goes wrong on our side from here on, the job runs to its end.
    let measured = catch_unwind(AssertUnwindSafe(|| {
        let supervisor = Supervisor::new(&mut job).map_err(LaunchError::Spawn)?;
        Ok(measure(supervisor, &settings, look, destination))
    }));
    match measured {
        Ok(result) => result.map_err(|error| launch_failed(&program, error))?,
        Err(_) => {
            end_plainly(&mut job).map_err(|error| launch_failed(&program, LaunchError::Spawn(error)))?;
            Err(CompatError::Value("measuring failed; the command ran to its end unmeasured".to_owned()))
        }
    }
}

fn measure(
    mut supervisor: Supervisor<'_>,
    settings: &Settings,
    mut look: Look,
    destination: &Destination,
) -> Result<(), CompatError> {
    let started_unix_ns = supervisor.meter.started_unix_ns();
    let info = RunInfo {
        mode: Mode::Run,
        pid: supervisor.pid().get(),
        started_unix_ns,
        interval_ns: Some(settings.interval_ns),
        expected_cores: f64::from(look.machine.n_expected_cores),
        system_cores: look.machine.core_count,
        ..RunInfo::default()
    };
    let listing = watch_gpus(&mut supervisor, &mut look);
    if !settings.disable_logs {
        look.warnings.iter().for_each(|text| warn(text));
    }
    let track = settings.tracking_file.clone().map(|path| Track::new(path, settings.overwrite));
    let rows = Timepoints::new(look.machine, listing, started_unix_ns, track);
    let rows = Arc::new(Mutex::new(rows));
    supervisor.meter.add_sink(Box::new(rows.clone()));
    supervisor.meter.read_machine_often();
    // The first interval begins here, not one interval later.
    supervisor.meter.tick();
    let outcome = supervisor.run();
    leave::plan(Ending::Code(FAILURE));
    leave::hurry_on_signals();
    let summary = supervisor.finish(&info, &outcome);
    if !settings.disable_logs {
        summary.warnings.iter().for_each(|warning| warn(&printable(&warning.text)));
        rows.lock().unwrap_or_else(PoisonError::into_inner).gpu_warning().iter().for_each(|text| warn(text));
    }
    // Each is tried whatever became of the others: a closed screen must not cost the file.
    let said = print(&format!("{DONE}{}", status(&outcome)));
    let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
    let written = rows.finish();
    let delivered = destination.deliver(&usage(Some(&summary), &rows));
    said.and(delivered).and(written)
}

/// Starts the driver, for which nobody waits. What it says of its devices is still to be learned, unless they were
/// listed already.
fn watch_gpus(supervisor: &mut Supervisor<'_>, look: &mut Look) -> Option<Listing> {
    match GpuExtra::start(look.gpus.clone()?) {
        Ok(Some(extra)) => {
            super::gpu::leave_out_drivers(&mut supervisor.meter);
            let listing = extra.listing().filter(|_| look.machine.gpu_count == 0);
            supervisor.meter.add_extra(Box::new(extra));
            listing
        }
        Ok(None) => {
            look.no_gpu();
            None
        }
        Err(error) => {
            supervisor.meter.warn(WarningKind::Gpu, error.to_string());
            None
        }
    }
}

/// The exit status, or the signal as a negative number.
fn status(outcome: &Outcome) -> i32 {
    match Ending::of_job(outcome.status, false) {
        Ending::Signal(signal) => -signal,
        Ending::Code(code) => i32::from(code),
    }
}

fn launch_failed(program: &str, error: LaunchError) -> CompatError {
    let program = printable(program);
    match error {
        LaunchError::Spawn(SpawnError::Exec(error)) if error.raw_os_error() == Some(libc::ENOENT) => {
            CompatError::Value(format!("Command not found: \"{program}\""))
        }
        LaunchError::Spawn(SpawnError::Argument) => CompatError::Value(format!(
            "An argument of \"{program}\" holds a NUL byte, which no command can take"
        )),
        LaunchError::Spawn(SpawnError::Exec(error) | SpawnError::Fork(error)) | LaunchError::Own(error) => {
            CompatError::File(format!("Cannot run \"{program}\": {error}"))
        }
    }
}
