//! The same for systems on which runs are only read.

pub(crate) mod owner;

/// All words of the command line, the name of the program first.
pub(crate) fn arguments() -> impl Iterator<Item = std::ffi::OsString> {
    std::env::args_os()
}

/// Does `work`, which writes to standard error. Where nothing is measured, nothing is held up by it.
pub(crate) fn bounded(work: impl FnOnce()) {
    work();
}
