//! The drivers in a process of their own, for `run` and `attach`. A driver's library that aborts, crashes, prints,
//! forks, changes signal dispositions or never returns does all that over there: it costs the GPU figures and one
//! warning, and the job's status, output and time stay its own. The process is a child of the meter, in a session of
//! its own, and ends with the meter. Nothing of it is the job's.

mod inside;
mod memory;
mod message;
mod wire;

pub(crate) use memory::Head;

use crate::config::GpuConfig;
use crate::identity::Member;
use crate::link::{Link, View};
use crate::source::Way;
use crate::work::Told;
use jobmeter_engine::linux::control::{self, Pid, Waiting};
use jobmeter_engine::linux::pidfd;
use jobmeter_engine::linux::sys::{check, monotonic_ns, wait_readable};
use memory::Memory;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wire::{Reader, Wire};

/// Processes of drivers that were started and not reaped by us.
static HELPERS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Children of this process that serve drivers: with their sessions they are no part of any job.
pub fn helpers() -> Vec<Pid> {
    HELPERS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

pub(crate) struct Room {
    pid: Pid,
    memory: Memory,
    /// Tells how it ended, where somebody else has reaped it.
    process: Option<OwnedFd>,
    /// A byte each way says that there is an order, or an answer.
    bell: OwnedFd,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    members: Vec<Member>,
    told: Told,
    /// Number of the answer in `told`.
    seen: u64,
    /// A sample was asked for while the process was at work: it is ordered as soon as that is done.
    is_order_due: bool,
    lost: Option<String>,
    /// We have ended it ourselves: that it is gone says nothing.
    is_stopped: bool,
    bytes: Vec<u8>,
}

impl Room {
    /// Forks. An error says that the process cannot be had.
    pub(crate) fn start(config: &GpuConfig, ways: &[&'static dyn Way]) -> io::Result<Room> {
        // A copy of a process with threads may hold locks whose owners are not there.
        if !is_single_threaded() {
            return Err(io::Error::other("this process has threads"));
        }
        let memory = Memory::map()?;
        let (bell, their_bell) = bells()?;
        memory.head().busy_since_ns.store(monotonic_ns(), Ordering::Relaxed);
        memory.head().enter("start");
        let parent = Pid::own().get();
        // SAFETY: one thread, so the copy is whole; it never returns from `live`.
        let pid = check(unsafe { libc::fork() })?;
        if pid == 0 {
            inside::live(parent, their_bell.as_raw_fd(), memory, config, ways);
        }
        let pid = Pid::new(pid).ok_or_else(|| io::Error::other("fork gave no process"))?;
        HELPERS.lock().unwrap_or_else(PoisonError::into_inner).push(pid);
        let process = pidfd::open(pid).ok();
        Ok(Room { pid, memory, process, bell, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was answered since the last look, and notes whether the process is gone.
    fn look(&self, state: &mut State) {
        let answered = self.memory.head().answered.load(Ordering::Acquire);
        if answered != state.seen && state.lost.is_none() {
            state.seen = answered;
            self.memory.read_answer(answered, &mut state.bytes);
            match Told::get(&mut Reader(&state.bytes)) {
                Some(told) => state.told = told,
                None => state.lost = Some("the process of the GPU driver answers in disorder".to_owned()),
            }
        }
        if state.lost.is_none() && !state.is_stopped {
            state.lost = self.end();
        }
        if state.told.reason.is_none() {
            state.told.reason.clone_from(&state.lost);
        }
    }

    /// Sends the order that is due, unless the process is still at the last one.
    fn order(&self, state: &mut State) {
        let head = self.memory.head();
        let is_at_work = head.taken.load(Ordering::Acquire) != head.ordered.load(Ordering::Relaxed)
            || head.busy_since_ns.load(Ordering::Relaxed) != 0;
        // Every order has one answer: the last one is read before the next is asked for.
        self.look(state);
        if is_at_work || !state.is_order_due || state.lost.is_some() {
            return;
        }
        state.is_order_due = false;
        let State { members, bytes, .. } = state;
        bytes.clear();
        members.put(bytes);
        if self.memory.write_order(bytes) {
            ring(self.bell.as_raw_fd());
        }
    }

    /// How the process ended; `None` while it is there.
    fn end(&self) -> Option<String> {
        let status = match control::look_at(self.pid) {
            Waiting::NoneEnded => return None,
            Waiting::Ended(_, status) => Some(status),
            Waiting::NoChild => self.process.as_ref().and_then(pidfd::wait_status),
        };
        let how = match status {
            Some(status) if libc::WIFSIGNALED(status) => {
                format!("died of signal {}", libc::WTERMSIG(status))
            }
            Some(status) => format!("ended with status {}", libc::WEXITSTATUS(status)),
            None => "ended".to_owned(),
        };
        let call = self.memory.head().call();
        Some(format!("the process of the GPU driver {how} in {call}: the GPU figures end there"))
    }

    fn see(&self, state: &State) -> View {
        let head = self.memory.head();
        let since_ns = head.busy_since_ns.load(Ordering::Relaxed);
        let busy_ns = (since_ns != 0).then(|| monotonic_ns().saturating_sub(since_ns));
        View {
            told: state.told.clone(),
            ended: state.lost.is_some() || state.told.reason.is_some(),
            lost: state.lost.clone(),
            call: wire::name(&head.call()),
            busy: busy_ns.filter(|_| state.lost.is_none()).map(Duration::from_nanos),
        }
    }

    /// Kills it and does not wait: a process inside a driver may take its time, and goes by itself.
    fn end_it(&self) {
        // While it is our child its number is its own.
        if control::look_at(self.pid) != Waiting::NoChild {
            drop(control::send(self.pid, libc::SIGKILL));
        }
    }
}

impl Link for Room {
    fn set_processes(&self, members: Vec<Member>) {
        self.lock().members = members;
    }

    fn request(&self) {
        let mut state = self.lock();
        state.is_order_due = true;
        self.order(&mut state);
    }

    fn view(&self) -> View {
        let mut state = self.lock();
        self.order(&mut state);
        self.see(&state)
    }

    fn wait(&self, timeout: Duration, enough: &dyn Fn(&View) -> bool) -> View {
        let until_ns = monotonic_ns() + timeout.as_nanos() as u64;
        loop {
            let view = self.view();
            if enough(&view) || view.ended || monotonic_ns() >= until_ns {
                return view;
            }
            drop(wait_readable([self.bell.as_raw_fd()], Some(until_ns)));
            let mut bytes = [0u8; 64];
            let (into, most) = (bytes.as_mut_ptr().cast(), bytes.len());
            // SAFETY: takes at most 64 bytes into 64; what they are does not matter.
            unsafe { libc::recv(self.bell.as_raw_fd(), into, most, libc::MSG_DONTWAIT) };
        }
    }

    fn stop(&self, _patience: Duration) -> View {
        let view = self.view();
        self.lock().is_stopped = true;
        self.end_it();
        view
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.end_it();
    }
}

fn bells() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: fills two fresh descriptors, which are ours to own.
    unsafe {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        check(libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()))?;
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// Wakes the other side. One that is gone needs none, and one that has not yet heard the last ring neither.
fn ring(bell: RawFd) {
    // SAFETY: one byte of a local; neither waits nor raises SIGPIPE.
    unsafe { libc::send(bell, [1u8].as_ptr().cast(), 1, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) };
}

/// Counts the folders in `/proc/self/task`; `false` where they cannot be read.
fn is_single_threaded() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self/task").is_ok_and(|folder| folder.nlink() == 3)
}
