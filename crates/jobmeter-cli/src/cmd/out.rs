//! Where the subcommands answer: standard output, or the file that `-o` names.

use std::io::{ErrorKind, Write};
use std::path::Path;

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

/// The path that `-o` names; `-` is standard output.
pub(crate) fn or_stdout(path: &Path) -> &Path {
    if path == Path::new("-") { Path::new("/dev/stdout") } else { path }
}
