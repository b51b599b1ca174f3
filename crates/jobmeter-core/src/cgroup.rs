//! Control groups, v1 and v2: the limits that bind a job, and a group of its own where one may be made. The
//! group's counters miss nobody, not even children that are reaped into nobody's account.

use crate::probe::mounts;
use crate::probe::scan::{keyed, lines, number};
use crate::summary::Limits;
use crate::sys;
use std::cell::OnceCell;
use std::ffi::CString;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes that any of the files here fits into.
const SMALL: usize = 2048;

/// Where the groups of a process live, by hierarchy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Membership {
    pub unified: Option<PathBuf>,
    pub cpuacct: Option<PathBuf>,
    pub cpu: Option<PathBuf>,
    pub memory: Option<PathBuf>,
    /// Mount points, where the walk upwards ends.
    mounts: Vec<PathBuf>,
}

impl Membership {
    /// Of `pid` (`self` works too) as seen under `root`.
    pub fn read(root: &Path, pid: &str) -> Membership {
        let groups = groups_of(root, pid);
        Membership::at_usual_places(&groups, root)
            .unwrap_or_else(|| Membership::parse(&groups, &mounts::table(root), root))
    }

    /// Where nearly every machine mounts them; `None` when one of the groups is not found there. The mount table
    /// costs as much as all the rest.
    fn at_usual_places(groups: &str, root: &Path) -> Option<Membership> {
        let mut membership = Membership::default();
        let base = root.join("sys/fs/cgroup");
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
            let wanted = |name: &str| controllers.split(',').any(|own| own == name);
            let mount = match controllers {
                "" => usual_unified_mount(root)?,
                _ if ["cpu", "cpuacct", "memory"].into_iter().any(wanted) => base.join(controllers),
                _ => continue,
            };
            let dir = mount.join(path);
            if !dir.is_dir() {
                return None;
            }
            if controllers.is_empty() {
                membership.unified = Some(dir.clone());
            }
            for (name, slot) in [
                ("cpuacct", &mut membership.cpuacct),
                ("cpu", &mut membership.cpu),
                ("memory", &mut membership.memory),
            ] {
                if wanted(name) {
                    *slot = Some(dir.clone());
                }
            }
            membership.mounts.push(mount);
        }
        (!membership.mounts.is_empty()).then_some(membership)
    }

    fn parse(groups: &str, mounts: &str, root: &Path) -> Membership {
        let mut membership = Membership::default();
        for mount in mounts.lines().filter(|line| line.contains(" cgroup")) {
            let words: Vec<&str> = mount.split(' ').collect();
            let [_, at, kind, options, ..] = words[..] else { continue };
            let at = root.join(at.trim_start_matches('/'));
            for group in groups.lines() {
                let mut parts = group.splitn(3, ':').skip(1);
                let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
                let dir = at.join(path.trim_start_matches('/'));
                let serves = |name: &str| {
                    controllers.split(',').any(|own| own == name) && options.split(',').any(|own| own == name)
                };
                let slot = match kind {
                    "cgroup2" if controllers.is_empty() => &mut membership.unified,
                    "cgroup" if serves("cpuacct") => &mut membership.cpuacct,
                    "cgroup" if serves("memory") => &mut membership.memory,
                    "cgroup" if serves("cpu") => &mut membership.cpu,
                    _ => continue,
                };
                if dir.is_dir() {
                    slot.get_or_insert(dir.clone());
                    if kind == "cgroup" && serves("cpu") {
                        membership.cpu.get_or_insert(dir);
                    }
                }
            }
            membership.mounts.push(at);
        }
        membership
    }

    /// From the group itself up to the mount point.
    fn path_upwards<'a>(&'a self, dir: &'a Path) -> impl Iterator<Item = &'a Path> {
        let mount = self
            .mounts
            .iter()
            .filter(|mount| dir.starts_with(mount))
            .max_by_key(|mount| mount.as_os_str().len());
        dir.ancestors().take_while(move |ancestor| mount.is_some_and(|mount| ancestor.starts_with(mount)))
    }

    /// The tightest limits on the way up.
    pub fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        let mut memory = |bytes: Option<u64>| {
            // v1 writes "no limit" as a huge page-aligned number.
            let bytes = bytes.filter(|bytes| *bytes < 1 << 60);
            limits.cgroup_memory_bytes = match (limits.cgroup_memory_bytes, bytes) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        };
        let mut cores: Option<f64> = None;
        let mut quota = |quota_us: Option<u64>, period_us: Option<u64>| {
            if let (Some(quota_us), Some(period_us)) = (quota_us, period_us.filter(|period| *period > 0)) {
                let own = quota_us as f64 / period_us as f64;
                cores = Some(cores.map_or(own, |least| least.min(own)));
            }
        };
        if let Some(dir) = &self.unified {
            for dir in self.path_upwards(dir) {
                memory(read_number(&dir.join("memory.max")));
                if let Ok(text) = sys::read_small(&dir.join("cpu.max"), &mut [0; SMALL]) {
                    let first = number(text);
                    quota(
                        first.map(|(value, _)| value),
                        first.and_then(|(_, rest)| number(rest)).map(|(v, _)| v),
                    );
                }
            }
        }
        for dir in self.memory.iter().flat_map(|dir| self.path_upwards(dir)) {
            memory(read_number(&dir.join("memory.limit_in_bytes")));
        }
        for dir in self.cpu.iter().flat_map(|dir| self.path_upwards(dir)) {
            quota(read_number(&dir.join("cpu.cfs_quota_us")), read_number(&dir.join("cpu.cfs_period_us")));
        }
        limits.cgroup_cores = cores;
        limits
    }

    /// OOM kills counted so far in the group, v2 or v1.
    pub fn oom_kills(&self) -> Option<u64> {
        let v2 = self.unified.as_ref().and_then(|dir| read_key(&dir.join("memory.events"), b"oom_kill "));
        v2.or_else(|| {
            self.memory.as_ref().and_then(|dir| read_key(&dir.join("memory.oom_control"), b"oom_kill "))
        })
    }
}

/// The group in each hierarchy.
fn groups_of(root: &Path, pid: &str) -> String {
    let text = sys::read_whole(&root.join(format!("proc/{pid}/cgroup"))).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}

/// Where the unified hierarchy is mounted, if at one of its usual places.
fn usual_unified_mount(root: &Path) -> Option<PathBuf> {
    const CGROUP2_MAGIC: i64 = 0x6367_7270;
    let places = ["sys/fs/cgroup", "sys/fs/cgroup/unified"].map(|place| root.join(place));
    places.into_iter().find(|place| sys::file_system_magic(place) == Some(CGROUP2_MAGIC))
}

/// Our own group in the unified hierarchy, without reading the mount table: the job waits for this.
fn usual_unified() -> Option<PathBuf> {
    let root = Path::new("/");
    let groups = groups_of(root, "self");
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
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
    pub total_ns: u64,
    pub user_ns: Option<u64>,
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
        })
    }

    pub fn birthplace(&self) -> Option<&OwnedFd> {
        self.birthplace.as_ref()
    }

    pub fn joins(&self) -> &[OwnedFd] {
        &self.joins
    }

    /// For kernels where a child cannot be born into the group: it joins instead.
    pub fn open_joins(&mut self) -> io::Result<()> {
        self.joins.push(open_group(&self.cpu_dir.join("cgroup.procs"), libc::O_WRONLY)?);
        Ok(())
    }

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

    /// Peak memory by the kernel: page cache, shared memory and kernel memory included.
    pub fn memory_peak_bytes(&self) -> Option<u64> {
        let dir = self.memory_dir.as_ref()?;
        read_number(&dir.join("memory.peak")).or_else(|| read_number(&dir.join("memory.max_usage_in_bytes")))
    }

    pub fn oom_kills(&self) -> Option<u64> {
        let dir = self.memory_dir.as_ref()?;
        read_key(&dir.join("memory.events"), b"oom_kill ")
            .or_else(|| read_key(&dir.join("memory.oom_control"), b"oom_kill "))
    }

    /// Stops all of the group at once: nothing escapes by forking.
    pub fn kill(&self) -> bool {
        self.unified && fs::write(self.cpu_dir.join("cgroup.kill"), "1").is_ok()
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    fn fake(files: &[(&str, &str)]) -> tempdir::Fake {
        tempdir::Fake::new(files)
    }

    /// A throw-away root on disk.
    mod tempdir {
        use std::path::PathBuf;
        use std::sync::atomic::{AtomicU32, Ordering};

        pub(super) struct Fake(pub PathBuf);

        impl Fake {
            pub(super) fn new(files: &[(&str, &str)]) -> Fake {
                static NEXT: AtomicU32 = AtomicU32::new(0);
                let serial = NEXT.fetch_add(1, Ordering::Relaxed);
                let root =
                    std::env::temp_dir().join(format!("jobmeter-cgroup-{}-{serial}", std::process::id()));
                for (path, text) in files {
                    let path = root.join(path);
                    std::fs::create_dir_all(path.parent().expect("has a parent")).expect("mkdir");
                    std::fs::write(path, text).expect("write");
                }
                Fake(root)
            }
        }

        impl Drop for Fake {
            fn drop(&mut self) {
                drop(std::fs::remove_dir_all(&self.0));
            }
        }
    }

    #[test]
    fn the_tightest_limit_of_a_v2_path_wins() {
        let root = fake(&[
            ("proc/self/cgroup", "0::/a/b\n"),
            ("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/a/memory.max", "8589934592\n"),
            ("sys/fs/cgroup/a/cpu.max", "250000 100000\n"),
            ("sys/fs/cgroup/memory.max", "17179869184\n"),
        ]);
        let limits = Membership::read(&root.0, "self").limits();
        assert_eq!(limits.cgroup_memory_bytes, Some(8 << 30));
        assert_eq!(limits.cgroup_cores, Some(2.5));
    }

    #[test]
    fn v1_hierarchies_and_no_limit() {
        let root = fake(&[
            ("proc/self/cgroup", "4:memory:/job\n3:cpu,cpuacct:/job\n0::/\n"),
            (
                "proc/self/mounts",
                "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\n",
            ),
            ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"),
            ("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "150000\n"),
            ("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ]);
        let membership = Membership::read(&root.0, "self");
        let limits = membership.limits();
        assert_eq!((limits.cgroup_memory_bytes, limits.cgroup_cores), (None, Some(1.5)));
        assert_eq!(membership.oom_kills(), Some(3));
    }
}
