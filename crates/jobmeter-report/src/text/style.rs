//! How text looks: its units, and colour only where it is wanted: a terminal, unless `NO_COLOR` or `--color` say
//! otherwise.

use super::brief::wrapped;
use super::units::Units;
use jobmeter_model::{Summary, Verdict, VerdictKind};
use std::str::FromStr;

/// When text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// On a terminal that shows colours.
    Auto,
    /// Also into files and pipes.
    Always,
    /// Not at all.
    Never,
}

impl FromStr for Color {
    type Err = String;

    fn from_str(text: &str) -> Result<Color, String> {
        match text {
            "auto" => Ok(Color::Auto),
            "always" => Ok(Color::Always),
            "never" => Ok(Color::Never),
            other => Err(format!("'{other}' is not a colour choice; write auto, always or never")),
        }
    }
}

/// How text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// With colours.
    pub colored: bool,
    /// In which units.
    pub units: Units,
}

impl Style {
    /// The flag decides, then `NO_COLOR`, then `CLICOLOR_FORCE`, then whether it is a terminal.
    pub fn choose(flag: Color, is_terminal: bool, units: Units) -> Style {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let forced =
            std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
        let colored = match flag {
            Color::Always => true,
            Color::Never => false,
            Color::Auto if set("NO_COLOR") => false,
            Color::Auto => forced || is_terminal,
        };
        Style { colored, units }
    }

    pub(super) fn paint(self, code: &str, text: &str) -> String {
        if self.colored { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(super) fn label(self, text: &str) -> String {
        self.paint("36", text)
    }

    pub(super) fn value(self, label: &str, text: &str, summary: &Summary) -> String {
        match label {
            "verdict" if has_failed(&summary.verdict) => self.paint("1;31", text),
            "job" => self.paint("1", text),
            _ => text.to_owned(),
        }
    }

    pub(super) fn note(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// A note below a table, newline at the end; broken between words where the terminal has a width.
    pub(super) fn noted(self, text: &str, width: Option<usize>) -> String {
        let lines = wrapped(text, width.unwrap_or(usize::MAX), 2);
        lines.iter().map(|line| format!("{}\n", self.note(line))).collect()
    }
}

/// Whether the run is known to have ended badly, or its record did. How a process ended that somebody else waits for is
/// not known, which is no failure.
fn has_failed(verdict: &Verdict) -> bool {
    match verdict.kind {
        VerdictKind::Exited => verdict.exit_code != Some(0),
        VerdictKind::Detached | VerdictKind::Unknown | VerdictKind::Running => false,
        _ => true,
    }
}
