//! `/proc/PID/io`: bytes by calls and by storage. The process figure already includes waited-for children;
//! the `task/TID/io` figure is one thread's own.

use super::scan::{keyed, lines};

/// Bytes that a process moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Io {
    /// What read calls returned.
    pub read_chars_bytes: u64,
    /// What was given to write calls.
    pub write_chars_bytes: u64,
    /// Fetched from block storage.
    pub read_storage_bytes: u64,
    /// Written to block storage, counted when pages become dirty.
    pub write_storage_bytes: u64,
}

impl Io {
    /// Without characters that were not the process's own doing.
    pub fn without_read_chars(self, bytes: u64) -> Io {
        Io { read_chars_bytes: self.read_chars_bytes.saturating_sub(bytes), ..self }
    }

    /// The smaller of each.
    pub fn at_most(self, other: Io) -> Io {
        Io {
            read_chars_bytes: self.read_chars_bytes.min(other.read_chars_bytes),
            write_chars_bytes: self.write_chars_bytes.min(other.write_chars_bytes),
            read_storage_bytes: self.read_storage_bytes.min(other.read_storage_bytes),
            write_storage_bytes: self.write_storage_bytes.min(other.write_storage_bytes),
        }
    }

    /// Grown by as much as another account has.
    pub fn grown(self, before: Io, after: Io) -> Io {
        let grow = |value: u64, before: u64, after: u64| value + after.saturating_sub(before);
        Io {
            read_chars_bytes: grow(self.read_chars_bytes, before.read_chars_bytes, after.read_chars_bytes),
            write_chars_bytes: grow(
                self.write_chars_bytes,
                before.write_chars_bytes,
                after.write_chars_bytes,
            ),
            read_storage_bytes: grow(
                self.read_storage_bytes,
                before.read_storage_bytes,
                after.read_storage_bytes,
            ),
            write_storage_bytes: grow(
                self.write_storage_bytes,
                before.write_storage_bytes,
                after.write_storage_bytes,
            ),
        }
    }
}

/// `None` where it has an unknown format.
pub fn parse(text: &[u8]) -> Option<Io> {
    let mut lines = lines(text);
    let read_chars_bytes = keyed(lines.next()?, b"rchar:")?;
    let write_chars_bytes = keyed(lines.next()?, b"wchar:")?;
    let mut lines = lines.skip(2);
    Some(Io {
        read_chars_bytes,
        write_chars_bytes,
        read_storage_bytes: keyed(lines.next()?, b"read_bytes:")?,
        write_storage_bytes: keyed(lines.next()?, b"write_bytes:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_file() {
        let text = b"rchar: 323934931\nwchar: 323929600\nsyscr: 632687\nsyscw: 632675\nread_bytes: 4096\nwrite_bytes: 323932160\ncancelled_write_bytes: 0\n";
        let io = parse(text).expect("parses");
        assert_eq!((io.read_chars_bytes, io.write_chars_bytes), (323_934_931, 323_929_600));
        assert_eq!((io.read_storage_bytes, io.write_storage_bytes), (4096, 323_932_160));
        assert_eq!(parse(b""), None);
    }
}
