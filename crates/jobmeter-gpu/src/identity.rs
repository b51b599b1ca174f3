//! Who is behind a PID. A driver names processes by number only, numbers are reused, and inside a container
//! they may be the host's; nothing is attributed to the job before both questions are answered.

use crate::config::PidView;
use crate::hash::PidMap;
use crate::snapshot::Owner;
use crate::textfile;
use jobmeter_model::ProcessId;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A living process of the job, as the engine knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Pid and start time.
    pub id: ProcessId,
    /// Whether it is the main process.
    pub main: bool,
}

/// Which call of the driver a number came from: in a container, some drivers translate the numbers of one and not of
/// the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Lists,
    Utilization,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolved {
    Ours(Owner),
    Stranger,
    /// It may be ours or not.
    Unknown(&'static str),
}

pub(crate) const HOST_PIDS: &str = "the driver reports the host's process numbers and this container \
    cannot translate them (no NSpid of the host is visible)";

const OTHER_TIMES: &str = "/proc shows another PID namespace than the one that the job runs in, so its processes \
    cannot be told from others";

/// The pid namespace of the machine itself has this inode number on every Linux.
const INITIAL_PID_NAMESPACE: &str = "pid:[4026531836]";

struct Known {
    owner: Owner,
    hold: Option<Hold>,
    /// The number that it is held by: that of the driver.
    held_as: i32,
    /// The process has exited, by the last check.
    exited: bool,
    /// Generation in which the engine last named it.
    named: u64,
}

/// A grip on a process, taken once and checked against its start time: it answers for that process alone,
/// also when the number is reused.
enum Hold {
    /// A pidfd: one `poll` asks them all.
    Process(OwnedFd),
    /// `/proc/PID` of a captured root or of another namespace.
    Folder(File),
}

/// The members of the job and what is known of their numbers.
pub(crate) struct Members {
    proc_root: PathBuf,
    /// `proc_root` is the kernel's and its numbers are ours, so a pidfd means the same process.
    real: bool,
    known: PidMap<i32, Known>,
    generation: u64,
    numbers: Numbers,
    /// Answers of this sample by [`Call`]: one process may be on sixteen devices.
    answers: [PidMap<i32, Resolved>; 2],
}

/// How the driver's numbers relate to ours.
enum Numbers {
    Ours,
    /// `/proc` is an ancestor's: the number of our namespace is at this place of `NSpid`.
    Ancestor(usize),
    /// Host numbers perhaps. By [`Call`], `true` once a member was seen to hold a device under the reported number.
    Doubtful {
        confirmed: [bool; 2],
    },
    Host,
}

impl Members {
    pub(crate) fn new(root: &Path, view: PidView) -> Members {
        let proc_root = root.join("proc");
        let numbers = match view {
            PidView::Ours => Numbers::Ours,
            _ => {
                let level = ns_pids(&proc_root.join("self/status")).map_or(0, |pids| pids.len().max(1) - 1);
                let namespace = std::fs::read_link(proc_root.join("self/ns/pid"));
                let initial = namespace.map_or(true, |link| link.as_os_str() == INITIAL_PID_NAMESPACE);
                match (level, view) {
                    (1.., _) => Numbers::Ancestor(level),
                    (0, PidView::Host) => Numbers::Host,
                    (0, _) if initial => Numbers::Ours,
                    _ => Numbers::Doubtful { confirmed: [false; 2] },
                }
            }
        };
        let real = matches!(numbers, Numbers::Ours)
            && std::fs::canonicalize(&proc_root).is_ok_and(|path| path == Path::new("/proc"));
        Members {
            proc_root,
            real,
            known: PidMap::default(),
            generation: 0,
            numbers,
            answers: Default::default(),
        }
    }

    /// Takes over the engine's list. A process that has just left stays for one more sample: its last
    /// utilisation is still to come.
    pub(crate) fn update(&mut self, members: &[Member]) {
        self.generation += 1;
        self.answers.iter_mut().for_each(PidMap::clear);
        let now = self.generation;
        for member in members {
            let owner = Owner { id: member.id, main: member.main };
            match self.known.get_mut(&member.id.pid) {
                Some(known) if known.owner.id == member.id => {
                    known.named = now;
                    known.owner = owner;
                }
                _ => {
                    self.known.insert(
                        member.id.pid,
                        Known { owner, hold: None, held_as: 0, exited: false, named: now },
                    );
                }
            }
        }
        self.known.retain(|_, known| known.named + 1 >= now);
    }

    /// Finds out which members have exited. Call it when all listings are taken and before asking whose they
    /// are: a process that is still the same one now was so then.
    pub(crate) fn check(&mut self) {
        self.answers.iter_mut().for_each(PidMap::clear);
        let mut descriptors: Vec<libc::pollfd> = Vec::with_capacity(self.known.len());
        let mut pids: Vec<i32> = Vec::with_capacity(self.known.len());
        for (pid, known) in &mut self.known {
            match &known.hold {
                Some(Hold::Process(fd)) if !known.exited => {
                    descriptors.push(libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 });
                    pids.push(*pid);
                }
                Some(Hold::Folder(folder)) => known.exited = !alive(folder),
                _ => {}
            }
        }
        // SAFETY: the array and its length belong together; the time-out of zero never waits.
        unsafe { libc::poll(descriptors.as_mut_ptr(), descriptors.len() as libc::nfds_t, 0) };
        for (descriptor, pid) in descriptors.iter().zip(&pids) {
            if descriptor.revents != 0
                && let Some(known) = self.known.get_mut(pid)
            {
                known.exited = true;
            }
        }
    }

    /// Living members by the engine's last word, for the readers of `/proc/PID`.
    pub(crate) fn current(&self) -> impl Iterator<Item = Owner> + '_ {
        self.known.values().filter(|known| known.named == self.generation).map(|known| known.owner)
    }

    /// Whose number the driver reported. When a number changed hands since the listing, nobody is charged.
    pub(crate) fn resolve(&mut self, reported: i32, call: Call) -> Resolved {
        if let Some(answer) = self.answers[call as usize].get(&reported) {
            return *answer;
        }
        let answer = self.resolve_anew(reported, call);
        self.answers[call as usize].insert(reported, answer);
        answer
    }

    /// Whether the process is of the job, and has not left it for more than a sample.
    pub(crate) fn has(&self, id: ProcessId) -> bool {
        self.known.get(&id.pid).is_some_and(|known| known.owner.id == id)
    }

    pub(crate) fn owner_of(&self, id: ProcessId) -> Option<Owner> {
        self.known.get(&id.pid).map(|known| known.owner).filter(|owner| owner.id == id)
    }

    fn resolve_anew(&mut self, reported: i32, call: Call) -> Resolved {
        match self.numbers {
            Numbers::Ours => self.owner(reported, reported),
            Numbers::Host => Resolved::Unknown(HOST_PIDS),
            Numbers::Ancestor(level) => {
                let status = self.proc_root.join(reported.to_string()).join("status");
                match ns_pids(&status).and_then(|pids| pids.get(level).copied()) {
                    Some(pid) => match self.owner(pid, reported) {
                        Resolved::Stranger
                            if self.known.contains_key(&pid) && self.is_neighbour(reported) =>
                        {
                            Resolved::Unknown(OTHER_TIMES)
                        }
                        found => found,
                    },
                    None => Resolved::Stranger,
                }
            }
            Numbers::Doubtful { mut confirmed } => {
                let owner = self.owner(reported, reported);
                let is_confirmed = &mut confirmed[call as usize];
                *is_confirmed |= matches!(owner, Resolved::Ours(_)) && self.holds_device(reported);
                let answer = if *is_confirmed { owner } else { Resolved::Unknown(HOST_PIDS) };
                self.numbers = Numbers::Doubtful { confirmed };
                answer
            }
        }
    }

    fn owner(&mut self, pid: i32, proc_pid: i32) -> Resolved {
        let Some(known) = self.known.get_mut(&pid) else { return Resolved::Stranger };
        // Processes of two containers may have one number of theirs, but never one of the host.
        if known.hold.is_some() && known.held_as == proc_pid && !known.exited {
            return Resolved::Ours(known.owner);
        }
        let path = self.proc_root.join(proc_pid.to_string());
        let hold = if known.hold.is_none() { take_hold(&path, pid, self.real) } else { None };
        let same = match start_ticks(&path) {
            Some(ticks) => ticks == known.owner.id.start_ticks,
            // Gone, and the number free: whatever the driver still says of it was our member's.
            None => !path.exists(),
        };
        if !same {
            return Resolved::Stranger;
        }
        // A zombie still owns its number; without a hold (out of descriptors) it is looked up each time.
        if hold.is_some() {
            known.hold = hold;
            known.held_as = proc_pid;
        }
        Resolved::Ours(known.owner)
    }

    /// Whether a process lives in our own namespace: there, one number is one process.
    fn is_neighbour(&self, proc_pid: i32) -> bool {
        let namespace = |name: &str| std::fs::read_link(self.proc_root.join(name).join("ns/pid")).ok();
        let own = namespace("self");
        own.is_some() && own == namespace(&proc_pid.to_string())
    }

    /// The one process of the job that computes on a GPU, if there is exactly one: CUDA opens this device for all of
    /// them, and programs that only look at GPUs do not. Large jobs are not searched.
    pub(crate) fn only_user(&self) -> Option<Owner> {
        const MOST: usize = 64;
        if !matches!(self.numbers, Numbers::Doubtful { .. }) || self.known.len() > MOST {
            return None;
        }
        let mut users =
            self.current().filter(|owner| self.has_open(owner.id.pid, |path| path == "/dev/nvidia-uvm"));
        users.next().filter(|_| users.next().is_none())
    }

    fn has_open(&self, pid: i32, is_wanted: impl Fn(&str) -> bool) -> bool {
        std::fs::read_dir(self.proc_root.join(pid.to_string()).join("fd")).is_ok_and(|entries| {
            let links = entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
            links.into_iter().any(|link| is_wanted(&link.to_string_lossy()))
        })
    }

    /// Independent evidence that a number of ours is the one the driver means: the process has a device open or mapped.
    fn holds_device(&self, pid: i32) -> bool {
        let maps = self.proc_root.join(pid.to_string()).join("maps");
        self.has_open(pid, is_device) || maps_device(&maps)
    }
}

fn is_device(path: &str) -> bool {
    path.starts_with("/dev/nvidia") || path == "/dev/dxg"
}

/// The path is the sixth field of a line.
fn maps_device(maps: &Path) -> bool {
    let Ok(file) = File::open(maps) else { return false };
    let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
    lines
        .into_iter()
        .any(|line| String::from_utf8_lossy(&line).split_ascii_whitespace().nth(5).is_some_and(is_device))
}

/// Taken before the start time is read: what is read then is of the process that is held, or of none.
fn take_hold(path: &Path, pid: i32, real: bool) -> Option<Hold> {
    if !real {
        return open_folder(path).map(Hold::Folder);
    }
    // SAFETY: plain numbers; the result is a new descriptor or -1.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    // SAFETY: the descriptor was just opened and belongs to nobody else.
    (fd >= 0).then(|| Hold::Process(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
}

pub(crate) fn open_folder(path: &Path) -> Option<File> {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()
}

/// Whether the process behind an open `/proc/PID` still exists.
pub(crate) fn alive(folder: &File) -> bool {
    // SAFETY: the descriptor is open, the name is a C string.
    unsafe { libc::faccessat(folder.as_raw_fd(), c"stat".as_ptr(), libc::F_OK, 0) == 0 }
}

/// Field 22 of `stat`; the command name may hold spaces and brackets, so count from the last bracket.
pub(crate) fn start_ticks(folder: &Path) -> Option<u64> {
    let stat = textfile::read(&folder.join("stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn ns_pids(status: &Path) -> Option<Vec<i32>> {
    let text = textfile::read(status).ok()?;
    let list = text.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    Some(list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect())
}

#[cfg(test)]
#[path = "identity_tests.rs"]
mod tests;
