//! Control groups, v1 and v2: the limits that bind a job, and a group of its own where one may be made. The
//! group's counters miss nobody, not even children that are reaped into nobody's account.

mod membership;
mod mount;
pub mod watched;

use crate::linux::proc::scan::{keyed, lines, number};
use crate::linux::sys;
use std::cell::OnceCell;
use std::ffi::CString;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use membership::Membership;
use membership::{groups_of, usual_unified_mount};
pub use watched::WatchedGroup;

/// Bytes that any of the files here fits into.
const SMALL: usize = 2048;

/// Our own group in the unified hierarchy, without reading the mount table: the job waits for this.
fn usual_unified() -> Option<PathBuf> {
    let root = Path::new("/");
    let groups = groups_of(root, "self");
    // A group outside of our namespace is shown as a way upwards.
    let group =
        groups.lines().find_map(|line| line.strip_prefix("0::/")).filter(|group| !group.contains(".."))?;
    Some(usual_unified_mount(root)?.join(group))
}

fn read_number(path: &Path) -> Option<u64> {
    number(sys::read_small(path, &mut [0; SMALL]).ok()?).map(|(value, _)| value)
}

fn read_key(path: &Path, key: &[u8]) -> Option<u64> {
    let mut buffer = [0; SMALL];
    let text = sys::read_small(path, &mut buffer).ok()?;
    lines(text).find_map(|line| keyed(line, key))
}

/// Listing a hierarchy is not worth it for the shortest runs.
const TIDY_AFTER: Duration = Duration::from_secs(1);

/// CPU time by the group's own count, ns; user and system where it splits them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupCpu {
    /// User and system together.
    pub total_ns: u64,
    /// In user mode.
    pub user_ns: Option<u64>,
    /// In the kernel.
    pub system_ns: Option<u64>,
}

/// A group made for this job, nested under the present one so that its limits still apply.
pub struct JobGroup {
    /// Unified, or cpuacct of v1.
    cpu_dir: PathBuf,
    unified: bool,
    /// `cpu.stat`, kept open: it is read every tick.
    cpu_file: OnceCell<Option<OwnedFd>>,
    /// v1 memory group; with v2 the same directory when the controller is on.
    memory_dir: Option<PathBuf>,
    /// The unified group itself: a child can be born into it.
    birthplace: Option<OwnedFd>,
    /// Where a child joins by writing `0` before exec.
    joins: Vec<OwnedFd>,
    made_at: Instant,
    /// Processes of the job may be in other groups as well.
    is_left: bool,
}

impl JobGroup {
    /// Makes the group. Joining a group makes the kernel wait for all its cores, a millisecond and more for
    /// which the job would stand still; to be born into a v2 group costs nothing. So where v2 is there, it is
    /// the only one, and v1 memory groups are made only beside v1 cpuacct.
    pub fn create() -> io::Result<JobGroup> {
        if let Some(parent) = usual_unified() {
            match JobGroup::create_unified(&parent) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => return other,
            }
        }
        let membership = Membership::read(Path::new("/"), "self");
        if membership.is_outside {
            // A group at the top would take the job out of the limits that bind it.
            return Err(io::Error::other("our own group is not mounted here"));
        }
        match (&membership.unified, &membership.cpuacct) {
            (Some(parent), _) => JobGroup::create_unified(parent),
            (None, Some(parent)) => JobGroup::create_v1(parent, membership.memory.as_deref()),
            (None, None) => Err(io::Error::new(io::ErrorKind::NotFound, "no cgroup hierarchy is mounted")),
        }
    }

    fn create_unified(parent: &Path) -> io::Result<JobGroup> {
        let mut group = JobGroup::under(parent, true)?;
        group.birthplace = Some(open_group(&group.cpu_dir, libc::O_RDONLY | libc::O_DIRECTORY)?);
        if group.cpu_dir.join("memory.events").exists() {
            group.memory_dir = Some(group.cpu_dir.clone());
        }
        Ok(group)
    }

    fn create_v1(cpu_parent: &Path, memory_parent: Option<&Path>) -> io::Result<JobGroup> {
        let mut group = JobGroup::under(cpu_parent, false)?;
        group.open_joins()?;
        if let Some(Ok(dir)) = memory_parent.map(make_dir) {
            // Set before opening: an early return must still remove it.
            group.memory_dir = Some(dir.clone());
            group.joins.push(open_group(&dir.join("cgroup.procs"), libc::O_WRONLY)?);
        }
        Ok(group)
    }

    fn under(parent: &Path, unified: bool) -> io::Result<JobGroup> {
        Ok(JobGroup {
            cpu_dir: make_dir(parent)?,
            unified,
            cpu_file: OnceCell::new(),
            memory_dir: None,
            birthplace: None,
            joins: Vec::new(),
            made_at: Instant::now(),
            is_left: false,
        })
    }

    /// The group to clone a child into; `None` on v1.
    pub fn birthplace(&self) -> Option<&OwnedFd> {
        self.birthplace.as_ref()
    }

    /// Files that a child joins by, one for each hierarchy.
    pub fn joins(&self) -> &[OwnedFd] {
        &self.joins
    }

    /// For kernels where a child cannot be born into the group: it joins instead.
    pub fn open_joins(&mut self) -> io::Result<()> {
        self.joins.push(open_group(&self.cpu_dir.join("cgroup.procs"), libc::O_WRONLY)?);
        Ok(())
    }

    /// Whether one small read tells how much CPU time the whole job has used.
    pub fn holds_all_cheaply(&self) -> bool {
        self.unified && !self.is_left
    }

    /// CPU time by the group's own count.
    pub fn cpu(&self) -> Option<GroupCpu> {
        if self.unified {
            let file =
                self.cpu_file.get_or_init(|| open_group(&self.cpu_dir.join("cpu.stat"), libc::O_RDONLY).ok());
            let mut buffer = [0; SMALL];
            let length = sys::pread(file.as_ref()?.as_raw_fd(), &mut buffer, 0).ok()?;
            let us =
                |key: &[u8]| lines(&buffer[..length]).find_map(|line| keyed(line, key)).map(|us| us * 1000);
            Some(GroupCpu {
                total_ns: us(b"usage_usec ")?,
                user_ns: us(b"user_usec "),
                system_ns: us(b"system_usec "),
            })
        } else {
            let total_ns = read_number(&self.cpu_dir.join("cpuacct.usage"))?;
            Some(GroupCpu { total_ns, user_ns: None, system_ns: None })
        }
    }

    /// A process of the job may have left the group, or have started others elsewhere.
    pub fn note_left(&mut self) {
        self.is_left = true;
    }

    /// Peak memory by the kernel: page cache, shared memory and kernel memory included. `None` where the group does not
    /// hold the whole job.
    pub fn memory_peak_bytes(&self) -> Option<u64> {
        let dir = self.memory_dir.as_ref().filter(|_| !self.is_left)?;
        read_number(&dir.join("memory.peak")).or_else(|| read_number(&dir.join("memory.max_usage_in_bytes")))
    }

    /// Whether memory, and OOM kills with it, are counted in this group.
    pub fn counts_memory(&self) -> bool {
        self.memory_dir.is_some()
    }

    /// OOM kills in the group.
    pub fn oom_kills(&self) -> Option<u64> {
        let dir = self.memory_dir.as_ref()?;
        read_key(&dir.join("memory.events"), b"oom_kill ")
            .or_else(|| read_key(&dir.join("memory.oom_control"), b"oom_kill "))
    }

    /// Stops all of the group at once: nothing escapes by forking.
    pub fn kill(&self) -> bool {
        self.unified && fs::write(self.cpu_dir.join("cgroup.kill"), "1").is_ok()
    }

    /// What it is, for the list of sources.
    pub fn detail(&self) -> String {
        let version = if self.unified { "v2" } else { "v1" };
        let memory = if self.memory_dir.is_some() { " with memory peak" } else { "" };
        format!("{version} group of the job's own{memory}")
    }
}

impl Drop for JobGroup {
    fn drop(&mut self) {
        self.joins.clear();
        let memory = self.memory_dir.take().filter(|dir| *dir != self.cpu_dir);
        for dir in std::iter::once(&self.cpu_dir).chain(&memory) {
            remove_group(dir);
            // A meter that was killed could not tidy up; runs that took their time do it for them.
            if self.made_at.elapsed() > TIDY_AFTER {
                remove_abandoned(dir.parent());
            }
        }
    }
}

/// Empty groups of meters that are gone.
fn remove_abandoned(parent: Option<&Path>) {
    for entry in parent.and_then(|parent| fs::read_dir(parent).ok()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix("jobmeter-"));
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            // Not empty when its job lives on: then it stays.
            drop(fs::remove_dir(entry.path()));
        }
    }
}

/// Whoever is left goes back to the group we came from; then the empty group can go.
fn remove_group(dir: &Path) {
    for _attempt in 0..4 {
        if fs::remove_dir(dir).is_ok() {
            return;
        }
        let Some(parent) = dir.parent() else { return };
        let members = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
        for pid in members.lines() {
            if let Ok(mut procs) = fs::OpenOptions::new().write(true).open(parent.join("cgroup.procs")) {
                // A member that ended meanwhile cannot be moved and need not be.
                drop(procs.write_all(pid.as_bytes()));
            }
        }
    }
}

fn make_dir(parent: &Path) -> io::Result<PathBuf> {
    let dir = parent.join(format!("jobmeter-{}", std::process::id()));
    match fs::create_dir(&dir) {
        // Left behind by a killed meter whose pid came round again: ours to use when empty.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_dir(&dir)?;
            fs::create_dir(&dir)?;
        }
        other => other?,
    }
    Ok(dir)
}

fn open_group(path: &Path, how: libc::c_int) -> io::Result<OwnedFd> {
    let path = CString::new(path.as_os_str().as_encoded_bytes())?;
    // SAFETY: `path` is NUL-terminated; a fresh descriptor is ours to own.
    unsafe {
        let fd = sys::check(libc::open(path.as_ptr(), how | libc::O_CLOEXEC))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}
