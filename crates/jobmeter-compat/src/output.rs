//! Where a result goes and in which of the three formats.

use crate::error::CompatError;
use jobmeter_record::place;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// After the command: how long the end waits for a pipe that nobody reads.
const PIPE_PATIENCE: Duration = Duration::from_secs(2);

/// What a result can be written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For Python.
    Pickle,
}

impl Format {
    pub(crate) fn parse(text: &str) -> Result<Format, CompatError> {
        match text {
            "text" => Ok(Format::Text),
            "json" => Ok(Format::Json),
            "pickle" => Ok(Format::Pickle),
            _ => Err(CompatError::Value(format!(
                "\"{}\" is not a valid format. Valid values are \"json\", \"text\" or \"pickle\".",
                jobmeter_model::text::printable(text)
            ))),
        }
    }
}

/// Where a result goes, and as what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// A file; `None` is standard output.
    pub path: Option<PathBuf>,
    /// As what.
    pub format: Format,
}

/// A result in its three forms, made when asked for.
pub trait Presentable {
    /// For people.
    fn text(&self) -> String;
    /// For programs.
    fn json(&self) -> String;
    /// For Python.
    fn pickle(&self) -> Vec<u8>;
}

impl Destination {
    /// A place that cannot be written is found out before the command runs, not after it ran for hours.
    pub fn check(&self) -> Result<(), CompatError> {
        self.path.as_deref().map_or(Ok(()), |path| Ok(place::check(path, true)?))
    }

    /// On a screen a pickle is shown, not sent: quoted as a Python bytes literal.
    fn print(&self, bytes: Vec<u8>, out: &mut dyn Write) -> std::io::Result<()> {
        let shown = if self.format == Format::Pickle { quoted(&bytes) } else { bytes };
        out.write_all(&shown)?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// Writes the result where it should go.
    pub fn deliver(&self, result: &impl Presentable) -> Result<(), CompatError> {
        let bytes = match self.format {
            Format::Text => result.text().into_bytes(),
            Format::Json => result.json().into_bytes(),
            Format::Pickle => result.pickle(),
        };
        match &self.path {
            // The original overwrites. What cannot be written is not lost: the command ran for it.
            Some(path) => place::write_within(path, &bytes, true, PIPE_PATIENCE).map_err(|error| {
                drop(self.print(bytes, &mut std::io::stderr().lock()));
                CompatError::from(error)
            }),
            None => self
                .print(bytes, &mut std::io::stdout().lock())
                .map_err(|error| CompatError::File(format!("cannot write to standard output: {error}"))),
        }
    }
}

fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mark = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { b'"' } else { b'\'' };
    let mut out = vec![b'b', mark];
    for &byte in bytes {
        match byte {
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            b'\\' => out.extend(b"\\\\"),
            byte if byte == mark => out.extend([b'\\', byte]),
            b' '..=b'~' => out.push(byte),
            byte => out.extend(format!("\\x{byte:02x}").into_bytes()),
        }
    }
    out.push(mark);
    out
}
