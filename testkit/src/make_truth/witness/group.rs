//! Control groups that the harness puts the job into, below whatever group it is in: the kernel counts CPU time
//! and memory of everybody in them, also of processes that nobody waits for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One group in one hierarchy.
pub(crate) struct Group {
    pub path: PathBuf,
    pub unified: bool,
}

impl Group {
    /// Makes a group below the present one of `pid` in the hierarchy of a v1 controller, or in the v2 hierarchy
    /// where that controller is not mounted as v1, and moves the process into it.
    pub(crate) fn adopt(pid: i32, controller: &str, name: &str) -> io::Result<Group> {
        let group = Group::below(&pid.to_string(), controller, name)?;
        fs::write(group.path.join("cgroup.procs"), pid.to_string())?;
        Ok(group)
    }

    /// Makes a group below the one of a process; nobody is in it yet.
    pub(crate) fn below(pid: &str, controller: &str, name: &str) -> io::Result<Group> {
        let (folder, unified) = Group::folder(pid, controller)?;
        let path = folder.join(name);
        fs::create_dir(&path)?;
        Ok(Group { path, unified })
    }

    /// The present group of a process, and whether it is one of v2.
    fn folder(pid: &str, controller: &str) -> io::Result<(PathBuf, bool)> {
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        let member = fs::read_to_string(format!("/proc/{pid}/cgroup"))?;
        let (mount, inside, unified) = match mount_of(&mounts, controller) {
            Some(mount) => (mount, path_of(&member, controller), false),
            None => {
                let mount = mount_of(&mounts, "").ok_or_else(|| io::Error::other("no cgroup is mounted"))?;
                (mount, path_of(&member, ""), true)
            }
        };
        let inside = inside.ok_or_else(|| io::Error::other("the process is in no group"))?;
        Ok((mount.join(inside.trim_start_matches('/')), unified))
    }

    /// Removes what a harness that was killed left behind below our own group: groups with nobody in them.
    pub(crate) fn tidy() {
        for controller in ["cpuacct", "memory", "unified"] {
            let Ok(own) = Group::folder("self", controller) else { continue };
            for entry in fs::read_dir(own.0).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let pid =
                    name.strip_prefix("truth-").and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
                if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
                    // Fails, and rightly so, if a job is still in it.
                    let _ = fs::remove_dir(entry.path());
                }
            }
        }
    }

    pub(crate) fn number(&self, file: &str) -> Option<u64> {
        fs::read_to_string(self.path.join(file)).ok()?.trim().parse().ok()
    }

    fn keyed(&self, file: &str, key: &str) -> Option<u64> {
        let text = fs::read_to_string(self.path.join(file)).ok()?;
        text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
    }

    /// CPU time in nanoseconds. v1 counts nanoseconds, v2 shows microseconds.
    pub(crate) fn cpu_ns(&self) -> Option<u64> {
        if self.unified {
            self.keyed("cpu.stat", "usage_usec ").map(|us| us * 1000)
        } else {
            self.number("cpuacct.usage")
        }
    }

    /// The file in which a job can read its own CPU time.
    pub(crate) fn cpu_file(&self) -> PathBuf {
        self.path.join(if self.unified { "cpu.stat" } else { "cpuacct.usage" })
    }

    /// User time by the group, by each of the ways in which the kernel tells it.
    pub(crate) fn user_ns(&self) -> Vec<u64> {
        if self.unified {
            return self.keyed("cpu.stat", "user_usec ").map(|us| us * 1000).into_iter().collect();
        }
        let ticks = self.keyed("cpuacct.stat", "user ").map(|ticks| ticks * 10_000_000);
        [ticks, self.number("cpuacct.usage_user")].into_iter().flatten().collect()
    }

    /// The highest charge: anonymous and shared memory, page cache that the job brought in, kernel memory.
    pub(crate) fn memory_peak_bytes(&self) -> Option<u64> {
        self.number(if self.unified { "memory.peak" } else { "memory.max_usage_in_bytes" })
    }

    pub(crate) fn limit_memory(&self, bytes: u64) -> io::Result<()> {
        let file = if self.unified { "memory.max" } else { "memory.limit_in_bytes" };
        fs::write(self.path.join(file), bytes.to_string())
    }

    pub(crate) fn processes(&self) -> Vec<i32> {
        let text = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

impl Drop for Group {
    /// A group can be removed when the last task in it has been freed, which is a moment after its end.
    fn drop(&mut self) {
        let start = Instant::now();
        while fs::remove_dir(&self.path).is_err() && start.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn mount_of(mounts: &str, controller: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split(' ');
        let kind = right.next()?;
        let options = right.nth(1)?;
        let fits = match controller {
            "" => kind == "cgroup2",
            _ => kind == "cgroup" && options.split(',').any(|option| option == controller),
        };
        fits.then(|| Path::new(left.split(' ').nth(4).unwrap_or_default()).to_owned())
    })
}

fn path_of<'a>(member: &'a str, controller: &str) -> Option<&'a str> {
    member.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let controllers = parts.nth(1)?;
        let path = parts.next()?;
        let fits = match controller {
            "" => controllers.is_empty(),
            _ => controllers.split(',').any(|name| name == controller),
        };
        fits.then_some(path)
    })
}
