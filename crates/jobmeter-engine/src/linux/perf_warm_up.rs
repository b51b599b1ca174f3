//! The first perf event of a task on a machine takes 15 to 30 ms to open: the kernel waits until every CPU knows that tasks are counted
//! now. A thread of its own waits for that, so that signals and ticks do not. It takes 0.2 ms of CPU time.

#![expect(clippy::disallowed_types, reason = "asked only whether it is set, which waits for nobody")]

use crate::linux::perf_event::{Attributes, FLAG_EXCLUDE_KERNEL};
use crate::linux::signal_mask::SignalsBlocked;
use crate::linux::sys;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

/// Counts nothing.
const SW_DUMMY: u64 = 9;
const ANY_CPU: i32 = -1;

/// It is asked for the first time after as long as it usually takes, and then this often.
const USUAL_NS: u64 = 16_000_000;
const AGAIN_NS: u64 = 4_000_000;

const STACK_BYTES: usize = 64 * 1024;

/// An event of our own, which is opened by a thread. While it is open, and for a second after, others open at once.
pub(crate) struct WarmUp {
    /// Set when the kernel has answered; `None` in it where it refused.
    opened: Arc<OnceLock<Option<OwnedFd>>>,
    /// When to ask next; `None` once it was found to be over.
    ask_at_ns: Option<u64>,
}

impl WarmUp {
    pub(crate) fn start() -> WarmUp {
        let opened = Arc::new(OnceLock::new());
        let for_thread = Arc::clone(&opened);
        // Of the first thread, for this one ends soon.
        let own_pid = std::process::id() as i32;
        let open = move || {
            let event = Attributes::software(SW_DUMMY, FLAG_EXCLUDE_KERNEL).open(own_pid, ANY_CPU);
            drop(for_thread.set(event.ok()));
        };
        let _masked = SignalsBlocked::new();
        let thread = std::thread::Builder::new().name("perf".to_owned()).stack_size(STACK_BYTES);
        if thread.spawn(open).is_err() {
            drop(opened.set(None));
        }
        WarmUp { opened, ask_at_ns: Some(sys::monotonic_ns() + USUAL_NS) }
    }

    /// Whether it is over: the kernel has opened the event, or will not.
    pub(crate) fn is_over(&self) -> bool {
        self.opened.get().is_some()
    }

    /// When to call [`WarmUp::is_just_over`].
    pub(crate) fn ask_at_ns(&self) -> u64 {
        self.ask_at_ns.unwrap_or(u64::MAX)
    }

    /// Returns true once, when it is over; not before [`WarmUp::ask_at_ns`].
    pub(crate) fn is_just_over(&mut self) -> bool {
        let now_ns = sys::monotonic_ns();
        if now_ns < self.ask_at_ns() {
            return false;
        }
        self.ask_at_ns = if self.is_over() { None } else { Some(now_ns + AGAIN_NS) };
        self.ask_at_ns.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn it_is_over_after_a_while_and_says_so_once() {
        let mut warm_up = WarmUp::start();
        assert!(!warm_up.is_just_over(), "not asked before its time");
        let began = Instant::now();
        let mut times = 0;
        while times == 0 && began.elapsed() < Duration::from_secs(60) {
            times += u32::from(warm_up.is_just_over());
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(warm_up.is_over());
        assert_eq!((times, warm_up.is_just_over(), warm_up.ask_at_ns()), (1, false, u64::MAX));
    }
}
