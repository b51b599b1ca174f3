//! Starts, names and ends of processes as the kernel tells them: records in a ring shared with it, for
//! processes too short to be sampled by a tick. An extra, never required. Where the user may watch whole CPUs
//! (CAP_PERFMON, or a low `kernel.perf_event_paranoid`), the job does not notice; elsewhere the job's tree
//! inherits an event per CPU, which makes its forks more expensive; the first such event of the machine is slow
//! to open.

mod cpu_ring;
mod fault_ring;
mod files;
mod follow;
mod lives;
mod map_ring;
mod record;
mod remains;
mod shared_ring;
mod touch_ring;
mod touched;

use crate::linux::sys;
use cpu_ring::{CpuRing, Holds};
use fault_ring::FaultRing;
use map_ring::MapRing;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use touch_ring::TouchRing;
use touched::{Touched, TouchedFiles};

pub(crate) use follow::Follower;
pub(crate) use lives::Passed;
pub(crate) use record::{Record, What};

/// Every fork of the job clones one event per CPU.
const MAX_INHERITED_CPUS: usize = 32;
const MAX_CPUS: usize = 128;

/// Each event that a process inherits makes its fork and exit 3 µs longer, of 170: unasked there are only so many, and the kernel
/// opens one for each process and CPU.
const MOST_LATE_CPUS: usize = 4;
const MOST_LATE_PIDS: usize = 24;

/// The kernel stamps a record a moment before it can be read. Younger records wait for the next time, so that
/// those of all CPUs are taken in the order of their times.
const SETTLING_NS: u64 = 100_000;

/// Marks the rings of mappings among those that wake.
const OF_MAPS: u64 = 1;

pub struct PerfRing {
    cpus: Vec<CpuRing>,
    /// An epoll of all rings. Edge-triggered, because an event whose processes are gone reports a hang-up for ever.
    wake: OwnedFd,
    /// What processes map, where it is followed.
    maps: Option<MapRing>,
    /// Which pages of files are touched, where that is followed.
    touches: Option<TouchRing>,
    /// When page faults happen, where that is followed.
    faults: Option<FaultRing>,
    /// Records that are younger than the last horizon.
    waiting: Vec<Record>,
    pub(crate) lost: u64,
    /// The ring has records of the job's processes only.
    pub(crate) is_of_tree: bool,
    /// Another source feeds it; this is that one's descriptor.
    fed_by: Option<RawFd>,
    /// A ring of mappings has woken us, and does not again before it is listened to again.
    has_map_slept: bool,
}

impl PerfRing {
    /// All processes of the machine; opened before the job starts. Or why not.
    pub fn open_machine() -> Result<PerfRing, String> {
        Self::open(None, MAX_CPUS)
    }

    /// `pid` and all it will fork; opened while it waits to exec. Or why not.
    pub fn open_tree(pid: i32) -> Result<PerfRing, String> {
        Self::open(Some(pid), MAX_INHERITED_CPUS)
    }

    fn open(pid: Option<i32>, max_cpus: usize) -> Result<PerfRing, String> {
        let online = crate::linux::cpus::online();
        if online.len() > max_cpus {
            return Err(format!(
                "{} CPUs are online: beyond {max_cpus} the events of each CPU would weigh on the job",
                online.len()
            ));
        }
        let refused = |error: io::Error| format!("perf events were refused: {error}{}", paranoid_level());
        // SAFETY: plain call; a fresh descriptor is ours to own.
        let wake = unsafe {
            let fd = sys::check(libc::epoll_create1(libc::EPOLL_CLOEXEC)).map_err(refused)?;
            OwnedFd::from_raw_fd(fd)
        };
        let mut cpus = Vec::with_capacity(online.len());
        for cpu in online {
            let ring = CpuRing::open(Holds::Lives, pid, *cpu).map_err(refused)?;
            wake_by(&wake, ring.as_raw_fd()).map_err(refused)?;
            cpus.push(ring);
        }
        let is_of_tree = pid.is_some();
        // Before its exec, so that nothing is missed. The job waits for the events anyway.
        let maps = pid.and_then(|pid| MapRing::open(online, Some(pid)));
        let maps = maps.filter(|maps| maps.fds().all(|fd| wake_by(&wake, fd).is_ok()));
        Ok(PerfRing {
            cpus,
            wake,
            maps,
            touches: None,
            faults: None,
            waiting: Vec::new(),
            lost: 0,
            is_of_tree,
            fed_by: None,
            has_map_slept: false,
        })
    }

    /// Without a ring of its own: records come by [`PerfRing::feed`]. It wakes once when `source` has something to read,
    /// and again after [`PerfRing::feed`].
    pub(crate) fn fed_by(source: RawFd) -> io::Result<PerfRing> {
        // SAFETY: plain call; a fresh descriptor is ours to own.
        let wake = unsafe { OwnedFd::from_raw_fd(sys::check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        let ring = PerfRing {
            cpus: Vec::new(),
            wake,
            maps: None,
            touches: None,
            faults: None,
            waiting: Vec::new(),
            lost: 0,
            is_of_tree: false,
            fed_by: Some(source),
            has_map_slept: false,
        };
        ring.arm(libc::EPOLL_CTL_ADD)?;
        Ok(ring)
    }

    fn arm(&self, how: libc::c_int) -> io::Result<()> {
        let Some(source) = self.fed_by else { return Ok(()) };
        let mut interest = libc::epoll_event { events: (libc::EPOLLIN | libc::EPOLLONESHOT) as u32, u64: 0 };
        // SAFETY: `interest` outlives the call.
        sys::check(unsafe { libc::epoll_ctl(self.wake.as_raw_fd(), how, source, &raw mut interest) })?;
        Ok(())
    }

    /// Takes over `records` in the order in which they came, and that `lost` others are missing.
    pub(crate) fn feed(&mut self, records: &mut Vec<Record>, lost: u64) {
        self.waiting.append(records);
        self.lost += lost;
    }

    /// Where the records come from another source.
    pub(crate) fn is_fed(&self) -> bool {
        self.fed_by.is_some()
    }

    fn collect(&mut self) {
        for cpu in &mut self.cpus {
            self.lost += cpu.drain(&mut self.waiting);
        }
        let waiting = &mut self.waiting;
        self.maps.take_if(|maps| !maps.drain(waiting));
        self.collect_touches();
        self.collect_faults();
    }

    fn collect_faults(&mut self) {
        self.faults.take_if(|faults| !faults.drain());
    }

    fn collect_touches(&mut self) {
        self.touches.take_if(|touches| !touches.drain());
    }

    /// Which pages of files were touched, besides `huge_bytes` in another way; `None` where that is not followed.
    fn touched(&self, huge_bytes: u64) -> Option<Touched<'_>> {
        self.touches.as_ref().map(|touches| Touched { files: touches.files(), huge_bytes })
    }

    /// Whether there are few enough CPUs for [`PerfRing::open_maps`].
    fn may_open_maps(&self) -> bool {
        !self.is_fed() || crate::linux::cpus::online().len() <= MOST_LATE_CPUS
    }

    /// From now on mappings of files are recorded too: of everybody where whole CPUs are watched, else of `pids` and what they
    /// will fork. Returns whether they are. Not done at the start, which it would make slower.
    fn open_maps(&mut self, pids: &[i32]) -> bool {
        let online = crate::linux::cpus::online();
        let maps = match self.is_fed() {
            _ if self.is_of_tree => return false,
            false => MapRing::open(online, None),
            true if self.may_open_maps() && pids.len() <= MOST_LATE_PIDS => MapRing::open_tree(online, pids),
            true => None,
        };
        let is_fed = self.is_fed();
        let wake =
            |fd| if is_fed { self.wake_once_by(libc::EPOLL_CTL_ADD, fd) } else { wake_by(&self.wake, fd) };
        self.maps = maps.filter(|maps| maps.fds().all(|fd| wake(fd).is_ok()));
        self.has_maps()
    }

    /// From now on the pages of files that are touched are recorded too; returns whether they are.
    fn open_touches(&mut self) -> bool {
        let touches = TouchRing::open(crate::linux::cpus::online()).ok();
        self.touches = touches.filter(|touches| touches.fds().all(|fd| wake_by(&self.wake, fd).is_ok()));
        self.touches.is_some()
    }

    fn touches_mut(&mut self) -> Option<&mut TouchedFiles> {
        self.touches.as_mut().map(TouchRing::files_mut)
    }

    /// From now on the times of page faults are recorded too, where the user may.
    fn open_faults(&mut self) {
        let faults = FaultRing::open(crate::linux::cpus::online()).ok();
        self.faults = faults.filter(|faults| faults.fds().all(|fd| wake_by(&self.wake, fd).is_ok()));
    }

    /// Whether every mapping of a file is recorded.
    fn has_maps(&self) -> bool {
        self.maps.is_some()
    }

    /// What was mapped according to the records that wait, by whomever.
    fn waiting_mappings(&self) -> impl Iterator<Item = &record::Mapping> {
        self.waiting.iter().filter_map(|record| match &record.what {
            What::Mapped(mapping) => Some(mapping),
            _ => None,
        })
    }

    /// Moves the records that are old enough to `out`, in the order of their times; returns the time up to which
    /// all records were taken. `is_last` takes the youngest too.
    fn take(&mut self, is_last: bool, out: &mut Vec<Record>) -> u64 {
        let horizon_ns = if is_last { u64::MAX } else { sys::monotonic_ns().saturating_sub(SETTLING_NS) };
        self.collect();
        self.waiting.sort_by_key(|record| record.t_ns);
        let settled = self.waiting.partition_point(|record| record.t_ns < horizon_ns);
        out.extend(self.waiting.drain(..settled));
        horizon_ns
    }

    /// The fork of `pid` among the records that wait, the newest included.
    fn waiting_fork_ns(&mut self, pid: i32) -> Option<u64> {
        self.collect();
        let is_fork = |record: &&Record| {
            record.pid == pid && record.tid == pid && matches!(record.what, What::Fork { .. })
        };
        self.waiting.iter().rev().find(is_fork).map(|record| record.t_ns)
    }

    /// Whether `pid` has become another program according to the records that wait.
    fn has_waiting_exec_of(&self, pid: i32) -> bool {
        self.waiting.iter().any(|record| record.pid == pid && record.what == What::Exec)
    }

    /// Whether `pid` has forked according to the records that wait.
    fn has_waiting_fork_by(&self, pid: i32) -> bool {
        let is_fork = |record: &Record| matches!(record.what, What::Fork { parent_pid } if parent_pid == pid);
        self.waiting.iter().any(|record| is_fork(record) && record.pid == record.tid)
    }

    /// What threads of `pid` that have ended counted, among the records that wait.
    fn waiting_faults(&mut self, pid: i32) -> u64 {
        let waiting = &mut self.waiting;
        self.maps.take_if(|maps| !maps.drain(waiting));
        let of_pid = self.waiting.iter().filter(|record| record.pid == pid);
        of_pid.map(|record| if let What::Counted { faults } = record.what { faults } else { 0 }).sum()
    }

    /// The end of `pid` among the records that wait.
    fn waiting_exit_ns(&self, pid: i32) -> Option<u64> {
        let mut ends = self.waiting.iter().rev();
        ends.find(|record| record.pid == pid && record.what == record::What::Exit).map(|record| record.t_ns)
    }

    /// The source was drained: it is listened to again.
    pub(crate) fn listen_again(&mut self) {
        // Without it the next tick drains.
        drop(self.arm(libc::EPOLL_CTL_MOD));
        if std::mem::take(&mut self.has_map_slept) {
            let fds = self.maps.iter().flat_map(MapRing::fds);
            fds.for_each(|fd| drop(self.wake_once_by(libc::EPOLL_CTL_MOD, fd)));
        }
    }

    /// Makes us wake once when the ring of `source` is half full. An inherited event wakes whoever listens at the end of each process
    /// too, which would be a wake-up for every compiler below `make`.
    fn wake_once_by(&self, how: libc::c_int, source: RawFd) -> io::Result<()> {
        let events = (libc::EPOLLIN | libc::EPOLLONESHOT) as u32;
        let mut interest = libc::epoll_event { events, u64: OF_MAPS };
        // SAFETY: `interest` outlives the call.
        sys::check(unsafe { libc::epoll_ctl(self.wake.as_raw_fd(), how, source, &raw mut interest) })?;
        Ok(())
    }

    /// After a wake-up: makes ready for the next.
    fn consume_wake(&mut self) {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 8];
        loop {
            // SAFETY: the kernel fills at most eight entries; it does not wait.
            let count = unsafe { libc::epoll_wait(self.wake.as_raw_fd(), events.as_mut_ptr(), 8, 0) };
            let woken = events.iter().take(count.max(0) as usize);
            self.has_map_slept |= woken.into_iter().any(|event| event.u64 == OF_MAPS);
            if count < 8 {
                return;
            }
        }
    }
}

/// Makes `wake` readable when `source` becomes so.
fn wake_by(wake: &OwnedFd, source: RawFd) -> io::Result<()> {
    let mut interest = libc::epoll_event { events: (libc::EPOLLIN | libc::EPOLLET) as u32, u64: 0 };
    // SAFETY: `interest` outlives the call.
    sys::check(unsafe { libc::epoll_ctl(wake.as_raw_fd(), libc::EPOLL_CTL_ADD, source, &raw mut interest) })?;
    Ok(())
}

impl AsRawFd for PerfRing {
    fn as_raw_fd(&self) -> RawFd {
        self.wake.as_raw_fd()
    }
}

/// What the administrator allows, for the reason of a refusal.
fn paranoid_level() -> String {
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    level.map_or_else(|_| String::new(), |level| format!(" (kernel.perf_event_paranoid is {})", level.trim()))
}
