//! Which groups a process is in, and the limits that bind it there.

use super::mount::Mount;
use super::{SMALL, read_key, read_number};
use crate::linux::proc::scan::number;
use crate::linux::sys;
use jobmeter_model::summary::Limits;
use jobmeter_model::verdict::ReachedLimit;
use std::path::{Path, PathBuf};

/// Where the groups of a process live, by hierarchy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Membership {
    /// In the unified hierarchy, v2.
    pub unified: Option<PathBuf>,
    /// In v1's cpuacct.
    pub cpuacct: Option<PathBuf>,
    /// In v1's cpu.
    pub cpu: Option<PathBuf>,
    /// In v1's memory.
    pub memory: Option<PathBuf>,
    /// A group of the process is not among what is mounted: its place is the top, which is not where it lives.
    pub is_outside: bool,
    /// Mount points, where the walk upwards ends.
    mounts: Vec<PathBuf>,
    /// As the kernel lists them.
    listed: String,
}

impl Membership {
    /// Of `pid` (`self` works too) as seen under `root`.
    pub fn read(root: &Path, pid: &str) -> Membership {
        Membership::listed(groups_of(root, pid), root, pid)
    }

    /// Of `pid`, where it is in other groups than these.
    pub(crate) fn read_elsewhere(&self, root: &Path, pid: &str) -> Option<Membership> {
        let groups = groups_of(root, pid);
        (groups != self.listed).then(|| Membership::listed(groups, root, pid))
    }

    fn listed(groups: String, root: &Path, pid: &str) -> Membership {
        let membership = Membership::at_usual_places(&groups, root)
            .unwrap_or_else(|| Membership::by_mounts(&groups, &mounts_of(root, pid), root));
        Membership { listed: groups, ..membership }
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
            if path.contains("..") || !dir.is_dir() {
                return None;
            }
            membership.take(controllers, dir);
            membership.mounts.push(mount);
        }
        (!membership.mounts.is_empty()).then_some(membership)
    }

    /// In containers only a part of a hierarchy may be mounted: the group is looked for there.
    fn by_mounts(groups: &str, mountinfo: &str, root: &Path) -> Membership {
        let mounts: Vec<Mount> = mountinfo.lines().filter_map(Mount::parse).collect();
        let mut membership = Membership::default();
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
            let Some(mount) = mounts.iter().find(|mount| mount.serves(controllers)) else { continue };
            // The limits of the top bind a group that cannot be seen, too.
            let folder = mount.folder(root, path);
            membership.is_outside |= folder.is_none();
            membership.take(controllers, folder.unwrap_or_else(|| mount.at(root)));
            membership.mounts.push(mount.at(root));
        }
        membership
    }

    fn take(&mut self, controllers: &str, dir: PathBuf) {
        for name in controllers.split(',') {
            let slot = match name {
                "" => &mut self.unified,
                "cpuacct" => &mut self.cpuacct,
                "cpu" => &mut self.cpu,
                "memory" => &mut self.memory,
                _ => continue,
            };
            *slot = Some(dir.clone());
        }
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

impl Membership {
    /// The limit nearest to the group that was reached: v2 counts it as `oom`, v1 as a failed charge at the limit.
    pub fn reached_limit(&self) -> Option<ReachedLimit> {
        let reached =
            |dir: &Path, bytes: u64| ReachedLimit { bytes, group: dir.to_string_lossy().into_owned() };
        let unified = self.unified.iter().flat_map(|dir| self.path_upwards(dir)).find_map(|dir| {
            let bytes = read_number(&dir.join("memory.max"))?;
            let times = read_key(&dir.join("memory.events"), b"oom ")?;
            (times > 0).then(|| reached(dir, bytes))
        });
        unified.or_else(|| {
            self.memory.iter().flat_map(|dir| self.path_upwards(dir)).find_map(|dir| {
                // The kernel charges in batches: the highest use stays a little below.
                const BATCH_BYTES: u64 = 1 << 20;
                let bytes = read_number(&dir.join("memory.limit_in_bytes"))?;
                let failed = read_number(&dir.join("memory.failcnt"))?;
                let most_bytes = read_number(&dir.join("memory.max_usage_in_bytes"))?;
                (failed > 0 && most_bytes + BATCH_BYTES >= bytes).then(|| reached(dir, bytes))
            })
        })
    }
}

/// The group in each hierarchy.
pub(super) fn groups_of(root: &Path, pid: &str) -> String {
    let text = sys::read_whole(&root.join(format!("proc/{pid}/cgroup"))).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}

fn mounts_of(root: &Path, pid: &str) -> String {
    let text = sys::read_whole(&root.join(format!("proc/{pid}/mountinfo"))).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}

/// Where the unified hierarchy is mounted, if at one of its usual places.
pub(super) fn usual_unified_mount(root: &Path) -> Option<PathBuf> {
    const CGROUP2_MAGIC: i64 = 0x6367_7270;
    let places = ["sys/fs/cgroup", "sys/fs/cgroup/unified"].map(|place| root.join(place));
    places.into_iter().find(|place| sys::file_system_magic(place) == Some(CGROUP2_MAGIC))
}

#[cfg(test)]
#[path = "membership_tests.rs"]
mod tests;
