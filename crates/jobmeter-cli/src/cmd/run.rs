//! `jobmeter run -- CMD`: the job under the meter, its exit status ours.

use super::check::BudgetArgs;
use super::gpu::GpuJob;
use super::measure::{MeasureArgs, Record};
use super::node;
use super::notify::Notice;
use crate::config::Settings;
use crate::platform::leave::{self, Ending};
use crate::say::say;
use jobmeter_engine::run::commands::Commands;
use jobmeter_engine::run::job::{Job, LaunchError, RunOptions};
use jobmeter_engine::run::spawn::SpawnError;
use jobmeter_engine::run::supervise::Supervisor;
use jobmeter_insight::check::{Outcome, check, inline_exit_code, text};
use jobmeter_insight::compare::RunView;
use jobmeter_model::text::printable;
use jobmeter_model::units::parse_duration_ns;
use jobmeter_model::{Mode, Summary, WarningKind};
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
/// Between TERM and KILL, where nobody says otherwise.
const USUAL_GRACE_NS: u64 = 10_000_000_000;

#[derive(Debug, Default, clap::Args)]
#[command(after_help = "Examples:
  jobmeter run -- python train.py
  jobmeter run --timeout 2h --name nightly --tag branch=main -- ./simulate input.toml
  jobmeter run -i 10ms -f json -o usage.json -- make -j8
  jobmeter run --max-ram 8GiB --max-time 10m --fail-on-budget -- make test
  jobmeter run --notify 'jq .verdict.text > verdict.txt' -- make test
  jobmeter run -e 'sh -c \"sort big.txt | uniq -c\"'

Settings: flags, then JOBMETER_INTERVAL and the like, then ./jobmeter.toml, then the user's file.

Exit codes: those of the job; 128+n after signal n; 124 time limit, 125 our own failure,
126 not executable, 127 not found; with --fail-on-budget, after a job that ended well:
123 over a budget, 122 undecided.")]
pub(crate) struct RunArgs {
    /// End the job after this time: TERM, then KILL; exit code 124
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Running")]
    timeout: Option<u64>,
    /// Time between TERM and KILL at the time limit; without it 10s
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Running")]
    grace: Option<u64>,
    /// Measure on until the last descendant has ended
    #[arg(long, help_heading = "Running")]
    wait_descendants: bool,
    /// The command as one string, split as a shell would (quotes honoured, nothing expanded)
    #[arg(
        short = 'e',
        long = "execute",
        value_name = "CMD",
        conflicts_with = "command",
        help_heading = "Running"
    )]
    execute: Option<String>,
    /// Make no cgroup for the job
    #[arg(long, help_heading = "Measuring")]
    no_cgroup: bool,
    /// Use no perf events: processes that live between two ticks are then not told one by one
    #[arg(long, help_heading = "Measuring")]
    no_perf: bool,
    /// Tell every process, and bound memory more closely, also without the privilege to watch whole CPUs; the job may start
    /// 30 ms later
    #[arg(long, conflicts_with = "no_perf", help_heading = "Measuring")]
    follow: bool,
    #[command(flatten)]
    measure: MeasureArgs,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    command: Vec<OsString>,
    #[command(flatten)]
    budgets: BudgetArgs,
    /// Exit with 123 when a job that ended well is over a budget, with 122 when that cannot be told
    #[arg(long, help_heading = "Budgets")]
    fail_on_budget: bool,
}

impl RunArgs {
    /// A command behind nothing but `-q` and `--no-record`: there is little to parse, and a parser that knows all
    /// options takes longer than `true`. `None` where it has to be asked.
    pub(crate) fn plain(words: &[OsString]) -> Option<RunArgs> {
        let mut args = RunArgs::default();
        let mut words = words.iter();
        loop {
            let flag = match words.as_slice().first()?.as_encoded_bytes() {
                b"--" => {
                    words.next();
                    break;
                }
                b"-q" | b"--quiet" => &mut args.measure.quiet,
                b"--no-record" => &mut args.measure.no_record,
                word if word.starts_with(b"-") => return None,
                _ => break,
            };
            if std::mem::replace(flag, true) {
                return None;
            }
            words.next();
        }
        args.command = words.cloned().collect();
        (!args.command.is_empty()).then_some(args)
    }
}

fn parse_time(text: &str) -> Result<u64, String> {
    parse_duration_ns(text).map_err(|error| error.to_string())
}

pub(crate) fn main(mut args: RunArgs) -> Result<u8, String> {
    let command = command_of(&args)?;
    let settings = Settings::load()?;
    args.grace = args.grace.or(settings.grace_ns);
    args.no_cgroup |= settings.cgroup == Some(false);
    args.measure.configure(settings);
    if args.fail_on_budget && args.budgets.budgets().is_empty() {
        return Err("--fail-on-budget has no budget; give one such as --max-ram 8GiB".to_owned());
    }
    args.measure.check_outputs()?;
    args.measure.gpu.check()?;
    let options = RunOptions {
        command,
        interval_ns: args.measure.interval,
        timeout_ns: args.timeout,
        grace_ns: args.grace.unwrap_or(USUAL_GRACE_NS),
        wait_descendants: args.wait_descendants,
        use_cgroup: !args.no_cgroup,
        use_perf: !args.no_perf,
        follow: args.follow,
    };
    let command = options.command.clone();
    let mut job = match Job::start(options) {
        Ok(job) => job,
        Err(error) => return launch_failed(&command[0], error),
    };
    crate::platform::streams::survive_write_errors();
    // Whatever goes wrong on our side from here on, the job runs to its end and its status is ours.
    match catch_unwind(AssertUnwindSafe(|| measure(&args, &command, &mut job))) {
        Ok(Ok(code)) => Ok(code),
        Ok(Err(error)) => launch_failed(&command[0], LaunchError::Spawn(error)),
        Err(_) => {
            end_plainly(&mut job).or_else(|error| launch_failed(&command[0], LaunchError::Spawn(error)))
        }
    }
}

/// Sees the job to its end after measuring has failed.
pub(crate) fn end_plainly(job: &mut Job) -> Result<u8, SpawnError> {
    if !leave::is_planned() {
        say("jobmeter: measuring failed; the job goes on unmeasured");
        let end = job.wait_plainly()?;
        leave::plan(Ending::of_job(end.status, end.timed_out));
        leave::hurry_on_signals();
    }
    Ok(leave::planned_code())
}

fn command_of(args: &RunArgs) -> Result<Vec<OsString>, String> {
    let command = match &args.execute {
        Some(text) => shlex::split(text)
            .ok_or_else(|| format!("'{}' ends inside a quote; close it", printable(text)))?
            .into_iter()
            .map(OsString::from)
            .collect(),
        None => args.command.clone(),
    };
    if command.is_empty() {
        return Err("no command to run; write it behind --, as in: jobmeter run -- make -j8".to_owned());
    }
    Ok(command)
}

fn measure(args: &RunArgs, command: &[OsString], job: &mut Job) -> Result<u8, SpawnError> {
    let mut supervisor = Supervisor::new(job)?;
    let limits = supervisor.limits().clone();
    let started_unix_ns = supervisor.meter.started_unix_ns();
    let pid = supervisor.pid().get();
    let mut job = args.measure.job.of_ours();
    let lock = job.as_mut().filter(|_| args.measure.is_stored()).and_then(node::agree);
    let info = args.measure.info(Mode::Run, command, pid, job, &limits, started_unix_ns);
    lock.into_iter().for_each(|lock| supervisor.meter.share_node(lock));
    let gpus = args.measure.gpu.start(GpuJob::Started);
    let (record, trouble) = args.measure.open_record(&info);
    if let Some(record) = &record {
        record.carrier_pid().into_iter().for_each(|pid| supervisor.meter.exclude(pid));
        supervisor.meter.add_sink(Box::new(Commands::new(record.writer.clone())));
    }
    if let Some(text) = trouble {
        supervisor.meter.warn(WarningKind::Record, text);
    }
    let no_gpu = gpus.add_to(&mut supervisor.meter);
    let outcome = supervisor.run();
    let ending = Ending::of_job(outcome.status, outcome.timed_out);
    leave::plan(ending);
    leave::hurry_on_signals();
    record.iter().for_each(Record::announce_end);
    let mut summary = supervisor.finish(&info, &outcome);
    // Before anything is printed, which may take its time.
    supervisor.abandon();
    args.measure.gpu.estimate(&mut summary);
    if let Some(record) = &record {
        record.finish(&mut summary);
    }
    args.measure.deliver(&summary, record.as_ref());
    if no_gpu && args.measure.verbose {
        args.measure.gpu.none_found().iter().for_each(|text| say(text));
    }
    let notice = args.measure.notice(&summary);
    let code = judge(args, summary, ending.shell_code());
    notice.into_iter().for_each(Notice::send);
    args.measure.upload(record.as_ref());
    Ok(code)
}

/// The budgets, a line each; the exit code that results. The job's own failure wins.
fn judge(args: &RunArgs, summary: Summary, job_code: u8) -> u8 {
    let budgets = args.budgets.budgets();
    if budgets.is_empty() {
        return job_code;
    }
    let mut report = check(&RunView { summary, phases: Vec::new(), label: String::new() }, &budgets);
    let code = if args.fail_on_budget { inline_exit_code(job_code, &report, false) } else { job_code };
    if args.measure.quiet {
        report.lines.retain(|line| line.outcome != Outcome::Holds);
    }
    if code != job_code {
        leave::plan(Ending::Code(code));
    }
    let lines = text(&report);
    if !report.lines.is_empty() {
        say(lines.trim_end());
    }
    code
}

fn launch_failed(command: &OsString, error: LaunchError) -> Result<u8, String> {
    let name = printable(&command.to_string_lossy());
    match error {
        LaunchError::Spawn(SpawnError::Exec(error)) => {
            let (code, text) = match error.raw_os_error() {
                Some(libc::ENOENT) => (NOT_FOUND, "there is no such command".to_owned()),
                Some(libc::EACCES) => {
                    (NOT_EXECUTABLE, "it may not be executed (a directory, or no x permission)".to_owned())
                }
                _ => (NOT_EXECUTABLE, error.to_string()),
            };
            say(&format!("jobmeter: cannot run '{name}': {text}"));
            Ok(code)
        }
        LaunchError::Spawn(SpawnError::Argument) => {
            Err(format!("an argument of '{name}' holds a NUL byte, which no command can take"))
        }
        LaunchError::Spawn(SpawnError::Fork(error)) | LaunchError::Own(error) => {
            Err(format!("cannot start '{name}': {error}"))
        }
    }
}
