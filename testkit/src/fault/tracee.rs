//! One traced thread: the `ptrace` requests, each with its `unsafe` in one place.

use std::io;

/// A system call as it is entered.
pub(super) struct Call {
    pub(super) number: i64,
    pub(super) arguments: [u64; 6],
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Tracee(pub(super) i32);

impl Tracee {
    fn request(self, request: libc::c_uint, address: usize, data: usize) -> io::Result<i64> {
        // SAFETY: the callers pass pointers that outlive the call, with the sizes the request wants.
        match unsafe { libc::ptrace(request, self.0, address, data) } {
            -1 => Err(io::Error::last_os_error()),
            value => Ok(value),
        }
    }

    /// Traces a running process and what it will fork.
    pub(super) fn seize(self) -> io::Result<()> {
        let options = libc::PTRACE_O_TRACESYSGOOD
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACEEXEC;
        self.request(libc::PTRACE_SEIZE, 0, options as usize).map(drop)
    }

    /// Goes on to the next system call. A thread that has been killed meanwhile is no error.
    pub(super) fn go_on(self, signal: i32) {
        let _ = self.request(libc::PTRACE_SYSCALL, 0, signal as usize);
    }

    /// Leaves a stopped process stopped, as a shell's job control wants it.
    pub(super) fn stay_stopped(self) {
        let _ = self.request(libc::PTRACE_LISTEN, 0, 0);
    }

    pub(super) fn let_go(self) {
        let _ = self.request(libc::PTRACE_DETACH, 0, 0);
    }

    /// The call that is entered here; `None` where one is left.
    pub(super) fn entered_call(self) -> Option<Call> {
        // SAFETY: plain data, overwritten by the request.
        let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::ptrace_syscall_info>();
        self.request(libc::PTRACE_GET_SYSCALL_INFO, size, &raw mut info as usize).ok()?;
        if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
            return None;
        }
        // SAFETY: `op` says that this member is set.
        let entry = unsafe { info.u.entry };
        Some(Call { number: entry.nr as i64, arguments: entry.args })
    }

    /// At the entry: the kernel skips the call.
    pub(super) fn skip_call(self) {
        self.change_registers(|registers| registers.orig_rax = u64::MAX);
    }

    /// At the exit: the call returns this error.
    /// At the exit: the call returns this error; 0 is a `brk` that fails, which has none.
    pub(super) fn return_error(self, errno: i32) {
        self.change_registers(|registers| registers.rax = -i64::from(errno) as u64);
    }

    fn change_registers(self, change: impl FnOnce(&mut libc::user_regs_struct)) {
        // SAFETY: plain data, overwritten by the request.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        if self.request(libc::PTRACE_GETREGS, 0, &raw mut registers as usize).is_ok() {
            change(&mut registers);
            let _ = self.request(libc::PTRACE_SETREGS, 0, &raw mut registers as usize);
        }
    }

    /// The text at an address of the traced process, up to 200 bytes.
    pub(super) fn text_at(self, address: u64) -> Option<String> {
        let mut bytes = [0_u8; 200];
        let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        // Not beyond the page: the next one may not be mapped.
        let length = bytes.len().min(4096 - (address % 4096) as usize);
        let there = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: length };
        // SAFETY: `here` is our buffer; the kernel checks `there`.
        let got = unsafe { libc::process_vm_readv(self.0, &here, 1, &there, 1, 0) };
        let got = bytes.get(..usize::try_from(got).ok()?)?;
        let end = got.iter().position(|byte| *byte == 0).unwrap_or(got.len());
        Some(String::from_utf8_lossy(&got[..end]).into_owned())
    }

    /// The process that this thread belongs to.
    pub(super) fn process(self) -> Option<i32> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.0)).ok()?;
        text.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
    }
}
