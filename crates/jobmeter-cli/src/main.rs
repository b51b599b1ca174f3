//! The `jobmeter` command: arguments in, exit codes out. One file per subcommand under `cmd/`.

mod cmd;

use clap::Parser;
use std::io::Write;

#[derive(Debug, Parser)]
#[command(name = "jobmeter", version)]
enum Command {
    /// Describe this machine: hardware, limits, container, scheduler, cloud
    Host(cmd::host::HostArgs),
    /// Compare runs, or sets of runs, figure by figure
    Compare(cmd::compare::CompareArgs),
    /// Put runs to budgets
    Check(cmd::check::CheckArgs),
    /// List stored runs
    Ls(cmd::ls::LsArgs),
    /// Remove stored runs
    Rm(cmd::rm::RmArgs),
    /// Remove old stored runs
    Prune(cmd::prune::PruneArgs),
}

fn main() -> std::process::ExitCode {
    let result = match Command::parse() {
        Command::Host(args) => cmd::host::main(args),
        Command::Compare(args) => cmd::compare::main(args),
        Command::Check(args) => cmd::check::main(args),
        Command::Ls(args) => cmd::ls::main(args),
        Command::Rm(args) => cmd::rm::main(args),
        Command::Prune(args) => cmd::prune::main(args),
    };
    let code = result.unwrap_or_else(|error| {
        if writeln!(std::io::stderr(), "jobmeter: {error}").is_err() {
            // Nobody listens.
        }
        125
    });
    code.into()
}
