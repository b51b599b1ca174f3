//! Standard output of the subcommands that answer on it.

use std::io::{ErrorKind, Write};

/// Prints and gives exit code 0. A reader that has seen enough (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<u8, String> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {error}"))
        }
        _ => Ok(0),
    }
}
