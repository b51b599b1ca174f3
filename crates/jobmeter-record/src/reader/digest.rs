//! What a listing needs of a run file, without reading the run.

use super::Run;
use crate::digest::Digest;
use crate::error::RecordError;
use crate::frame::{self, Footer, FrameKind};
use crate::limits;
use crate::source::Source;
use std::path::Path;
use std::sync::Arc;

/// What a listing shows of a file: one open, one read of its end; for an unfinished run one more of its
/// beginning.
pub fn read_digest(path: &Path) -> Result<Digest, RecordError> {
    const TAIL: u64 = 4096;
    let failed = |error| RecordError::io("read", path, error);
    let (file, len) =
        crate::source::open_regular(path).map_err(|error| RecordError::io("open", path, error))?;
    let tail_at = len.saturating_sub(TAIL);
    let mut tail = [0; TAIL as usize];
    let got = crate::source::read_full(&file, tail_at, &mut tail).map_err(failed)?;
    let tail = &tail[..got];
    let source = Source::File(Arc::new(file));
    if let Some(footer) = Footer::parse(tail).filter(|footer| footer.digest_at < len) {
        let inside = footer.digest_at.checked_sub(tail_at).and_then(|skip| tail.get(skip as usize..));
        let digest = match inside {
            Some(bytes) => digest_in(bytes),
            None => {
                source.read(footer.digest_at, limits::JSON_MAX + 64).ok().and_then(|bytes| digest_in(&bytes))
            }
        };
        if let Some(digest) = digest {
            return Ok(digest);
        }
    }
    Ok(Digest::of_unfinished(Run::new(source, path)?.info()))
}

fn digest_in(bytes: &[u8]) -> Option<Digest> {
    match frame::parse(bytes) {
        frame::Parsed::Frame { kind, payload, .. } if kind == FrameKind::Digest as u8 => {
            serde_json::from_slice(payload).ok()
        }
        _ => None,
    }
}
