//! Output on systems other than Linux: written beside its place and then moved there, with what the standard library
//! offers. The promises are those of the Linux half; links and devices get no special treatment.

use crate::error::RecordError;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Finds out whether [`write`] could put a file there now.
pub fn check(path: &Path, force: bool) -> Result<(), RecordError> {
    AsideFile::create(path, force).map(drop)
}

pub(crate) fn refuse_stream(path: &Path) -> Result<(), RecordError> {
    if is_stdout(path) {
        let text = "standard output is not a regular file and is not replaced; name a file".to_owned();
        return Err(RecordError::Invalid(text));
    }
    Ok(())
}

/// Puts `bytes` there.
pub fn write(path: &Path, bytes: &[u8], force: bool) -> Result<(), RecordError> {
    let aside = AsideFile::create(path, force)?;
    aside.writer()?.write_all(bytes).map_err(|error| RecordError::io("write", path, error))?;
    aside.publish().map(drop)
}

/// As [`write`]: a regular file keeps nobody waiting.
pub fn write_within(path: &Path, bytes: &[u8], force: bool, _patience: Duration) -> Result<(), RecordError> {
    write(path, bytes, force)
}

/// The name that stands for standard output on every system.
fn is_stdout(path: &Path) -> bool {
    path == Path::new("/dev/stdout")
}

/// Output under way. Dropped before it is published, it leaves nothing behind.
#[derive(Debug)]
pub struct AsideFile {
    target: PathBuf,
    force: bool,
    /// `None`: standard output.
    aside: Option<(PathBuf, File)>,
}

impl AsideFile {
    /// Refuses a target that exists unless `force` is given, and in any case what is no regular file.
    pub fn create(path: &Path, force: bool) -> Result<AsideFile, RecordError> {
        let failed = |error| RecordError::io("write", path, error);
        if is_stdout(path) {
            return Ok(AsideFile { target: path.to_owned(), force, aside: None });
        }
        match path.metadata() {
            Ok(meta) if !meta.is_file() => {
                let text = "it is not a regular file and is not replaced; name a file";
                return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, text)));
            }
            Ok(_) if !force => return Err(RecordError::Exists { path: path.to_owned() }),
            _ => {}
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let random = crate::os::random_bits().unwrap_or_default();
        let beside = folder.join(format!(".jobmeter-{random:016x}.part"));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&beside);
        Ok(AsideFile { target: path.to_owned(), force, aside: Some((beside, file.map_err(failed)?)) })
    }

    /// Where it is being written, for a library that wants a path. A stream has none.
    pub fn path(&self) -> Result<&Path, RecordError> {
        refuse_stream(&self.target)?;
        Ok(self.aside.as_ref().map_or(self.target.as_path(), |(path, _)| path.as_path()))
    }

    pub fn writer(&self) -> Result<OutputWriter, RecordError> {
        let clone = self.aside.as_ref().map(|(_, file)| file.try_clone()).transpose();
        clone.map(OutputWriter).map_err(|error| RecordError::io("write", &self.target, error))
    }

    /// Moves the file to its place. A target that came into being meanwhile is not replaced unasked.
    pub fn publish(mut self) -> Result<OutputWriter, RecordError> {
        let writer = self.writer()?;
        let Some((beside, file)) = self.aside.take() else { return Ok(writer) };
        // Windows moves no file that is open.
        drop((writer, file));
        let moved = match self.force {
            true => std::fs::rename(&beside, &self.target),
            // A second name fails where there is one already; a rename would replace it.
            false => std::fs::hard_link(&beside, &self.target),
        };
        // After a rename it is gone already.
        let _removed = std::fs::remove_file(&beside);
        let opened = moved.and_then(|()| OpenOptions::new().append(true).open(&self.target));
        match opened {
            Ok(file) => Ok(OutputWriter(Some(file))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(RecordError::Exists { path: self.target.clone() })
            }
            Err(error) => Err(RecordError::io("write", &self.target, error)),
        }
    }
}

impl Drop for AsideFile {
    fn drop(&mut self) {
        if let Some((path, file)) = self.aside.take() {
            drop(file);
            // Already gone; there is nothing to tidy up.
            let _removed = std::fs::remove_file(path);
        }
    }
}

/// Writes to the file aside, or to standard output where there is none.
#[derive(Debug)]
pub struct OutputWriter(Option<File>);

impl Write for OutputWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Some(file) => file.write(bytes),
            None => io::stdout().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Some(file) => file.flush(),
            None => io::stdout().flush(),
        }
    }
}
