//! Secrets out of command lines and other texts of a job, before they are stored.
//!
//! A secret is replaced by `[redacted]` if its name says so (`--password`, `API_TOKEN=`, `"secret":`), if its place
//! says so (the password of a URL, `-p` of a known tool), or if it has the shape of a known key. Everything else
//! stays, because a record whose command cannot be read helps nobody. A secret that looks like an ordinary word in an
//! ordinary place cannot be found.
//!
//! `rules` and `tools` hold the table of rules; the other files find the places. Every step takes time in proportion
//! to the length of the text.

mod command;
mod extent;
mod names;
mod rules;
mod scan;
mod shapes;
mod shell;
mod tools;
mod url;
mod values;

use command::Command;
use jobmeter_model::summary::RunInfo;
use names::weigh;
use scan::Mode;
use shell::Piece;
use values::Place;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Scripts inside scripts (`ssh host 'sh -c "…"'`) are followed so deep.
const MAX_DEPTH: usize = 4;

/// The arguments of a command, program first.
pub fn argv<S: AsRef<str>>(arguments: &[S]) -> Vec<String> {
    let mut command = Command::new(Place::Argument);
    let mut is_script = false;
    let mut out = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let argument = argument.as_ref();
        let redacted = command.word(argument);
        let was_script = std::mem::replace(&mut is_script, announces_script(argument));
        out.push(match redacted {
            Some(redacted) => redacted,
            None if was_script => text(argument),
            None => self::argument(argument),
        });
    }
    out
}

/// One variable of an environment: the value, or `[redacted]`.
pub fn variable(name: &str, value: &str) -> String {
    match values::secret_part(value, weigh(name), Place::Argument) {
        Some(part) => format!("{}{REDACTED}{}", &value[..part.start], &value[part.end..]),
        None => argument(value),
    }
}

/// Any text, such as the name of a run or of a mark, or a script: headers, URLs, keys, assignments and options in it.
pub fn text(text: &str) -> String {
    nested(text, MAX_DEPTH)
}

/// Everything in the header of a run that the job or its user has written.
pub fn run_info(info: &mut RunInfo) {
    info.command = argv(&info.command);
    info.name = info.name.take().map(|name| text(&name));
    info.cwd = text(&info.cwd);
    for (key, value) in &mut info.tags {
        *value = variable(key, value);
    }
    if let Some(job) = &mut info.job {
        job.id = text(&job.id);
        job.step = job.step.take().map(|step| text(&step));
        job.node = job.node.take().map(|node| text(&node));
    }
}

/// An argument of its own: white space in it belongs to a value unless it looks like a script.
fn argument(argument: &str) -> String {
    if looks_like_script(argument) {
        return text(argument);
    }
    shapes::redact(&scan::redact(&url::redact(argument), Mode::Argument))
}

fn nested(script: &str, depth: usize) -> String {
    let script = scan::redact(&url::redact(script), Mode::Script);
    let mut command = Command::new(Place::Code);
    let mut out = String::with_capacity(script.len());
    let pieces = shell::pieces(&script);
    let piped = shell::piped_secrets(&pieces);
    for (index, piece) in pieces.iter().enumerate() {
        match *piece {
            Piece::Word(word) if piped.contains(&index) => out.push_str(&shell::redact_piped(word)),
            Piece::Blank(blank) => out.push_str(blank),
            Piece::Operator(operator) => {
                command = Command::new(Place::Code);
                out.push_str(operator);
            }
            Piece::Word(word) => {
                let (quote, inside) = shell::unquoted(word).unwrap_or(("", word));
                out.push_str(quote);
                match command.word(inside) {
                    Some(redacted) => out.push_str(&redacted),
                    None if !quote.is_empty() && depth > 0 && inside.contains(' ') => {
                        out.push_str(&nested(inside, depth - 1));
                    }
                    None => out.push_str(inside),
                }
                out.push_str(quote);
            }
        }
    }
    shapes::redact(&out)
}

/// Options after which a script comes: `sh -c`, `sbatch --wrap`.
fn announces_script(argument: &str) -> bool {
    let letters = argument.strip_prefix('-').unwrap_or_default();
    matches!(argument, "--wrap" | "--command" | "eval")
        || letters.len() <= 5
            && letters.ends_with('c')
            && letters.bytes().all(|letter| letter.is_ascii_lowercase())
}

/// Operators of the shell, or words that begin with a dash, between blanks.
fn looks_like_script(argument: &str) -> bool {
    let Some(first) = argument.find(char::is_whitespace) else { return false };
    // `Cookie: a=b; c=d` is a header.
    if argument[..first].ends_with(':') || argument.starts_with(['{', '[']) {
        return false;
    }
    let bytes = argument.as_bytes();
    bytes[first..].windows(2).any(|pair| pair[0].is_ascii_whitespace() && b"-|&./".contains(&pair[1]))
        || argument.contains("; ")
        || argument.contains("$(")
        || argument.contains('\n')
}

#[cfg(test)]
mod tests;
