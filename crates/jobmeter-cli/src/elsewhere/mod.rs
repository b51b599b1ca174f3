//! The same for systems on which runs are only read.

pub(crate) mod owner;

/// Does `work`, which writes to standard error. Where nothing is measured, nothing is held up by it.
pub(crate) fn bounded(work: impl FnOnce()) {
    work();
}
