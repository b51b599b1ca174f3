//! Bytes of a run file at an offset, from a file in blocks or from memory.

use crate::frame::{self, Parsed};
use crate::os;
use crate::progress::Progress;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

const BLOCK: usize = 256 << 10;

#[derive(Debug, Clone)]
pub(crate) enum Source {
    File(Arc<File>),
    Bytes(Arc<[u8]>),
}

impl Source {
    pub(crate) fn open(path: &Path) -> io::Result<Source> {
        Ok(Source::File(Arc::new(open_regular(path)?.0)))
    }

    /// May grow while a run is being written.
    pub(crate) fn len(&self) -> io::Result<u64> {
        match self {
            Source::File(file) => Ok(file.metadata()?.len()),
            Source::Bytes(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// Up to `count` bytes at `offset`; fewer at the end.
    pub(crate) fn read(&self, offset: u64, count: usize) -> io::Result<Vec<u8>> {
        let available = self.len()?.saturating_sub(offset);
        let count = usize::try_from(available).unwrap_or(usize::MAX).min(count);
        let mut bytes = vec![0; count];
        let got = self.read_into(offset, &mut bytes)?;
        bytes.truncate(got);
        Ok(bytes)
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Source::File(file) => read_full(file, offset, out),
            Source::Bytes(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                let count = out.len().min(bytes.len() - start);
                out[..count].copy_from_slice(&bytes[start..start + count]);
                Ok(count)
            }
        }
    }
}

/// A regular file and its length. Devices, pipes and directories are refused without waiting for them.
pub fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    let file = os::open_without_waiting(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    Ok((file, meta.len()))
}

pub(crate) fn read_full(file: &File, mut offset: u64, out: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < out.len() {
        match os::read_at(file, &mut out[filled..], offset) {
            Ok(0) => break,
            Ok(count) => {
                filled += count;
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// What the walk over frames found next.
#[derive(Debug)]
pub(crate) enum Step {
    /// Kind byte; the payload is `FrameWalk::payload`.
    Frame(u8),
    End,
    /// The file ends inside a frame, as it does when its writer was killed.
    CutOff,
    Broken(String),
}

/// Walks frames with one block (or one frame, if that is larger) in memory.
#[derive(Debug)]
pub(crate) struct FrameWalk {
    source: Source,
    buffer: Vec<u8>,
    /// Unread bytes are `buffer[start..]`; they lie at `offset` in the file.
    start: usize,
    offset: u64,
    payload: std::ops::Range<usize>,
    progress: Option<Arc<Progress>>,
}

impl FrameWalk {
    pub(crate) fn new(source: Source, offset: u64) -> FrameWalk {
        FrameWalk { source, buffer: Vec::new(), start: 0, offset, payload: 0..0, progress: None }
    }

    pub(crate) fn watched(self, progress: Option<Arc<Progress>>) -> FrameWalk {
        FrameWalk { progress, ..self }
    }

    /// Where the next frame begins.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn payload(&self) -> &[u8] {
        &self.buffer[self.payload.clone()]
    }

    pub(crate) fn step(&mut self) -> Step {
        let mut wanted = 1;
        loop {
            match frame::parse(&self.buffer[self.start..]) {
                Parsed::Frame { kind, payload, len } => {
                    let end = self.start + len - 4;
                    self.payload = end - payload.len()..end;
                    self.start += len;
                    self.offset += len as u64;
                    return Step::Frame(kind);
                }
                Parsed::Broken(reason) => return Step::Broken(reason.to_owned()),
                Parsed::Needs(more) => wanted = more.max(wanted),
            }
            match self.fill(wanted) {
                Ok(true) => {}
                Ok(false) if self.start == self.buffer.len() => return Step::End,
                Ok(false) => return Step::CutOff,
                Err(error) => return Step::Broken(format!("reading failed: {error}")),
            }
        }
    }

    /// Brings at least `wanted` unread bytes into the buffer; false when the file has no so many.
    fn fill(&mut self, wanted: usize) -> io::Result<bool> {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.payload = 0..0;
        let have = self.buffer.len();
        let left = self.source.len()?.saturating_sub(self.offset);
        // A length may be a lie: never allocate for more than the file holds.
        if left < wanted as u64 {
            // Keep what there is, to tell a cut frame from a clean end.
            let rest = usize::try_from(left).unwrap_or(usize::MAX);
            self.read_up_to(have.max(rest))?;
            return Ok(false);
        }
        let target = usize::try_from(left).unwrap_or(usize::MAX).min(wanted.max(BLOCK));
        self.read_up_to(target)?;
        Ok(self.buffer.len() >= wanted)
    }

    fn read_up_to(&mut self, target: usize) -> io::Result<()> {
        let have = self.buffer.len();
        if target > have {
            self.buffer.resize(target, 0);
            let got = self.source.read_into(self.offset + have as u64, &mut self.buffer[have..])?;
            self.buffer.truncate(have + got);
            if let Some(progress) = &self.progress {
                progress.add(got as u64);
            }
        }
        Ok(())
    }
}
