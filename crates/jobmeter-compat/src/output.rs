//! Where a result goes and in which of the three formats.

use crate::error::CompatError;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
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
                jobmeter_core::text::printable(text)
            ))),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    pub path: Option<PathBuf>,
    pub format: Format,
}

/// A result in its three forms, made when asked for.
pub trait Presentable {
    fn text(&self) -> String;
    fn json(&self) -> String;
    fn pickle(&self) -> Vec<u8>;
}

impl Destination {
    /// A folder that is missing is found out before the command runs, not after it ran for hours.
    pub fn check(&self) -> Result<(), CompatError> {
        self.path.as_deref().map_or(Ok(()), check_folder)
    }

    pub fn deliver(&self, result: &impl Presentable) -> Result<(), CompatError> {
        let bytes = match self.format {
            Format::Text => result.text().into_bytes(),
            Format::Json => result.json().into_bytes(),
            Format::Pickle => result.pickle(),
        };
        match &self.path {
            Some(path) => replace(path, &bytes),
            None => {
                // On a screen a pickle is shown, not sent: quoted as a Python bytes literal.
                let shown = if self.format == Format::Pickle { quoted(&bytes) } else { bytes };
                let mut out = std::io::stdout().lock();
                let written = out.write_all(&shown).and_then(|()| out.write_all(b"\n"));
                written
                    .and_then(|()| out.flush())
                    .map_err(|error| CompatError::File(format!("cannot write to standard output: {error}")))
            }
        }
    }
}

pub(crate) fn check_folder(path: &Path) -> Result<(), CompatError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(CompatError::file("write", path, "its folder does not exist; make it first"));
    }
    Ok(())
}

/// Writes aside, then renames: nobody ever sees half a file. Mode 0600.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), CompatError> {
    let failed = |error: std::io::Error| CompatError::file("write", path, error);
    if path.metadata().is_ok_and(|meta| !meta.is_file()) {
        return OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut file| file.write_all(bytes))
            .map_err(failed);
    }
    let aside = aside_of(path);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&aside)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| std::fs::rename(&aside, path));
    written.inspect_err(|_| drop(std::fs::remove_file(&aside))).map_err(failed)
}

/// A name beside the file that nobody else uses.
pub(crate) fn aside_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
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
