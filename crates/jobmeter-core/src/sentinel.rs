//! Tells a signal that was sent to us alone from one that the whole process group got: a second process of
//! our group that holds every signal back. What is pending there reached the job by itself and must not be
//! passed on, or it would arrive twice.

use crate::control::{self, Pid};
use crate::probe::scan::lines;
use crate::probe::status::signal_bit;
use crate::sys;
use std::time::Duration;

/// Senders that address each process in turn need a moment to reach the next one.
const PATIENCE: Duration = Duration::from_millis(10);

pub struct Sentinel {
    pid: Pid,
    /// The sentinel runs on this stack, in our memory: it weighs one kernel task and no pages.
    _stack: Box<[u8; STACK_BYTES]>,
}

const STACK_BYTES: usize = 16 * 1024;

impl Sentinel {
    /// Call with the signals of interest blocked: the sentinel inherits the mask.
    pub fn start() -> Option<Sentinel> {
        let mut stack = Box::new([0u8; STACK_BYTES]);
        // SAFETY: `hold` never returns and touches only its own stack; CLONE_VM shares memory, which outlives the
        // sentinel because `Drop` ends and reaps it before the stack is freed. The stack grows downwards from its
        // aligned end.
        let pid = unsafe {
            let top = stack.as_mut_ptr().add(STACK_BYTES);
            let top = top.sub(top as usize % 16);
            let parent = libc::getpid() as usize as *mut libc::c_void;
            libc::clone(hold, top.cast(), libc::CLONE_VM | libc::SIGCHLD, parent)
        };
        // Only a clone that succeeded makes a sentinel: `Drop` ends what `pid` names.
        Pid::new(pid).map(|pid| Sentinel { pid, _stack: stack })
    }

    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Whether the group got `signal` too.
    pub fn has(&self, signal: i32) -> bool {
        self.is_pending(signal) || {
            std::thread::sleep(PATIENCE);
            self.is_pending(signal)
        }
    }

    fn is_pending(&self, signal: i32) -> bool {
        let mut buffer = [0u8; 4096];
        sys::read_proc(self.pid.get(), "status", &mut buffer).is_ok_and(|text| {
            lines(text)
                .find_map(|line| line.strip_prefix(b"ShdPnd:\t"))
                .is_some_and(|mask| signal_bit(mask, signal))
        })
    }

    /// Ends it without waiting: it goes while we do other things, and `Drop` finds it gone.
    pub fn dismiss(&self) {
        // Our own child: its pid cannot be reused before it is reaped. One that is gone already needs no signal.
        drop(control::send(self.pid, libc::SIGKILL));
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        self.dismiss();
        control::wait(self.pid);
    }
}

/// Sleeps until it is killed, at the latest with its parent, whose pid is the argument.
extern "C" fn hold(parent: *mut libc::c_void) -> libc::c_int {
    // SAFETY: plain system calls; with every signal of interest blocked, pause does not come back for one.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // PDEATHSIG is not sent if the parent died before prctl.
        while libc::getppid() as usize == parent as usize {
            libc::pause();
        }
        libc::_exit(0)
    }
}
