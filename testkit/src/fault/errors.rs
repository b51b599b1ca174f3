//! The errors that each call can really give, with the reason. A call that is not named here gives what any call
//! gives under a seccomp filter: EPERM or ENOSYS.

use libc::*;

/// The errors to try, most likely first.
pub fn of(call: &str) -> &'static [i32] {
    match call {
        // A full descriptor table (ours, the machine's), no memory, no rights, gone, a broken disk, a signal.
        "open" | "openat" | "openat2" => &[EMFILE, ENOENT, EACCES, ENFILE, ENOMEM, ESRCH, EIO, EINTR],
        // A disk that breaks or a process that ends under the read; a signal; a descriptor that is not ready.
        "read" | "readv" => &[EIO, EINTR, EAGAIN, ESRCH, ENOMEM],
        "pread64" => &[ESRCH, EIO, EINTR, EACCES, ENOMEM],
        // A full disk or quota, a reader that is gone, a file-size limit, a terminal that hung up.
        "write" | "writev" | "pwrite64" | "pwritev" | "fallocate" => {
            &[ENOSPC, EIO, EPIPE, EINTR, EAGAIN, EFBIG, EDQUOT]
        }
        "fsync" | "fdatasync" | "ftruncate" => &[EIO, ENOSPC, EINTR],
        // What a network file system says when its buffered writes failed.
        "close" => &[EIO, EINTR, ENOSPC],
        "stat" | "lstat" | "statx" | "newfstatat" | "fstat" => &[ENOENT, EACCES, ENOMEM, EIO, ENOSYS],
        "statfs" | "fstatfs" => &[ENOENT, EACCES, EIO, ENOSYS],
        "access" | "faccessat" | "faccessat2" => &[EACCES, ENOENT, EIO],
        "readlink" | "readlinkat" => &[ENOENT, EACCES, EIO],
        "getdents64" => &[ENOENT, EIO, ENOMEM],
        "getcwd" => &[ENOENT, ENOMEM, EACCES],
        // Read-only or full file systems, no rights, what exists already.
        "mkdir" | "mkdirat" | "mknod" | "mknodat" | "symlink" | "link" | "linkat" => {
            &[EACCES, EEXIST, ENOSPC, EROFS, EPERM, ENOMEM]
        }
        "rename" | "renameat" | "renameat2" => &[EACCES, ENOSPC, EROFS, EIO, ENOSYS, EINVAL],
        "rmdir" | "unlink" | "unlinkat" => &[EBUSY, EACCES, ENOENT, EROFS],
        "flock" => &[EINTR, ENOLCK, EAGAIN],
        "chmod" | "fchmod" | "fchmodat" | "fchown" => &[EPERM, EROFS],
        // No address space, too many mappings, overcommit refused; of a device or a file, no rights.
        "mmap" | "mremap" => &[ENOMEM, EPERM, EAGAIN],
        // (brk itself has no error, it returns the old end; the injector sees to that.)
        "brk" | "munmap" | "mprotect" | "madvise" | "mlock" => &[ENOMEM, EINVAL],
        // The limits on processes of the user, the group and the machine; kernels and filters without clone3.
        "clone" | "fork" | "vfork" => &[EAGAIN, ENOMEM, EPERM],
        "clone3" => &[EAGAIN, ENOSYS, EACCES, ENOMEM, EPERM, EBUSY, ENODEV, EOPNOTSUPP],
        // Not there, no rights, too large, being written, no memory, a broken disk.
        "execve" => &[ENOENT, EACCES, ENOMEM, E2BIG, ETXTBSY, EPERM, EIO, EMFILE, ENOTDIR],
        "pipe" | "pipe2" | "dup" | "dup2" | "dup3" | "socket" | "socketpair" | "eventfd2" => {
            &[EMFILE, ENFILE, EINVAL]
        }
        "fcntl" => &[EMFILE, EINVAL, EINTR],
        "timerfd_create" | "signalfd4" | "epoll_create1" | "memfd_create" | "inotify_init1" => {
            &[EMFILE, ENFILE, ENOMEM, ENODEV, ENOSYS]
        }
        "timerfd_settime" | "timer_settime" => &[EINVAL, ECANCELED, EPERM],
        "epoll_ctl" => &[ENOMEM, ENOSPC, EPERM],
        "poll" | "ppoll" | "select" | "pselect6" | "epoll_wait" | "epoll_pwait" => &[EINTR, ENOMEM, EINVAL],
        "nanosleep" | "clock_nanosleep" => &[EINTR, EPERM],
        // A process that was reaped by somebody else; a filter.
        "wait4" | "waitid" => &[EINTR, ECHILD, EPERM, EINVAL],
        "kill" | "tgkill" | "pidfd_send_signal" => &[ESRCH, EPERM],
        "pidfd_open" => &[ESRCH, EMFILE, ENFILE, ENOSYS, EINVAL],
        // perf_event_paranoid, a filter, a kernel without it, no such counter, all taken.
        "perf_event_open" => &[EACCES, EMFILE, ENOSYS, ENOENT, EPERM, EBUSY, ENODEV, EOPNOTSUPP],
        "ioctl" => &[ENOTTY, EIO, EPERM, EINTR],
        "prctl" => &[EINVAL, EPERM, ENOSYS],
        "prlimit64" | "getrlimit" | "setrlimit" => &[EPERM, EINVAL, ENOSYS],
        // The CPU clock of a process that is gone; a filter.
        "clock_gettime" | "clock_getres" => &[EINVAL, EPERM],
        // EAGAIN is given only to who asks for secure numbers and will not wait for them; nobody here does.
        "getrandom" => &[ENOSYS, EINTR, EPERM],
        "sched_getaffinity" => &[EINVAL, EPERM, ENOSYS],
        "rt_sigaction" | "rt_sigprocmask" | "sigaltstack" => &[EINVAL, EPERM, ENOMEM],
        // Other errors of a futex mean a broken program to the C library, which then aborts by design.
        "futex" => &[EINTR, EAGAIN],
        // A thread that differs from the first one in this makes the C library abort, by design.
        "rseq" => &[],
        // Made by the loader and the C library before main; without them no program runs.
        "set_robust_list" | "arch_prctl" => &[ENOSYS, EPERM],
        _ => &[EPERM, ENOSYS],
    }
}

/// What does not go away by itself, so that every later call of this name fails too.
pub fn lasting_of(call: &str) -> &'static [i32] {
    match call {
        "openat" => &[EMFILE, EACCES, ENOENT],
        "read" => &[EIO],
        "pread64" => &[ESRCH, EIO],
        "write" => &[ENOSPC, EPIPE, EIO],
        "mmap" | "brk" | "mremap" => &[ENOMEM],
        "clone" | "clone3" | "fork" => &[EAGAIN, ENOSYS],
        "perf_event_open" => &[EACCES, EMFILE],
        "statx" => &[EACCES, ENOSYS],
        "statfs" | "getdents64" => &[EIO],
        "poll" | "ppoll" => &[ENOMEM],
        // Somebody else has reaped the job.
        "waitid" | "wait4" => &[ECHILD],
        "timerfd_settime" | "epoll_wait" | "clock_gettime" | "prctl" => &[EPERM],
        _ => &[],
    }
}

pub fn name(errno: i32) -> String {
    const NAMES: &[(i32, &str)] = &[
        (E2BIG, "E2BIG"),
        (EACCES, "EACCES"),
        (EAGAIN, "EAGAIN"),
        (EBUSY, "EBUSY"),
        (ECANCELED, "ECANCELED"),
        (ECHILD, "ECHILD"),
        (EDQUOT, "EDQUOT"),
        (EEXIST, "EEXIST"),
        (EFBIG, "EFBIG"),
        (EINTR, "EINTR"),
        (EINVAL, "EINVAL"),
        (EIO, "EIO"),
        (EMFILE, "EMFILE"),
        (ENFILE, "ENFILE"),
        (ENODEV, "ENODEV"),
        (ENOENT, "ENOENT"),
        (ENOLCK, "ENOLCK"),
        (ENOMEM, "ENOMEM"),
        (ENOSPC, "ENOSPC"),
        (ENOSYS, "ENOSYS"),
        (ENOTDIR, "ENOTDIR"),
        (ENOTTY, "ENOTTY"),
        (EOPNOTSUPP, "EOPNOTSUPP"),
        (EPERM, "EPERM"),
        (EPIPE, "EPIPE"),
        (EROFS, "EROFS"),
        (ESRCH, "ESRCH"),
        (ETXTBSY, "ETXTBSY"),
    ];
    let known = NAMES.iter().find(|(known, _)| *known == errno);
    known.map_or_else(|| format!("error {errno}"), |(_, name)| (*name).to_owned())
}
