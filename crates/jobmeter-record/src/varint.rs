//! Little-endian base-128 integers and the zigzag fold of signed differences.

pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Small magnitudes of either sign become small unsigned numbers.
pub(crate) fn zigzag(difference: u64) -> u64 {
    let signed = difference as i64;
    ((signed << 1) ^ (signed >> 63)) as u64
}

pub(crate) fn unzigzag(code: u64) -> u64 {
    (code >> 1) ^ (code & 1).wrapping_neg()
}

/// A cursor over one checked payload. Every read may find the end: `None` means malformed.
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return None;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        let count = usize::try_from(self.varint()?).ok()?;
        std::str::from_utf8(self.bytes(count)?).ok()
    }

    pub(crate) fn i32(&mut self) -> Option<i32> {
        i32::try_from(unzigzag(self.varint()?) as i64).ok()
    }
}

pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

pub(crate) fn put_i32(out: &mut Vec<u8>, value: i32) {
    put(out, zigzag(i64::from(value) as u64));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_come_back(value: u64, small: i32) {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            put(&mut bytes, zigzag(value));
            put_i32(&mut bytes, small);
            let mut cursor = Cursor::new(&bytes);
            prop_assert_eq!(cursor.varint(), Some(value));
            prop_assert_eq!(cursor.varint().map(unzigzag), Some(value));
            prop_assert_eq!(cursor.i32(), Some(small));
            prop_assert!(cursor.is_empty());
        }
    }

    #[test]
    fn overlong_and_cut_integers_are_malformed() {
        assert_eq!(Cursor::new(&[0x80; 12]).varint(), None);
        assert_eq!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).varint(), None);
        assert_eq!(Cursor::new(&[0x80]).varint(), None);
    }
}
