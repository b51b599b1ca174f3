//! A job that leaves a trace of every time it ran.

use crate::sys;
use std::io::{self, Write};
use std::path::Path;

/// Creates an empty file in `folder`, named by its process id: two runs leave two files, also where no byte may
/// be written (`ulimit -f 0`). With a duration it also has a child that lives that long and is waited for.
pub fn once(folder: &Path, text: &str, child_ms: u64) -> io::Result<()> {
    std::fs::File::create_new(folder.join(std::process::id().to_string()))?;
    if child_ms > 0 {
        let child = sys::fork_child(|| {
            sys::sleep_ms(child_ms);
            0
        })?;
        sys::wait_for(child)?;
    }
    io::stdout().write_all(format!("{text}\n").as_bytes())
}
