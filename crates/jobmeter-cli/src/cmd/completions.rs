//! `jobmeter completions` and `jobmeter man`, from the same definitions as the help.

use super::out;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "The shell loads the script when it starts, from the folder that it looks in.

Examples:
  jobmeter completions bash > ~/.local/share/bash-completion/completions/jobmeter
  jobmeter completions zsh > ~/.zfunc/_jobmeter
  jobmeter completions fish > ~/.config/fish/completions/jobmeter.fish

zsh looks in ~/.zfunc where ~/.zshrc says: fpath+=~/.zfunc; autoload -U compinit; compinit")]
pub(crate) struct CompletionsArgs {
    /// The shell that reads the script
    shell: clap_complete::Shell,
}

pub(crate) fn main(args: CompletionsArgs) -> Result<u8, String> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut crate::cli::command(), "jobmeter", &mut text);
    out::print(&String::from_utf8_lossy(&text))
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Without --into all pages go to standard output, one after the other.

Examples:
  jobmeter man > jobmeter.1
  jobmeter man --into ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write each page as a file into this folder, which is made where it is missing: jobmeter.1,
    /// jobmeter-run.1 and so on
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
}

/// The pages of the command and of each of its subcommands: one after the other, or one file each.
pub(crate) fn man(args: ManArgs) -> Result<u8, String> {
    let command = crate::cli::command();
    let subcommands =
        command.get_subcommands().map(|sub| (format!("jobmeter-{}", sub.get_name()), sub.clone()));
    let all = std::iter::once(("jobmeter".to_owned(), command.clone())).chain(subcommands);
    let mut pages = Vec::new();
    for (name, command) in all {
        let mut text = Vec::new();
        let man = clap_mangen::Man::new(command.display_name(name.clone()));
        man.render(&mut text).map_err(|error| error.to_string())?;
        pages.push((name, text));
    }
    let Some(folder) = args.into else {
        let whole: Vec<u8> = pages.into_iter().flat_map(|(_, text)| text).collect();
        return out::print(&String::from_utf8_lossy(&whole));
    };
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))?;
    for (name, text) in pages {
        let path = folder.join(format!("{name}.1"));
        std::fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(0)
}
