//! The envelope: `length, kind, payload, checksum`. Everything after the magic is such frames, the footer
//! included, so one loop reads the whole file. docs/run-file.md is the reference.

use crate::varint;

pub(crate) const MAGIC: [u8; 8] = *b"JOBMETER";
/// Of the run file's format.
pub const VERSION: u32 = 1;
/// The first version that is still read; files of it are kept in `fixtures/runs`.
pub const OLDEST_VERSION: u32 = 1;
/// Magic and version, before the first frame.
pub(crate) const PREAMBLE_LEN: usize = 12;
/// No frame is longer. A reader meets hostile lengths; this and the file's size bound what it allocates.
pub(crate) const MAX_FRAME: usize = 64 << 20;
const CHECKSUM_LEN: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FrameKind {
    Header = 1,
    Define = 2,
    Tick = 3,
    Event = 4,
    Columns = 5,
    Summary = 6,
    Digest = 7,
    Footer = 8,
}

impl FrameKind {
    pub(crate) fn from_byte(byte: u8) -> Option<FrameKind> {
        Some(match byte {
            1 => FrameKind::Header,
            2 => FrameKind::Define,
            3 => FrameKind::Tick,
            4 => FrameKind::Event,
            5 => FrameKind::Columns,
            6 => FrameKind::Summary,
            7 => FrameKind::Digest,
            8 => FrameKind::Footer,
            _ => return None,
        })
    }
}

pub(crate) fn preamble() -> [u8; PREAMBLE_LEN] {
    let mut bytes = [0; PREAMBLE_LEN];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

fn checksum(kind: u8, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[kind]);
    hasher.update(payload);
    hasher.finalize()
}

/// Appends one frame. The caller keeps payloads below `MAX_FRAME`.
pub(crate) fn put(out: &mut Vec<u8>, kind: FrameKind, payload: &[u8]) {
    // By table: to ask the processor for something faster takes longer than the frames of a short run, above all
    // on a virtual machine.
    let mut hasher = crc32fast::Hasher::internal_new_baseline(0, 0);
    hasher.update(&[kind as u8]);
    hasher.update(payload);
    varint::put(out, payload.len() as u64 + 1);
    out.push(kind as u8);
    out.extend_from_slice(payload);
    out.extend_from_slice(&hasher.finalize().to_le_bytes());
}

/// One frame found at the start of `bytes`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed<'a> {
    Frame {
        kind: u8,
        payload: &'a [u8],
        /// Bytes the frame takes.
        len: usize,
    },
    /// The frame goes on beyond these bytes; at least so many are needed.
    Needs(usize),
    Broken(&'static str),
}

pub(crate) fn parse(bytes: &[u8]) -> Parsed<'_> {
    let mut body_len = 0usize;
    let mut prefix = 0usize;
    loop {
        let Some(&byte) = bytes.get(prefix) else { return Parsed::Needs(prefix + 1) };
        body_len |= usize::from(byte & 0x7f) << (7 * prefix);
        prefix += 1;
        if byte & 0x80 == 0 {
            break;
        }
        if prefix == 4 {
            return Parsed::Broken("a frame length is out of range");
        }
    }
    if body_len == 0 || body_len > MAX_FRAME {
        return Parsed::Broken("a frame length is out of range");
    }
    let len = prefix + body_len + CHECKSUM_LEN;
    if bytes.len() < len {
        return Parsed::Needs(len);
    }
    let (kind, payload) = (bytes[prefix], &bytes[prefix + 1..prefix + body_len]);
    if bytes[prefix + body_len..len] != checksum(kind, payload).to_le_bytes() {
        return Parsed::Broken("a checksum does not match");
    }
    Parsed::Frame { kind, payload, len }
}

/// The last frame of a finished file, of fixed size, so that the end of the file leads to the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Footer {
    /// Where the trailer (columns, summary, digest, footer) begins.
    pub(crate) trailer_at: u64,
    /// Where the digest frame begins.
    pub(crate) digest_at: u64,
}

impl Footer {
    /// Length byte, kind, two offsets, checksum.
    pub(crate) const LEN: usize = 1 + 1 + 16 + CHECKSUM_LEN;

    pub(crate) fn put(self, out: &mut Vec<u8>) {
        let mut payload = [0; 16];
        payload[..8].copy_from_slice(&self.trailer_at.to_le_bytes());
        payload[8..].copy_from_slice(&self.digest_at.to_le_bytes());
        put(out, FrameKind::Footer, &payload);
    }

    /// The footer in the last bytes of a file, if there is one.
    pub(crate) fn parse(tail: &[u8]) -> Option<Footer> {
        let bytes = tail.get(tail.len().checked_sub(Self::LEN)?..)?;
        match parse(bytes) {
            Parsed::Frame { kind, payload, len: Self::LEN } if kind == FrameKind::Footer as u8 => {
                let (trailer_at, digest_at) = payload.split_at_checked(8)?;
                Some(Footer {
                    trailer_at: u64::from_le_bytes(trailer_at.try_into().ok()?),
                    digest_at: u64::from_le_bytes(digest_at.try_into().ok()?),
                })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_found_whole_or_asks_for_more() {
        let mut bytes = Vec::new();
        put(&mut bytes, FrameKind::Event, &[7; 300]);
        for cut in 0..bytes.len() {
            match parse(&bytes[..cut]) {
                Parsed::Needs(more) => assert!(more > cut && more <= bytes.len()),
                other => panic!("{other:?} at {cut}"),
            }
        }
        assert_eq!(parse(&bytes), Parsed::Frame { kind: 4, payload: &[7; 300], len: bytes.len() });
        bytes[100] ^= 1;
        assert_eq!(parse(&bytes), Parsed::Broken("a checksum does not match"));
    }

    #[test]
    fn the_footer_has_its_fixed_size() {
        let footer = Footer { trailer_at: u64::MAX, digest_at: 0 };
        let mut bytes = vec![1, 2, 3];
        footer.put(&mut bytes);
        assert_eq!(bytes.len(), 3 + Footer::LEN);
        assert_eq!(Footer::parse(&bytes), Some(footer));
        assert_eq!(Footer::parse(&bytes[..bytes.len() - 1]), None);
    }
}
