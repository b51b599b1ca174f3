//! One process under the meter: its kept-open descriptors and what was last read of it.

mod changed;
mod children;
mod kept;
mod memory;
mod newborns;
mod queue_wait;
mod readings;
mod threads;

pub use children::{read_children_of, read_thread_children};

use crate::account::ended::Present;
use crate::account::reading::WaitedAtTicks;
use crate::linux::proc::root::ProcRoot;
use crate::linux::proc::{io, smaps, stat, statm, status};
use crate::linux::sys;
use jobmeter_model::event::ProcessId;
use kept::read_kept;
use queue_wait::{QUEUE_PERIOD_NS, QueueWait};
use std::os::fd::{AsRawFd, OwnedFd};

/// Whether a process is still there after a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It was read.
    Here,
    /// It was reaped, or its pid belongs to another process by now.
    Gone,
}

/// Clock ticks of `/proc/PID/stat`, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// One clock tick.
    pub tick_ns: u64,
    /// One page.
    pub page_bytes: u64,
}

impl Scale {
    /// As the C library tells it.
    pub fn of_this_machine() -> Scale {
        Scale {
            tick_ns: 1_000_000_000 / sys::sysconf(libc::_SC_CLK_TCK).max(1),
            page_bytes: sys::sysconf(libc::_SC_PAGESIZE),
        }
    }
}

/// Stands for "never read" in the fields that keep the CPU time at a read.
const NEVER: u64 = u64::MAX;

/// The list of children of an idle process is read again at most this often.
const IDLE_CHILDREN_PERIOD_NS: u64 = 1_000_000_000;

/// The shortest time in which a page can be copied on write, or cleared.
pub(crate) const SHORTEST_FAULT_NS: u64 = 200;

/// What a rollup said, and what it cost to ask.
#[derive(Debug, Clone, Copy)]
pub struct RollupReading {
    /// What it said.
    pub rollup: smaps::Rollup,
    /// CPU time that reading it took.
    pub cost_ns: u64,
}

/// One process and what was last read of it. More fields than we like, and flat on purpose: `stat`, `statm`, `io` and
/// `status` each update several of them, and every tick walks over the fields of thousands of processes.
pub struct Process {
    proc: ProcRoot,
    /// Pid and start time.
    pub id: ProcessId,
    /// In the order in which members were found, parents before their children; 0 before that.
    pub serial: u64,
    /// Whether it is the process that was started or attached to.
    pub is_main: bool,
    /// Of the process that is its parent now.
    pub parent_pid: i32,
    /// Its parent at the last full tick, or when it was forked after that.
    forked_by: i32,
    /// The command name has changed since it was last reported.
    pub is_renamed: bool,
    /// Since the last full tick it has become another program. Its mark does not tell of what it held before.
    exec: Option<readings::Exec>,
    /// The most that programs before the present one can have held, of all its life.
    before_exec_bytes: u64,
    /// Programs that it was seen to run.
    programs_read: u32,
    /// Last `stat`. Of a process without children it may be one slow period old.
    pub stat: stat::Stat,
    /// Own CPU time by the process CPU clock, every tick.
    pub cpu_ns: u64,
    /// As of the last `statm`.
    pub rss_bytes: u64,
    /// File-backed and shared-memory part of `rss_bytes`.
    pub rss_file_bytes: u64,
    /// The same at the reading before.
    read_before: Present,
    /// Between vfork and exec it runs in its parent's address space: none of that memory is its own.
    borrows_memory: bool,
    /// Anonymous memory when first seen: what a forked copy shares with its parent.
    pub anon_at_birth_bytes: u64,
    /// Page faults of its parent as last read before this process was found: what the parent changes after the fork takes
    /// further ones.
    pub parent_faults_at_birth: u64,
    /// Waited-for children included.
    pub io: Option<io::Io>,
    /// The last `io` after which `stat` still showed no waited-for child: the bytes are its own.
    pub own_io: Option<io::Io>,
    /// The meter is a part of this process: what it has read is taken out of `io`.
    pub hosts_meter: bool,
    /// The last read of its bytes was refused (another user's process), although it was there.
    pub io_is_refused: bool,
    /// The highest resident size that is known: the kernel's mark, or what a tick saw.
    pub peak_rss_bytes: u64,
    /// The high-water mark at the moment of attaching: older than the run.
    pub peak_rss_before_bytes: u64,
    /// The last `status` showed the mark. Without its first thread a process shows none.
    has_mark: bool,
    /// The last full tick could not see its memory: what it had then is not known.
    hid_memory: bool,
    /// Its own page faults when `peak_rss_bytes` was last read from `status`.
    faults_at_mark: u64,
    /// The most that ticks have read since the last full tick, and its own page faults then.
    max_rss_bytes: u64,
    max_anon_bytes: u64,
    min_file_bytes: u64,
    max_file_bytes: u64,
    faults_at_full: u64,
    /// When `stat` had been read by then.
    read_at_full_ns: u64,
    /// Anonymous memory at the last full tick, where that has seen it.
    anon_at_full_bytes: Option<u64>,
    /// It was a zombie at the last full tick, which has bounded its memory for the last time.
    is_end_bounded: bool,
    /// Page faults of the children it has waited for, also when read apart from `stat`.
    pub waited_faults: u64,
    /// As of the last `status`; `None` where that does not tell.
    pub swap_bytes: Option<u64>,
    /// Resident shared memory as of the last `status`.
    pub shared_memory_bytes: u64,
    /// Voluntary and involuntary, of the main thread.
    pub switches: Option<(u64, u64)>,
    /// It ignores SIGCHLD: the kernel reaps its children into nobody's account.
    pub ignores_children: bool,
    /// It did so at the end of the tick before.
    pub ignored_children_before: bool,
    /// The last one, where any was read.
    pub rollup: Option<RollupReading>,
    /// It was seen with a child.
    pub has_had_children: bool,
    /// It has ended, and forked copies of it that ended after it count with what they changed: it counts as long as they.
    pub has_copies: bool,
    /// What it had waited for at the end of the last two ticks, to see whether exited children were added to it.
    pub(crate) waited_at: WaitedAtTicks,
    /// Its counters were read after it had ended: they cannot change any more.
    pub is_final: bool,
    /// When `stat`, `io` and `status` were last read.
    pub slow_at_ns: u64,
    /// CPU time when `stat`, and when all three, were last read: while it stays the same, there is nothing new to read.
    cpu_at_stat_ns: u64,
    cpu_at_slow_ns: u64,
    cpu_at_children_ns: u64,
    children_at_ns: u64,
    /// Its page faults, as known when its list of children was last read and the time before that.
    faults_at_lists: [u64; 2],
    /// Its anonymous memory not earlier than those faults were read, or more; and when all of it had been read.
    anon_at_lists: [Option<newborns::AnonAtList>; 2],
    lists_at_ns: [u64; 2],
    /// Minor faults and anonymous memory at the last rollup, or when first seen.
    faults_at_rollup: u64,
    anon_at_rollup_bytes: u64,
    /// The most that a forked copy had changed or added at the last full tick, and what a rollup has said of that since.
    changed_at_full_bytes: u64,
    sharing: Option<changed::SeenSharing>,
    /// When the children of its other threads were last looked for.
    pub threads_scanned_at_ns: u64,
    /// The kernel offers `task/TID/children`.
    has_children_list: bool,
    statm_file: Option<OwnedFd>,
    /// `statm_file` is that of another thread, which may end before the process does.
    statm_is_of_thread: bool,
    stat_file: Option<OwnedFd>,
    children_file: Option<OwnedFd>,
    /// `io` and `status` are kept open too: of main only, which is read the most.
    keeps_all: bool,
    io_file: Option<OwnedFd>,
    status_file: Option<OwnedFd>,
    queue: QueueWait,
    /// A descriptor of the process itself: it tells how it ended, whoever reaps it.
    exit: Option<OwnedFd>,
    has_asked_exit: bool,
}

impl Process {
    /// Opens `pid` as it is now. `keep_files` follows the descriptor budget.
    pub fn open(
        proc: ProcRoot,
        pid: i32,
        is_main: bool,
        keep_files: bool,
        scale: Scale,
        buffer: &mut [u8],
    ) -> Option<Process> {
        let stat_file = proc.open(pid, "stat").ok()?;
        let length = sys::pread(stat_file.as_raw_fd(), buffer, 0).ok()?;
        let stat = stat::parse(&buffer[..length])?;
        let children_file = keep_files.then(|| proc.open_task(pid, pid, "children")).transpose();
        let mut process = Process {
            proc,
            id: ProcessId { pid, start_ticks: stat.start_ticks },
            serial: 0,
            is_main,
            parent_pid: stat.parent_pid,
            forked_by: stat.parent_pid,
            is_renamed: false,
            exec: None,
            before_exec_bytes: 0,
            programs_read: 1,
            stat,
            cpu_ns: 0,
            rss_bytes: 0,
            rss_file_bytes: 0,
            read_before: Present::default(),
            borrows_memory: !is_main && stat.is_forked_copy() && sys::share_memory(pid, stat.parent_pid),
            anon_at_birth_bytes: 0,
            parent_faults_at_birth: 0,
            io: None,
            own_io: None,
            hosts_meter: false,
            io_is_refused: false,
            peak_rss_bytes: 0,
            peak_rss_before_bytes: 0,
            has_mark: false,
            hid_memory: false,
            faults_at_mark: 0,
            max_rss_bytes: 0,
            max_anon_bytes: 0,
            min_file_bytes: u64::MAX,
            max_file_bytes: 0,
            faults_at_full: 0,
            read_at_full_ns: 0,
            anon_at_full_bytes: None,
            is_end_bounded: false,
            waited_faults: 0,
            swap_bytes: None,
            shared_memory_bytes: 0,
            switches: None,
            ignores_children: false,
            ignored_children_before: false,
            rollup: None,
            has_had_children: false,
            has_copies: false,
            waited_at: WaitedAtTicks::default(),
            is_final: false,
            slow_at_ns: 0,
            cpu_at_stat_ns: NEVER,
            cpu_at_slow_ns: NEVER,
            cpu_at_children_ns: NEVER,
            children_at_ns: 0,
            faults_at_lists: [0; 2],
            anon_at_lists: [None; 2],
            lists_at_ns: [0; 2],
            faults_at_rollup: 0,
            anon_at_rollup_bytes: 0,
            changed_at_full_bytes: 0,
            sharing: None,
            threads_scanned_at_ns: 0,
            has_children_list: children_file.as_ref().err().is_none_or(sys::is_shortage),
            statm_file: keep_files.then(|| proc.open(pid, "statm")).and_then(Result::ok),
            statm_is_of_thread: false,
            children_file: children_file.ok().flatten(),
            stat_file: is_main.then_some(stat_file),
            keeps_all: is_main,
            io_file: None,
            status_file: None,
            queue: QueueWait::default(),
            exit: None,
            has_asked_exit: false,
        };
        process.waited_faults = process.stat.children_faults();
        match process.read_fast(scale, buffer) {
            Presence::Here => {
                process.note_memory_at_birth();
                Some(process)
            }
            Presence::Gone => None,
        }
    }

    /// The kernel keeps lists of children; asked of a process whose descriptors are kept.
    pub fn has_children_list(&self) -> bool {
        self.has_children_list
    }

    /// Whether all its files were read after it last ran, and it has not ended.
    pub fn is_settled(&self) -> bool {
        !self.is_slow_old() && self.slow_at_ns != 0 && self.rss_bytes > 0
    }

    /// Whether its CPU clock has not moved since it was last read, so that it cannot have changed anything itself. A clock
    /// with exactly the same value under the same pid belongs to the same process.
    pub fn is_idle(&self) -> bool {
        sys::process_cpu_ns(self.id.pid) == Some(self.cpu_ns)
    }

    /// Every tick: resident memory and CPU clock. The kept-open statm answers ESRCH once the process is
    /// reaped, also when the pid is reused, and so guards the clock that is asked by pid right after it.
    pub fn read_fast(&mut self, scale: Scale, buffer: &mut [u8]) -> Presence {
        let mut read = match &self.statm_file {
            Some(file) => sys::pread(file.as_raw_fd(), buffer, 0),
            None => self.read_own_statm(buffer),
        };
        if read.is_err() && self.statm_is_of_thread {
            (self.statm_file, self.statm_is_of_thread) = (None, false);
            read = self.read_own_statm(buffer);
        }
        let length = match read {
            Ok(length) => length,
            Err(error) => return presence_after(&error),
        };
        let Some(cpu_ns) = sys::process_cpu_ns(self.id.pid) else { return Presence::Gone };
        self.cpu_ns = cpu_ns.max(self.cpu_ns);
        if let Some(statm) = statm::parse(&buffer[..length]) {
            self.take_statm(statm, scale);
        }
        Presence::Here
    }

    /// Without a kept descriptor the identity must be checked first.
    fn read_own_statm(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.read_stat(buffer) == Presence::Gone {
            return Err(std::io::ErrorKind::NotFound.into());
        }
        self.proc.read(self.id.pid, "statm", buffer)
    }

    /// Reads `stat`, and says whether it is still the same process.
    pub fn read_stat(&mut self, buffer: &mut [u8]) -> Presence {
        let read = match &self.stat_file {
            Some(file) => sys::pread(file.as_raw_fd(), buffer, 0),
            None => self.proc.read(self.id.pid, "stat", buffer),
        };
        let stat = match read {
            Ok(length) => stat::parse(&buffer[..length]),
            Err(error) => return presence_after(&error),
        };
        let Some(stat) = stat else { return Presence::Gone };
        if stat.start_ticks != self.id.start_ticks {
            return Presence::Gone;
        }
        // The vfork parent exited: the child now owns the address space.
        self.borrows_memory &= stat.parent_pid == self.parent_pid;
        self.parent_pid = stat.parent_pid;
        let is_renamed = stat.name != self.stat.name;
        self.is_renamed |= is_renamed;
        let was_copy = self.stat.is_forked_copy() && !stat.is_forked_copy();
        if stat.has_execed_since(&self.stat) {
            self.note_exec(was_copy, stat.faults());
        }
        if was_copy {
            // It has called exec; the memory that it had before was shared with its parent.
            self.borrows_memory = false;
            self.peak_rss_bytes = 0;
        }
        self.waited_faults = self.waited_faults.max(stat.children_faults());
        self.stat = stat;
        self.confirm_own_io();
        self.cpu_at_stat_ns = self.cpu_ns;
        Presence::Here
    }

    /// `stat` may say something new: the process has run since it was read.
    pub fn is_stat_old(&self) -> bool {
        self.cpu_at_stat_ns != self.cpu_ns
    }

    /// `io` and `status`, which has the high-water mark, may say something new.
    pub fn is_slow_old(&self) -> bool {
        self.cpu_at_slow_ns != self.cpu_ns
    }

    /// Makes the next tick read it although its CPU clock has not moved: its parent ended, or a child of it was waited for. The clock
    /// of a process that is running stands still for up to a clock tick.
    pub fn expect_news(&mut self) {
        self.cpu_at_stat_ns = NEVER;
        self.cpu_at_slow_ns = NEVER;
    }

    /// Keeps `stat` open: for processes that have children, whose waited-for time matters every tick.
    pub fn keep_stat_open(&mut self) {
        if self.stat_file.is_none() {
            self.stat_file = self.proc.open(self.id.pid, "stat").ok();
        }
    }

    /// The more expensive reads: stat, io, status.
    pub fn read_slow(&mut self, now_ns: u64, buffer: &mut [u8]) -> Presence {
        let presence = self.read_stat(buffer);
        if presence == Presence::Here {
            self.read_after_stat(now_ns, buffer);
        }
        presence
    }

    /// What `read_slow` reads besides `stat`.
    pub fn read_after_stat(&mut self, now_ns: u64, buffer: &mut [u8]) {
        self.slow_at_ns = now_ns;
        self.cpu_at_slow_ns = self.cpu_ns;
        self.is_final = self.stat.state == b'Z' && self.stat.threads <= 1;
        let (at, keep) = ((self.proc, self.id.pid), self.keeps_all);
        let meters_chars = if self.hosts_meter { sys::bytes_read() } else { 0 };
        match read_kept(&mut self.io_file, keep, at, "io", buffer) {
            Ok(text) => {
                let read = io::parse(text).map(|io| io.without_read_chars(meters_chars));
                self.io = read.or(self.io);
                self.io_is_refused = false;
                if self.is_final {
                    // A zombie waits for nobody any more.
                    self.confirm_own_io();
                }
            }
            // A process that is gone has refused nothing, and a shortage of descriptors is temporary.
            Err(error) => {
                self.io_is_refused |= error.raw_os_error() != Some(libc::ESRCH) && !sys::is_shortage(&error);
            }
        }
        if self.is_final {
            // A zombie's status says nothing new about itself. It still shows whether main ignored SIGCHLD, which matters
            // for children that no tick has seen.
            let text = self.is_main.then(|| read_kept(&mut self.status_file, keep, at, "status", buffer));
            if let Some(Ok(text)) = text {
                self.ignores_children |= status::parse(text).ignores_children;
            }
        } else if let Ok(text) = read_kept(&mut self.status_file, keep, at, "status", buffer) {
            let status = status::parse(text);
            self.has_mark = status.peak_rss_bytes.is_some();
            if let Some(mark_bytes) = status.peak_rss_bytes.filter(|_| !self.borrows_memory) {
                self.peak_rss_bytes = self.peak_rss_bytes.max(mark_bytes);
                self.faults_at_mark = self.stat.faults();
            }
            self.swap_bytes = status.swap_bytes;
            self.shared_memory_bytes = status.shared_memory_bytes.unwrap_or_default();
            self.switches = status.switches_voluntary.zip(status.switches_involuntary);
            self.ignores_children = status.ignores_children;
        }
        let is_due = self.queue.last_ns.is_none() || now_ns >= self.queue.read_at_ns + QUEUE_PERIOD_NS;
        if (keep || is_due || self.is_final)
            && let Ok(text) = read_kept(&mut self.queue.file, keep, at, "schedstat", buffer)
        {
            self.queue.take_reading(now_ns, text);
        }
    }

    /// Whether it may have children that we do not know: it has run since the list was read, or a descendant of it has,
    /// whose orphans are handed over to it.
    pub fn may_have_new_children(&self, now_ns: u64, somebody_ran: bool) -> bool {
        self.cpu_at_children_ns != self.cpu_ns
            || (self.has_had_children && somebody_ran)
            || now_ns >= self.children_at_ns + IDLE_CHILDREN_PERIOD_NS
    }

    /// Children of the main thread, each passed to `found`. Larger families take several reads.
    pub fn read_children(&mut self, now_ns: u64, buffer: &mut [u8], found: &mut dyn FnMut(i32)) {
        (self.children_at_ns, self.cpu_at_children_ns) = (now_ns, self.cpu_ns);
        self.remember_before_newborns(buffer);
        match &self.children_file {
            Some(file) => read_children_of(file.as_raw_fd(), buffer, found),
            None => read_thread_children(self.proc, self.id.pid, self.id.pid, buffer, found),
        }
    }

    /// Expensive: the caller keeps a budget. The descriptor cannot be kept, because it belongs to one address space and
    /// exec replaces that.
    pub fn read_rollup(&mut self, buffer: &mut [u8]) -> Option<u64> {
        let began_ns = sys::thread_cpu_ns();
        let length = self.proc.read(self.id.pid, "smaps_rollup", buffer).ok()?;
        let rollup = smaps::parse(&buffer[..length])?;
        let cost_ns = sys::thread_cpu_ns().saturating_sub(began_ns);
        self.rollup = Some(RollupReading { rollup, cost_ns });
        self.note_sharing(&rollup);
        self.faults_at_rollup = self.stat.faults_minor;
        self.anon_at_rollup_bytes = self.rss_bytes.saturating_sub(self.rss_file_bytes);
        Some(cost_ns)
    }

    /// Whether all of it has ended and was not reaped yet.
    pub fn is_zombie(&self) -> bool {
        self.rss_bytes == 0 && self.stat.state == b'Z' && self.stat.threads <= 1
    }
}

/// A read that failed for want of a descriptor says nothing: the process is taken to be there still.
fn presence_after(error: &std::io::Error) -> Presence {
    if sys::is_shortage(error) { Presence::Here } else { Presence::Gone }
}
