//! What is taken from a catalogue, whoever wrote it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes of a file. The types of all large vendors with their regions take some 5 MB.
const FILE_MAX: u64 = 32 << 20;
/// Servers and prices of a catalogue. A server takes about 600 bytes in memory, a price 80; all vendors together have
/// some 10,000 types in 30 regions each.
pub(super) const SERVERS_MAX: usize = 150_000;
pub(super) const PRICES_MAX: usize = 1_000_000;

/// A regular file as text; a device or a pipe is refused without waiting for it.
pub(super) fn read_text(path: &Path) -> io::Result<String> {
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    if !std::fs::metadata(path)?.is_file() {
        return refused("it is not a regular file".to_owned());
    }
    let mut text = String::new();
    File::open(path)?.take(FILE_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_MAX {
        return refused(format!("it is larger than {} MiB", FILE_MAX >> 20));
    }
    Ok(text)
}

/// Whether a catalogue may have so many; the sentence where not.
pub(super) fn check(servers: usize, prices: usize) -> Result<(), String> {
    if servers > SERVERS_MAX || prices > PRICES_MAX {
        return Err(format!("a catalogue holds at most {SERVERS_MAX} servers and {PRICES_MAX} prices"));
    }
    Ok(())
}
