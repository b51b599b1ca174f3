//! Names of system calls, and which of them cannot fail.

macro_rules! names {
    ($($name:ident => $number:ident),* $(,)?) => { &[$((libc::$number, stringify!($name))),*] };
}

/// A program under `--marked` calls `sched_get_priority_max(1)` when its thread enters the meter's code and
/// `sched_get_priority_max(2)` when it leaves it: a call without effect that nobody else makes. Only calls in
/// between count; those of other threads count from the first mark on.
pub const MARK: i64 = libc::SYS_sched_get_priority_max;
pub const MARK_ENTER: u64 = 1;

const NAMES: &[(i64, &str)] = names![
    accept4 => SYS_accept4, access => SYS_access, arch_prctl => SYS_arch_prctl, bind => SYS_bind,
    brk => SYS_brk, chdir => SYS_chdir, chmod => SYS_chmod, clock_getres => SYS_clock_getres,
    clock_gettime => SYS_clock_gettime, clock_nanosleep => SYS_clock_nanosleep, clone => SYS_clone,
    clone3 => SYS_clone3, close => SYS_close, close_range => SYS_close_range, connect => SYS_connect,
    copy_file_range => SYS_copy_file_range, dup => SYS_dup, dup2 => SYS_dup2, dup3 => SYS_dup3,
    epoll_create1 => SYS_epoll_create1, epoll_ctl => SYS_epoll_ctl, epoll_wait => SYS_epoll_wait,
    epoll_pwait => SYS_epoll_pwait, eventfd2 => SYS_eventfd2, execve => SYS_execve, exit => SYS_exit,
    exit_group => SYS_exit_group, faccessat => SYS_faccessat, faccessat2 => SYS_faccessat2,
    fadvise64 => SYS_fadvise64, fallocate => SYS_fallocate, fchmod => SYS_fchmod, fchmodat => SYS_fchmodat,
    fchown => SYS_fchown, fcntl => SYS_fcntl, fdatasync => SYS_fdatasync, flock => SYS_flock,
    fork => SYS_fork, fstat => SYS_fstat, fstatfs => SYS_fstatfs, fsync => SYS_fsync,
    ftruncate => SYS_ftruncate, futex => SYS_futex, getcwd => SYS_getcwd, getdents64 => SYS_getdents64,
    getegid => SYS_getegid, geteuid => SYS_geteuid, getgid => SYS_getgid, getpgid => SYS_getpgid,
    getpgrp => SYS_getpgrp, getpid => SYS_getpid, getppid => SYS_getppid, getpriority => SYS_getpriority,
    getrandom => SYS_getrandom, getrlimit => SYS_getrlimit, getrusage => SYS_getrusage,
    getsid => SYS_getsid, getsockname => SYS_getsockname, getsockopt => SYS_getsockopt,
    gettid => SYS_gettid, gettimeofday => SYS_gettimeofday, getuid => SYS_getuid, ioctl => SYS_ioctl,
    kcmp => SYS_kcmp, kill => SYS_kill, link => SYS_link, linkat => SYS_linkat, lseek => SYS_lseek,
    lstat => SYS_lstat, madvise => SYS_madvise, membarrier => SYS_membarrier,
    memfd_create => SYS_memfd_create, mkdir => SYS_mkdir, mkdirat => SYS_mkdirat, mknod => SYS_mknod,
    mknodat => SYS_mknodat, mlock => SYS_mlock, mmap => SYS_mmap, mprotect => SYS_mprotect,
    mremap => SYS_mremap, munmap => SYS_munmap, nanosleep => SYS_nanosleep,
    newfstatat => SYS_newfstatat, open => SYS_open, openat => SYS_openat, openat2 => SYS_openat2,
    pause => SYS_pause, perf_event_open => SYS_perf_event_open, pidfd_open => SYS_pidfd_open,
    pidfd_send_signal => SYS_pidfd_send_signal, pipe => SYS_pipe, pipe2 => SYS_pipe2, poll => SYS_poll,
    ppoll => SYS_ppoll, prctl => SYS_prctl, pread64 => SYS_pread64, prlimit64 => SYS_prlimit64,
    process_vm_readv => SYS_process_vm_readv, pselect6 => SYS_pselect6, ptrace => SYS_ptrace,
    pwrite64 => SYS_pwrite64, pwritev => SYS_pwritev, read => SYS_read, readlink => SYS_readlink,
    readlinkat => SYS_readlinkat, readv => SYS_readv, recvfrom => SYS_recvfrom, recvmsg => SYS_recvmsg,
    rename => SYS_rename, renameat => SYS_renameat, renameat2 => SYS_renameat2, rmdir => SYS_rmdir,
    rseq => SYS_rseq, rt_sigaction => SYS_rt_sigaction, rt_sigpending => SYS_rt_sigpending,
    rt_sigprocmask => SYS_rt_sigprocmask, rt_sigreturn => SYS_rt_sigreturn,
    rt_sigtimedwait => SYS_rt_sigtimedwait, sched_getaffinity => SYS_sched_getaffinity,
    sched_get_priority_max => SYS_sched_get_priority_max, sched_setaffinity => SYS_sched_setaffinity,
    sched_yield => SYS_sched_yield, select => SYS_select, sendmsg => SYS_sendmsg, sendto => SYS_sendto,
    set_robust_list => SYS_set_robust_list, set_tid_address => SYS_set_tid_address,
    setpgid => SYS_setpgid, setpriority => SYS_setpriority, setrlimit => SYS_setrlimit,
    setsid => SYS_setsid, setsockopt => SYS_setsockopt, sigaltstack => SYS_sigaltstack,
    signalfd4 => SYS_signalfd4, socket => SYS_socket, socketpair => SYS_socketpair,
    splice => SYS_splice, stat => SYS_stat, statfs => SYS_statfs, statx => SYS_statx,
    symlink => SYS_symlink, sync_file_range => SYS_sync_file_range, syncfs => SYS_syncfs,
    sysinfo => SYS_sysinfo, tgkill => SYS_tgkill, timer_create => SYS_timer_create,
    timer_settime => SYS_timer_settime, timerfd_create => SYS_timerfd_create,
    timerfd_gettime => SYS_timerfd_gettime, timerfd_settime => SYS_timerfd_settime,
    umask => SYS_umask, uname => SYS_uname, unlink => SYS_unlink, unlinkat => SYS_unlinkat,
    utimensat => SYS_utimensat, vfork => SYS_vfork, wait4 => SYS_wait4, waitid => SYS_waitid,
    write => SYS_write, writev => SYS_writev,
];

pub fn name(number: i64) -> String {
    let known = NAMES.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| format!("call_{number}"), |(_, name)| (*name).to_owned())
}

/// Calls that have no error, whatever happens; so has a `fcntl(F_GETFD)` of an open descriptor (the standard
/// library makes one before every close in builds with debug assertions), `brk(NULL)`, which only asks, and the
/// standard library's question whether there is a statx, which is meant to fail. A futex that wakes others does so: one that
/// did not would leave them asleep for ever, and no kernel does that.
pub fn cannot_fail(number: i64, arguments: [u64; 6]) -> bool {
    const SURE: &[i64] = &[
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_getegid,
        libc::SYS_geteuid,
        libc::SYS_getgid,
        libc::SYS_getpgrp,
        libc::SYS_getpid,
        libc::SYS_getppid,
        libc::SYS_gettid,
        libc::SYS_getuid,
        libc::SYS_rt_sigreturn,
        libc::SYS_sched_yield,
        libc::SYS_set_tid_address,
        libc::SYS_umask,
        MARK,
    ];
    SURE.contains(&number)
        || (number == libc::SYS_fcntl && arguments[1] == libc::F_GETFD as u64)
        || (number == libc::SYS_brk && arguments[0] == 0)
        || (number == libc::SYS_statx && arguments[1] == 0)
        || (number == libc::SYS_futex && wakes(arguments[1]))
}

fn wakes(futex_operation: u64) -> bool {
    let command = futex_operation as i32 & libc::FUTEX_CMD_MASK;
    [libc::FUTEX_WAKE, libc::FUTEX_WAKE_BITSET, libc::FUTEX_WAKE_OP].contains(&command)
}

/// Which argument of the call is a path, or a descriptor.
pub fn path_argument(name: &str) -> Option<usize> {
    match name {
        "access" | "chmod" | "execve" | "lstat" | "mkdir" | "mknod" | "open" | "readlink" | "rename"
        | "rmdir" | "stat" | "statfs" | "unlink" => Some(0),
        "faccessat" | "faccessat2" | "fchmodat" | "mkdirat" | "mknodat" | "newfstatat" | "openat"
        | "readlinkat" | "renameat" | "renameat2" | "statx" | "unlinkat" | "utimensat" => Some(1),
        _ => None,
    }
}

pub fn descriptor_argument(name: &str) -> Option<usize> {
    match name {
        "close" | "fcntl" | "fstat" | "getdents64" | "ioctl" | "lseek" | "pread64" | "pwrite64" | "read"
        | "readv" | "write" | "writev" | "fsync" | "fdatasync" | "ftruncate" | "timerfd_settime"
        | "flock" => Some(0),
        _ => None,
    }
}
