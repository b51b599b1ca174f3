//! How wide the answer may be.

/// Where nobody says.
pub(crate) const USUAL_WIDTH: usize = 80;

/// `COLUMNS`, else the terminal that standard output is; `None` where lines may be as long as they like.
pub(crate) fn width() -> Option<usize> {
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    told.or_else(terminal_columns).filter(|columns| *columns > 0)
}

#[cfg(not(unix))]
fn terminal_columns() -> Option<usize> {
    None
}

#[cfg(unix)]
fn terminal_columns() -> Option<usize> {
    // SAFETY: TIOCGWINSZ fills the structure; where standard output is no terminal it fails.
    unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        let asked = libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size);
        (asked == 0).then_some(usize::from(size.ws_col))
    }
}
