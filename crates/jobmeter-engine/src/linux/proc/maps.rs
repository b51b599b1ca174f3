//! `/proc/PID/maps`: the parts of files that a process has mapped. Memory without a file is left out.

use super::scan::{lines, number};

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FilePart {
    /// Major and minor number.
    pub device: (u32, u32),
    pub inode: u64,
    pub from_bytes: u64,
    pub to_bytes: u64,
    /// Where it begins in memory.
    pub address: u64,
}

pub(crate) fn parse(text: &[u8]) -> impl Iterator<Item = FilePart> {
    lines(text).filter_map(parse_line)
}

/// `7f0c1000-7f0c3000 r-xp 00028000 fe:01 1577 /lib/libc.so.6`
fn parse_line(line: &[u8]) -> Option<FilePart> {
    let mut words = line.split(|byte| *byte == b' ');
    let (begin, end) = pair(words.next()?, b'-')?;
    let from_bytes = hex(words.nth(1)?)?;
    let (major, minor) = pair(words.next()?, b':')?;
    let (inode, _) = number(words.next()?)?;
    let device = (u32::try_from(major).ok()?, u32::try_from(minor).ok()?);
    let to_bytes = from_bytes.checked_add(end.checked_sub(begin)?)?;
    (inode != 0).then_some(FilePart { device, inode, from_bytes, to_bytes, address: begin })
}

fn pair(word: &[u8], between: u8) -> Option<(u64, u64)> {
    let at = word.iter().position(|byte| *byte == between)?;
    Some((hex(&word[..at])?, hex(&word[at + 1..])?))
}

fn hex(word: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_process() {
        let text =
            b"55d0c8a00000-55d0c8a04000 r--p 00000000 fe:01 262254                     /usr/bin/dash\n\
            55d0c9f2b000-55d0c9f4c000 rw-p 00000000 00:00 0                          [heap]\n\
            7f0c1000-7f0c3000 r-xp 00028000 fe:01 1577    /lib/with blank.so\n\
            7f22000-7f24000 rw-s 00000000 00:01 2049                      /dev/zero (deleted)\n\
            7ffd1a5e2000-7ffd1a603000 rw-p 00000000 00:00 0                          [stack]\n\
            ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";
        let part = |device, inode, from_bytes, to_bytes, address| FilePart {
            device,
            inode,
            from_bytes,
            to_bytes,
            address,
        };
        let parts: Vec<_> = parse(text).collect();
        assert_eq!(
            parts,
            [
                part((0xfe, 1), 262_254, 0, 0x4000, 0x55d0_c8a0_0000),
                part((0xfe, 1), 1577, 0x28000, 0x2a000, 0x7f0c_1000),
                part((0, 1), 2049, 0, 0x2000, 0x7f2_2000),
            ]
        );
        for length in 0..text.len() {
            parse(&text[..length]).for_each(drop);
        }
        assert_eq!(parse(b"nonsense\n5-3 r 0 0:0 7\n").count(), 0);
    }
}
