//! Number scanning over kernel text, without allocation and without panics.

/// The unsigned number at the start of `text` (after blanks), and what follows it.
pub fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let start = text.iter().position(|byte| *byte != b' ' && *byte != b'\t')?;
    let text = &text[start..];
    let mut value = 0u64;
    let mut length = 0;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    (length > 0).then(|| (value, &text[length..]))
}

/// The numbers of a line, blanks between them. Ends at the first word that is not a number.
pub struct Numbers<'a>(pub &'a [u8]);

impl Iterator for Numbers<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let (value, rest) = number(self.0)?;
        self.0 = rest;
        Some(value)
    }
}

/// The lines of a kernel file.
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// The number behind `key` at the start of a line: `VmHWM:\t  1234 kB`.
pub fn keyed(line: &[u8], key: &[u8]) -> Option<u64> {
    number(line.strip_prefix(key)?).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stop_at_words() {
        assert_eq!(Numbers(b"  12 7\t9 kB 4").collect::<Vec<_>>(), [12, 7, 9]);
        assert_eq!(number(b""), None);
        assert_eq!(number(b"   "), None);
        assert_eq!(number(b"-3"), None);
        assert_eq!(keyed(b"VmHWM:\t    1234 kB", b"VmHWM:"), Some(1234));
        assert_eq!(keyed(b"VmHWM:", b"VmHWM:"), None);
    }
}
