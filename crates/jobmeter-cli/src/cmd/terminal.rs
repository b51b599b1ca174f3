//! How wide the answer may be.

/// Where nobody says.
pub(crate) const USUAL_WIDTH: usize = 80;

/// Where the answer goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Output,
    Error,
}

/// `COLUMNS`, else the terminal that the stream is; `None` where lines may be as long as they like.
pub(crate) fn width(stream: Stream) -> Option<usize> {
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    told.or_else(|| terminal_columns(stream)).filter(|columns| *columns > 0)
}

#[cfg(not(unix))]
fn terminal_columns(_stream: Stream) -> Option<usize> {
    None
}

#[cfg(unix)]
fn terminal_columns(stream: Stream) -> Option<usize> {
    let descriptor = match stream {
        Stream::Output => libc::STDOUT_FILENO,
        Stream::Error => libc::STDERR_FILENO,
    };
    // SAFETY: TIOCGWINSZ fills the structure; where the stream is no terminal it fails.
    unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        let asked = libc::ioctl(descriptor, libc::TIOCGWINSZ, &raw mut size);
        (asked == 0).then_some(usize::from(size.ws_col))
    }
}
