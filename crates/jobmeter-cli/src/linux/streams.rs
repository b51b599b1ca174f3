//! Standard streams that the caller closed stay closed for the job, but our own files must not land on them.

/// Holds descriptors 0 to 2 with close-on-exec placeholders where nobody has opened them.
pub(crate) fn guard() {
    for fd in 0..=2 {
        // SAFETY: plain queries; the lowest free descriptor is taken, which is `fd` itself.
        unsafe {
            if libc::fcntl(fd, libc::F_GETFD) == -1 {
                libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            }
        }
    }
}

/// After the job was spawned: a closed pipe or a full file-size limit is an error to handle, not our death.
pub(crate) fn survive_write_errors() {
    // SAFETY: sets plain dispositions.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}
