//! Processes with hostile names: what breaks naive parsers of `/proc/PID/stat` and naive terminals.

use crate::{cpu, sys};
use std::io;

/// At most 15 bytes each, as the kernel keeps them.
pub const NAMES: &[&[u8]] = &[
    b") R 1 1 1 (",
    b"a) Z 0 0 0 0",
    b"((((((((((((((",
    b"))))))))))))))",
    b"line\nbreak\nname",
    b"\x1b[31mred\x1b[0m",
    b"\x1b]0;title\x07",
    b"\x1b[2J\x1b[H\x1b[?1049h",
    b"tab\tcr\rbell\x07",
    b"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7\xf6\xf5\xf4\xf3\xf2\xf1",
    b"\xc3\x28\xa0\xe2\x82",
    b"<script>x</scr",
    b"\"','\\\\\\x00",
    b" ",
    b"",
    b"\x9b31m\x9d\x90",
];

/// One child per name, all alive together for `hold_ms` after burning `ms` each.
pub fn hostile(ms: u64, hold_ms: u64) -> io::Result<()> {
    for name in NAMES {
        let mut text = [0_u8; 16];
        text[..name.len()].copy_from_slice(name);
        sys::fork_child(|| {
            // SAFETY: the name is 16 bytes with a zero at its end.
            unsafe { libc::prctl(libc::PR_SET_NAME, text.as_ptr()) };
            cpu::burn(ms);
            sys::sleep_ms(hold_ms);
            0
        })?;
    }
    sys::wait_all();
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_fit_the_kernel() {
        assert!(super::NAMES.iter().all(|name| name.len() <= 15));
        assert!(super::NAMES.iter().any(|name| name.len() == 15 && std::str::from_utf8(name).is_err()));
    }
}
