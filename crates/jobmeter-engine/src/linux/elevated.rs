//! Whether we run with more rights than whoever started us.

/// True for a program that is setuid, setgid or has file capabilities, and whose caller is not as privileged: the
/// kernel's AT_SECURE. What the caller names, in the environment above all, must then not decide which code is
/// loaded. The same rule makes the dynamic linker pass over LD_PRELOAD and LD_LIBRARY_PATH.
pub fn is_elevated() -> bool {
    // SAFETY: reads the auxiliary vector that the kernel gave this process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}
