//! The other side: what the process of the drivers does from its birth to its end. It holds no descriptor of the meter,
//! so that it keeps no pipe of the job open, and no terminal. Whatever a driver prints goes to nobody.

use super::memory::{Head, Memory};
use super::wire::{Reader, Wire};
use crate::config::GpuConfig;
use crate::identity::Member;
use crate::nvml::Progress;
use crate::source::Way;
use crate::work::{Desk, Told, work};
use jobmeter_engine::linux::sys::monotonic_ns;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Where our end of the line is once everything else is closed.
const BELL: c_int = 3;

/// Never returns to the frames of the meter, which are a copy here.
pub(super) fn live(
    parent: c_int,
    bell: c_int,
    memory: Memory,
    config: &GpuConfig,
    ways: &[&'static dyn Way],
) -> ! {
    let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        if settle_in(parent, bell) {
            let progress = Arc::new(Progress::new(Some(memory.head())));
            work(config, ways, &mut RoomDesk { memory, progress, bytes: Vec::new() });
            end_of_orders();
        }
    }));
    // SAFETY: ends this process at once; exit handlers are the meter's and the driver's, and neither is wanted.
    unsafe { libc::_exit(i32::from(lived.is_err())) }
}

/// `false`: the meter is gone already.
fn settle_in(parent: c_int, bell: c_int) -> bool {
    // SAFETY: plain calls on local memory, in a process of one thread.
    unsafe {
        // A session of its own: the terminal's signals are for the job, and whoever a driver starts is told by it.
        libc::setsid();
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // PDEATHSIG is not sent if the parent died before prctl.
        if libc::getppid() != parent {
            return false;
        }
        // What a driver starts and leaves behind stays here and never becomes the job's.
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
        libc::prctl(libc::PR_SET_NAME, c"jobmeter-gpu".as_ptr());
        // A driver that crashes leaves no core file beside the job's files.
        let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
        for signal in 1..=libc::SIGRTMAX() {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none = MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
        leave_descriptors(bell)
    }
}

/// # Safety
/// In a process of one thread that uses none of the descriptors again.
unsafe fn leave_descriptors(bell: c_int) -> bool {
    // SAFETY: plain calls; the numbers above 3 are closed at the end only.
    unsafe {
        // Out of the way of the streams, which the meter may have been started without.
        let bell = libc::fcntl(bell, libc::F_DUPFD_CLOEXEC, 8);
        let nobody = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        for stream in 0..=2 {
            if nobody < 0 {
                libc::close(stream);
            } else if nobody != stream {
                libc::dup2(nobody, stream);
            }
        }
        let settled = libc::dup3(bell, BELL, libc::O_CLOEXEC) == BELL;
        if libc::syscall(libc::SYS_close_range, BELL + 1, c_int::MAX, 0) != 0 {
            let limit = libc::sysconf(libc::_SC_OPEN_MAX).clamp(0, 65_536) as c_int;
            (BELL + 1..limit).for_each(|number| {
                libc::close(number);
            });
        }
        settled
    }
}

struct RoomDesk {
    memory: Memory,
    progress: Arc<Progress>,
    bytes: Vec<u8>,
}

impl RoomDesk {
    fn head(&self) -> &'static Head {
        self.memory.head()
    }
}

impl Desk for RoomDesk {
    fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    fn next(&mut self) -> Option<Arc<Vec<Member>>> {
        await_order()?;
        self.head().busy_since_ns.store(monotonic_ns(), Ordering::Relaxed);
        let number = self.head().ordered.load(Ordering::Acquire);
        self.memory.read_order(&mut self.bytes);
        let members = Vec::<Member>::get(&mut Reader(&self.bytes));
        self.head().taken.store(number, Ordering::Release);
        members.map(Arc::new)
    }

    fn tell(&mut self, told: Told) {
        self.bytes.clear();
        told.put(&mut self.bytes);
        if !self.memory.write_answer(&self.bytes) {
            let reason = Some("the figures of the GPUs are too many to hand over".to_owned());
            self.bytes.clear();
            Told { reason, ..Told::default() }.put(&mut self.bytes);
            self.memory.write_answer(&self.bytes);
        }
        self.head().busy_since_ns.store(0, Ordering::Relaxed);
        super::ring(BELL);
    }
}

/// `None`: the meter has closed its end.
fn await_order() -> Option<()> {
    let mut byte = [0u8; 1];
    loop {
        // SAFETY: reads one byte into one.
        match unsafe { libc::read(BELL, byte.as_mut_ptr().cast(), 1) } {
            1 => return Some(()),
            -1 if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            _ => return None,
        }
    }
}

/// Where there is nothing to measure the process stays until the meter ends: its end means a driver that failed.
fn end_of_orders() {
    while await_order().is_some() {}
}
