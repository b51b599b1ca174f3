//! A group that somebody else made: who is in it and in the groups below it, and what it has used. It is only read.

use super::{SMALL, read_key, read_number};
use crate::linux::perf_clock::InheritedClocks;
use crate::linux::proc::root::ProcRoot;
use crate::linux::proc::scan::{lines, number};
use crate::linux::sys;
use std::fs;
use std::path::{Path, PathBuf};

/// Groups below a group that are looked at, at most: a job step has a few, and nobody nests thousands.
const MOST_GROUPS: usize = 256;

/// What a group has used, and its members.
pub struct WatchedGroup {
    dir: PathBuf,
    /// CPU time by its own count when it was first watched; a group that the job made starts at 0. `None` where the count
    /// could not be read then.
    base_cpu_ns: Option<u64>,
    /// As last read: the group may be gone before the end.
    cpu_ns: Option<u64>,
    /// They go on to tell of the members when the group is gone, which it may be before anybody could read it.
    clocks: InheritedClocks,
}

impl WatchedGroup {
    /// A group whose use counts from now on.
    pub fn from_now(dir: PathBuf) -> WatchedGroup {
        let cpu_ns = cpu_ns_of(&dir);
        WatchedGroup { dir, base_cpu_ns: cpu_ns, cpu_ns, clocks: InheritedClocks::default() }
    }

    /// A group that was made for the job: all that it has used counts.
    pub fn from_birth(dir: PathBuf) -> WatchedGroup {
        WatchedGroup { base_cpu_ns: Some(0), ..WatchedGroup::from_now(dir) }
    }

    /// Its folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Pids of all members, in ascending order, and the group's own count of their time.
    pub fn read(&mut self, found: &mut Vec<i32>) {
        self.read_cpu();
        members_of(&self.dir, &mut MOST_GROUPS.clone(), found);
        found.sort_unstable();
    }

    /// Counts the time of the members by clocks of their own too, where the kernel gives them to us.
    pub fn open_clocks(&mut self) {
        let mut pids = Vec::new();
        self.read(&mut pids);
        if let Some(cpu_ns) = self.cpu_ns {
            self.clocks = InheritedClocks::open(cpu_ns, pids.into_iter());
        }
    }

    /// The count alone.
    pub fn read_cpu(&mut self) {
        self.cpu_ns = cpu_ns_of(&self.dir).max(self.cpu_ns);
    }

    /// CPU time since the group was first watched, as last read; `None` where the group does not count it.
    pub fn used_cpu_ns(&self) -> Option<u64> {
        let cpu_ns = self.cpu_ns?.max(self.clocks.total_ns().unwrap_or(0));
        Some(cpu_ns.saturating_sub(self.base_cpu_ns?))
    }
}

/// The most that a group has held, page cache and kernel memory included.
pub fn memory_peak_of(dir: &Path) -> Option<u64> {
    ["memory.peak", "memory.max_usage_in_bytes"].into_iter().find_map(|name| read_number(&dir.join(name)))
}

/// v2 counts time in every group; v1 in the hierarchy of `cpuacct`.
fn cpu_ns_of(dir: &Path) -> Option<u64> {
    let usage_us = || read_key(&dir.join("cpu.stat"), b"usage_usec ");
    read_number(&dir.join("cpuacct.usage")).or_else(|| usage_us().map(|us| us * 1000))
}

fn members_of(dir: &Path, groups_left: &mut usize, found: &mut Vec<i32>) {
    if *groups_left == 0 {
        return;
    }
    *groups_left -= 1;
    if let Ok(text) = sys::read_whole(&dir.join("cgroup.procs")) {
        // A process outside of our PID namespace is shown as 0.
        let pids = lines(&text).filter_map(number).filter_map(|(pid, _)| i32::try_from(pid).ok());
        found.extend(pids.filter(|pid| *pid > 0));
    }
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            members_of(&entry.path(), groups_left, found);
        }
    }
}

/// Whether `dir` is a group: a folder in which the kernel lists its members.
fn is_group(dir: &Path) -> bool {
    dir.join("cgroup.procs").is_file()
}

/// The group that `path` names: a folder below `/sys/fs/cgroup`, or a path as `/proc/PID/cgroup` shows it, which is
/// looked for in the hierarchies that count CPU time first.
pub fn group_at(path: &Path) -> Result<PathBuf, String> {
    let inside = path.strip_prefix("/").unwrap_or(path);
    let base = Path::new("/sys/fs/cgroup");
    let places = ["", "cpuacct", "cpu,cpuacct", "unified", "memory", "pids", "systemd"];
    let is_plain = !inside.as_os_str().is_empty()
        && inside.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let tried = std::iter::once(path.to_owned()).chain(places.map(|place| base.join(place).join(inside)));
    let is_own_place = |dir: &Path| dir.is_absolute() && is_group(dir);
    match tried.filter(|_| is_plain).find(|dir| is_own_place(dir)) {
        Some(dir) => Ok(dir),
        None => Err(format!(
            "'{}' is no control group; write a folder below /sys/fs/cgroup, or a path as /proc/PID/cgroup shows it",
            path.display()
        )),
    }
}

/// The group of which `is_wanted` accepts one part of its path, found by the processes in it: of the hierarchies that
/// have it, the one that counts CPU time. Groups without a process are not found.
pub fn group_named(proc: ProcRoot, is_wanted: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let mut pids = Vec::new();
    proc.list_processes(&mut vec![0; 16 * 1024], |pid| pids.push(pid)).ok()?;
    pids.into_iter().find_map(|pid| group_of_process(proc, pid, &is_wanted))
}

/// As [`group_named`], of one process.
pub fn group_of_process(proc: ProcRoot, pid: i32, is_wanted: impl Fn(&str) -> bool) -> Option<PathBuf> {
    group_with(proc, pid, "cpuacct", is_wanted)
}

/// As [`group_of_process`], in the hierarchy of another v1 controller where there is one.
pub fn group_with(
    proc: ProcRoot,
    pid: i32,
    controller: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Option<PathBuf> {
    let mut buffer = [0; 2 * SMALL];
    let length = proc.read(pid, "cgroup", &mut buffer).ok()?;
    let text = std::str::from_utf8(&buffer[..length]).ok()?;
    let mut found: Option<(PathBuf, u32)> = None;
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let Some(group) = up_to_wanted(path, &is_wanted) else { continue };
        let rank = match controllers {
            _ if controllers.split(',').any(|own| own == controller) => 3,
            "" => 2,
            _ => 1,
        };
        if found.as_ref().is_none_or(|(_, best)| rank > *best)
            && let Some(dir) = place_of(controllers, group)
        {
            found = Some((dir, rank));
        }
    }
    found.map(|(dir, _)| dir)
}

/// The beginning of `path` up to its first part that is wanted.
fn up_to_wanted<'path>(path: &'path str, is_wanted: &impl Fn(&str) -> bool) -> Option<&'path str> {
    let mut end = 0;
    for part in path.split('/') {
        end += part.len();
        if !part.is_empty() && is_wanted(part) {
            return Some(&path[..end]);
        }
        end += 1;
    }
    None
}

/// Where a group is mounted, if at one of the usual places.
fn place_of(controllers: &str, group: &str) -> Option<PathBuf> {
    let base = Path::new("/sys/fs/cgroup");
    let inside = group.trim_start_matches('/');
    let places = match controllers {
        "" => vec![base.to_owned(), base.join("unified")],
        _ => vec![base.join(controllers.trim_start_matches("name="))],
    };
    places.into_iter().map(|place| place.join(inside)).find(|dir| !inside.contains("..") && is_group(dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_ends_at_the_part_that_is_wanted() {
        let wanted = |part: &str| part == "job_7";
        assert_eq!(up_to_wanted("/slurm/uid_0/job_7/step_0", &wanted), Some("/slurm/uid_0/job_7"));
        assert_eq!(up_to_wanted("/slurm/job_7", &wanted), Some("/slurm/job_7"));
        assert_eq!(up_to_wanted("/slurm/job_77/step_0", &wanted), None);
        assert_eq!(up_to_wanted("/", &wanted), None);
    }

    #[test]
    fn what_is_no_group_is_refused() {
        for path in ["/", "", "/tmp", "/sys/fs/cgroup/../..", "nowhere-at-all", "../x"] {
            let refusal = group_at(Path::new(path)).expect_err(path);
            assert!(refusal.contains("no control group"), "{refusal}");
        }
    }

    #[test]
    fn members_of_groups_below_are_found_and_sorted() {
        let top = std::env::temp_dir().join(format!("jobmeter-watched-{}", std::process::id()));
        let below = top.join("step_0/task_0");
        fs::create_dir_all(&below).expect("folders");
        fs::write(top.join("cgroup.procs"), "400\n0\n").expect("a list");
        fs::write(below.join("cgroup.procs"), "31\n7\n").expect("a list");
        fs::write(top.join("cpu.stat"), "usage_usec 1500\nuser_usec 1000\n").expect("a count");
        let mut group = WatchedGroup::from_now(top.clone());
        fs::write(top.join("cpu.stat"), "usage_usec 4500\nuser_usec 1000\n").expect("a count");
        let mut found = Vec::new();
        group.read(&mut found);
        assert_eq!(found, [7, 31, 400]);
        assert_eq!(group.used_cpu_ns(), Some(3_000_000));
        fs::remove_dir_all(&top).expect("ours");
        group.read_cpu();
        assert_eq!(group.used_cpu_ns(), Some(3_000_000), "what was read stays");
    }
}
