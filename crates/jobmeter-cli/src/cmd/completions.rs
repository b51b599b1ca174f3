//! `jobmeter completions` and `jobmeter man`, from the same definitions as the help.

use super::out;

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    shell: clap_complete::Shell,
}

pub(crate) fn main(args: CompletionsArgs) -> Result<u8, String> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut crate::cli::command(), "jobmeter", &mut text);
    out::print(&String::from_utf8_lossy(&text))
}

/// All pages in one: the command and each of its subcommands.
pub(crate) fn man() -> Result<u8, String> {
    let mut text = Vec::new();
    let command = crate::cli::command();
    let render = |command: clap::Command, text: &mut Vec<u8>| {
        clap_mangen::Man::new(command).render(text).map_err(|error| error.to_string())
    };
    render(command.clone(), &mut text)?;
    for sub in command.get_subcommands() {
        render(sub.clone().display_name(format!("jobmeter-{}", sub.get_name())), &mut text)?;
    }
    out::print(&String::from_utf8_lossy(&text))
}
