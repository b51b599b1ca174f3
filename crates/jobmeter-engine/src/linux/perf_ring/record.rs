//! One record of the kernel's ring: a process or thread that began, was renamed, mapped a file, or ended; and what it had counted.

/// What is looked at of a record: all of it, or where a path makes it longer the beginning and the time at its end.
pub(super) const MAX_RECORD: usize = 128;

const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const READ: u32 = 8;
const MMAP2: u32 = 10;

/// In the header's `misc`, the half word behind the kind.
const MISC_COMM_EXEC: u16 = 1 << 13;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    /// Monotonic clock.
    pub(crate) t_ns: u64,
    pub(crate) pid: i32,
    /// Equal to `pid` for the first thread of a process.
    pub(crate) tid: i32,
    pub(crate) what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// A process, or a thread of one that was there.
    Fork { parent_pid: i32 },
    /// By exec or prctl. At most 15 bytes of anything, NUL-padded.
    Named { name: [u8; 16], by_exec: bool },
    /// By exec, and the name is not known. Told when the program is mapped.
    Exec,
    /// It becomes another program, of which it has mapped nothing yet.
    NewImage,
    /// A part of a file, or of memory that processes share.
    Mapped(Mapping),
    /// Page faults of one thread in its own code, when it ends.
    Counted { faults: u64 },
    /// Of one thread.
    Exit,
}

/// Which file: those that are mapped at the same time differ in this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileId {
    pub(crate) device: (u32, u32),
    pub(crate) inode: u64,
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) file: FileId,
    pub(crate) from_bytes: u64,
    pub(crate) to_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parsed {
    Record(Record),
    /// So many records did not fit into the ring.
    Lost(u64),
    Other,
}

/// `bytes` is one whole record, header included.
pub(super) fn parse(bytes: &[u8]) -> Parsed {
    let (Some(kind), Some(time_at)) = (u32_at(bytes, 0), bytes.len().checked_sub(8)) else {
        return Parsed::Other;
    };
    let parsed = match kind {
        LOST => return u64_at(bytes, 16).map_or(Parsed::Other, Parsed::Lost),
        FORK | EXIT => task(bytes, time_at, kind == FORK),
        COMM => named(bytes, time_at),
        READ => counted(bytes, time_at),
        MMAP2 => mapped(bytes, time_at),
        _ => None,
    };
    parsed.map_or(Parsed::Other, Parsed::Record)
}

/// Header 8 bytes; pid, ppid, tid, ptid; time; then the time once more as the record's identity.
fn task(bytes: &[u8], time_at: usize, is_fork: bool) -> Option<Record> {
    let [pid, parent_pid, tid] = [8, 12, 16].map(|at| u32_at(bytes, at).map(|value| value as i32));
    let what = if is_fork { What::Fork { parent_pid: parent_pid? } } else { What::Exit };
    Some(Record { t_ns: u64_at(bytes, time_at)?, pid: pid?, tid: tid?, what })
}

/// Header 8 bytes; pid, tid; the count; the time.
fn counted(bytes: &[u8], time_at: usize) -> Option<Record> {
    let (pid, tid) = (u32_at(bytes, 8)? as i32, u32_at(bytes, 12)? as i32);
    let what = What::Counted { faults: u64_at(bytes.get(..time_at)?, 16)? };
    Some(Record { t_ns: u64_at(bytes, time_at)?, pid, tid, what })
}

/// Header 8 bytes; pid, tid; the name, padded to a multiple of eight; the time.
fn named(bytes: &[u8], time_at: usize) -> Option<Record> {
    let raw = bytes.get(16..time_at)?;
    let mut name = [0u8; 16];
    let length = raw.iter().position(|byte| *byte == 0).unwrap_or(raw.len()).min(15);
    name[..length].copy_from_slice(&raw[..length]);
    let (pid, tid) = (u32_at(bytes, 8)? as i32, u32_at(bytes, 12)? as i32);
    let misc = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let what = What::Named { name, by_exec: misc & MISC_COMM_EXEC != 0 };
    Some(Record { t_ns: u64_at(bytes, time_at)?, pid, tid, what })
}

/// Header 8 bytes; pid, tid; address, length and offset; device, inode and its generation; the rest is not needed. Memory
/// without a file has no inode.
fn mapped(bytes: &[u8], time_at: usize) -> Option<Record> {
    let (pid, tid) = (u32_at(bytes, 8)? as i32, u32_at(bytes, 12)? as i32);
    let (length, from_bytes) = (u64_at(bytes, 24)?, u64_at(bytes, 32)?);
    let file = FileId { device: (u32_at(bytes, 40)?, u32_at(bytes, 44)?), inode: u64_at(bytes, 48)? };
    let mapping = Mapping { file, from_bytes, to_bytes: from_bytes.saturating_add(length) };
    let record = Record { t_ns: u64_at(bytes, time_at)?, pid, tid, what: What::Mapped(mapping) };
    (file.inode != 0).then_some(record)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(kind: u32, words: &[u32], times: &[u64]) -> Vec<u8> {
        let mut bytes = [kind, 0].iter().chain(words).flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>();
        bytes.extend(times.iter().flat_map(|time| time.to_ne_bytes()));
        bytes
    }

    #[test]
    fn each_kind_and_every_truncation() {
        let fork = bytes(FORK, &[12, 7, 13, 8], &[99, 100]);
        let what = What::Fork { parent_pid: 7 };
        assert_eq!(parse(&fork), Parsed::Record(Record { t_ns: 100, pid: 12, tid: 13, what }));
        let exit = bytes(EXIT, &[12, 7, 12, 7], &[99, 101]);
        assert_eq!(parse(&exit), Parsed::Record(Record { t_ns: 101, pid: 12, tid: 12, what: What::Exit }));
        let text = u32::from_ne_bytes(*b"sh\0\xff");
        let comm = bytes(COMM, &[12, 12, text, 0], &[102]);
        let mut name = [0; 16];
        name[..2].copy_from_slice(b"sh");
        assert_eq!(
            parse(&comm),
            Parsed::Record(Record {
                t_ns: 102,
                pid: 12,
                tid: 12,
                what: What::Named { name, by_exec: false }
            })
        );
        assert_eq!(parse(&bytes(LOST, &[1, 0, 5, 0], &[103])), Parsed::Lost(5));
        let map =
            [12, 13, 0, 7, 4096, 0, 8192, 0, 254, 1, 77, 0, 3, 0, 5, 2, u32::from_ne_bytes(*b"/x\0\0"), 0];
        let mapped = bytes(MMAP2, &map, &[104]);
        let mapping =
            Mapping { file: FileId { device: (254, 1), inode: 77 }, from_bytes: 8192, to_bytes: 8192 + 4096 };
        let what = What::Mapped(mapping);
        assert_eq!(parse(&mapped), Parsed::Record(Record { t_ns: 104, pid: 12, tid: 13, what }));
        let mut without_file = map;
        without_file[10] = 0;
        assert_eq!(parse(&bytes(MMAP2, &without_file, &[104])), Parsed::Other);
        let counted = bytes(READ, &[12, 13], &[4711, 105]);
        let what = What::Counted { faults: 4711 };
        assert_eq!(parse(&counted), Parsed::Record(Record { t_ns: 105, pid: 12, tid: 13, what }));
        for whole in [fork, exit, comm, mapped, counted] {
            for length in 0..whole.len() {
                parse(&whole[..length]);
            }
        }
    }
}
