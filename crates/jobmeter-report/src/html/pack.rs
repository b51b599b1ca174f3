//! Integers as short text: most differences between neighbouring ticks fit one to three letters, where JSON
//! would take five and a comma. Read back by `unpack` in web/src/pack.ts.

/// Five bits per letter, the lowest first; the sixth says that more follow.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Nothing was measured.
const GAP: char = '~';

pub(super) fn pack(values: impl IntoIterator<Item = Option<i64>>) -> String {
    let mut out = String::new();
    for value in values {
        let Some(value) = value else {
            out.push(GAP);
            continue;
        };
        // Sign in the lowest bit, so that small negative numbers stay short.
        let mut rest = (value << 1 ^ value >> 63) as u64;
        while rest >= 32 {
            out.push(DIGITS[(rest & 31 | 32) as usize] as char);
            rest >>= 5;
        }
        out.push(DIGITS[rest as usize] as char);
    }
    out
}

/// Each value minus the last known one before it.
pub(super) fn pack_differences(values: impl IntoIterator<Item = Option<i64>>) -> String {
    let mut before = 0i64;
    pack(values.into_iter().map(|value| {
        let now = value?;
        let difference = now.wrapping_sub(before);
        before = now;
        Some(difference)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unpack(text: &str) -> Vec<Option<i64>> {
        let (mut out, mut value, mut bits) = (Vec::new(), 0u64, 0);
        for letter in text.bytes() {
            let Some(digit) = DIGITS.iter().position(|digit| *digit == letter) else {
                out.push(None);
                continue;
            };
            value |= (digit as u64 & 31) << bits;
            bits += 5;
            if digit < 32 {
                out.push(Some((value >> 1) as i64 ^ -((value & 1) as i64)));
                (value, bits) = (0, 0);
            }
        }
        out
    }

    proptest! {
        #[test]
        fn every_integer_comes_back(values in proptest::collection::vec(proptest::option::of(any::<i64>()), 0..50)) {
            prop_assert_eq!(unpack(&pack(values.clone())), values.clone());
            let mut sum = 0i64;
            let summed: Vec<Option<i64>> = unpack(&pack_differences(values.clone()))
                .into_iter().map(|value| { sum = sum.wrapping_add(value?); Some(sum) }).collect();
            prop_assert_eq!(summed, values);
        }
    }
}
