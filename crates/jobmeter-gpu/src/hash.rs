//! A hash for process numbers. They come from the kernel and the driver, not from an attacker who could
//! choose them to collide, and a sample looks up thousands of them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

pub(crate) type PidMap<K, V> = HashMap<K, V, BuildHasherDefault<PidHasher>>;

#[derive(Default)]
pub(crate) struct PidHasher(u64);

impl Hasher for PidHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_i32(&mut self, value: i32) {
        self.write_u64(u64::from(value.cast_unsigned()));
    }

    fn write_u64(&mut self, value: u64) {
        // Multiply by an odd constant near 2^64 / golden ratio and fold the high bits down, which the table
        // indexes by.
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}
