//! The command line as a whole: subcommands, and how their results become exit codes.

use crate::cmd;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};

const RUN_ABOUT: &str = "Run a command and say what it needed";

const EXAMPLES: &str = "\
Examples:
  jobmeter run -- python train.py --epochs 3
  jobmeter run -i 100ms -f json -o usage.json -- make -j8
  jobmeter attach 4312 --duration 1m
  jobmeter show last
  jobmeter report last -o report.html
  jobmeter compare 'base:*' 'new:*'

jobmeter --version --json says which version this is, and of which formats.

Exit codes: those of the job; 128+n after signal n; 124 time limit, 125 our own failure,
126 not executable, 127 not found.";

#[derive(Debug, Parser)]
#[command(name = "jobmeter", version, about = "The meter for compute jobs", after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(about = RUN_ABOUT)]
    Run(Box<cmd::run::RunArgs>),
    /// Measure a process that runs already
    Attach(Box<cmd::attach::AttachArgs>),
    /// Print a recorded run: summary, processes, phases, timeline
    Show(cmd::show::ShowArgs),
    /// Advise what to ask for next time, with the cheapest server and the cost
    Advise(cmd::advise::AdviseArgs),
    /// List the cheapest servers that fit
    Servers(cmd::servers::ServersArgs),
    /// One self-contained page about recorded runs
    Report(cmd::report::ReportArgs),
    /// Charts of recorded runs as SVG, PNG or PDF
    Plot(cmd::plot::PlotArgs),
    /// Mark a moment or a phase from inside a measured job
    Mark(cmd::mark::MarkArgs),
    /// List the recorded runs
    Ls(cmd::ls::LsArgs),
    /// Remove recorded runs
    Rm(cmd::rm::RmArgs),
    /// Upload recorded runs to object storage
    #[cfg(feature = "object-storage")]
    Push(cmd::push::PushArgs),
    /// Download recorded runs from object storage into the store
    #[cfg(feature = "object-storage")]
    Pull(cmd::pull::PullArgs),
    /// Remove old recorded runs
    Prune(cmd::prune::PruneArgs),
    /// Tables of a run as CSV, JSON Lines, Parquet, SQLite or Arrow
    Export(cmd::export::ExportArgs),
    /// Compare runs, or sets of runs, figure by figure
    Compare(cmd::compare::CompareArgs),
    /// Check recorded runs against budgets
    Check(cmd::check::CheckArgs),
    /// Efficiency of a job, as Slurm's seff prints it
    Seff(cmd::seff::SeffArgs),
    /// Describe this machine: hardware, limits, container, scheduler, cloud
    Host(cmd::host::HostArgs),
    /// The command line of gpu-tracker (also when this program is called by that name)
    GpuTracker(cmd::gpu_tracker::GpuTrackerArgs),
    /// Print the script that completes jobmeter's commands and options in a shell
    Completions(cmd::completions::CompletionsArgs),
    /// Print the manual pages, or write them into a folder
    Man(cmd::completions::ManArgs),
}

/// The whole definition, for completions and the manual.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// `run` without the other subcommands: a job that takes a millisecond should not wait for the definitions of
/// twenty commands, nor their code take memory beside it.
fn parse_run_alone() -> Option<Result<Command, clap::Error>> {
    let mut words = crate::platform::arguments().skip(1);
    if words.next()? != "run" {
        return None;
    }
    let words: Vec<OsString> = words.collect();
    let args = cmd::run::RunArgs::plain(&words).map_or_else(|| parse_run(words), Ok);
    Some(args.map(|args| Command::Run(Box::new(args))))
}

fn parse_run(words: Vec<OsString>) -> Result<cmd::run::RunArgs, clap::Error> {
    let command = clap::Command::new("run").bin_name("jobmeter run").about(RUN_ABOUT).max_term_width(100);
    let matches = cmd::run::RunArgs::augment_args(command)
        .try_get_matches_from(std::iter::once(OsString::from("jobmeter run")).chain(words))?;
    cmd::run::RunArgs::from_arg_matches(&matches)
}

fn parse() -> Result<Command, clap::Error> {
    parse_run_alone().unwrap_or_else(|| {
        let matches = Cli::command().try_get_matches_from(crate::platform::arguments())?;
        Cli::from_arg_matches(&matches).map(|cli| cli.command)
    })
}

pub(crate) fn dispatch() -> u8 {
    crate::trust::warn_of_ignored_variables();
    if let Some(words) = cmd::gpu_tracker::called_by_name() {
        return cmd::gpu_tracker::run(words);
    }
    if cmd::version::is_asked_as_json() {
        return finish(cmd::version::print_as_json());
    }
    let command = match parse() {
        Ok(command) => command,
        Err(error) => {
            // Help and version go to standard output; mistakes to standard error, as our own failure.
            drop(error.print());
            return if error.use_stderr() { crate::OWN_FAILURE } else { 0 };
        }
    };
    finish(match command {
        Command::Run(args) => cmd::run::main(*args),
        Command::Attach(args) => cmd::attach::main(*args),
        Command::Show(args) => cmd::show::main(args),
        Command::Advise(args) => cmd::advise::main(args),
        Command::Servers(args) => cmd::servers::main(args),
        Command::Report(args) => cmd::report::main(args),
        Command::Plot(args) => cmd::plot::main(args),
        Command::Mark(args) => cmd::mark::main(args),
        Command::Ls(args) => cmd::ls::main(args),
        Command::Rm(args) => cmd::rm::main(args),
        #[cfg(feature = "object-storage")]
        Command::Push(args) => cmd::push::main(args),
        #[cfg(feature = "object-storage")]
        Command::Pull(args) => cmd::pull::main(args),
        Command::Prune(args) => cmd::prune::main(args),
        Command::Export(args) => cmd::export::main(args),
        Command::Compare(args) => cmd::compare::main(args),
        Command::Check(args) => cmd::check::main(args),
        Command::Seff(args) => cmd::seff::main(args),
        Command::Host(args) => cmd::host::main(args),
        Command::GpuTracker(args) => Ok(cmd::gpu_tracker::run(args.words)),
        Command::Completions(args) => cmd::completions::main(args),
        Command::Man(args) => cmd::completions::man(args),
    })
}

fn finish(result: Result<u8, String>) -> u8 {
    result.unwrap_or_else(|message| {
        let mut text = format!("jobmeter: {message}\n");
        // In a log an error is one line.
        if std::io::stderr().is_terminal() {
            text = jobmeter_model::layout::wrap(&text, cmd::terminal::width(cmd::terminal::Stream::Error));
        }
        drop(std::io::stderr().write_all(text.as_bytes()));
        crate::OWN_FAILURE
    })
}
