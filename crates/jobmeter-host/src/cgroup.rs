//! Memory and CPU limits of a process's control groups, version 1 and 2, lowest on the path.
//!
//! A limit anywhere between the process's group and the top of the visible tree binds, so the whole path is
//! walked and the least value wins. The module needs a root and nothing else of this crate's types.

use crate::root::read_text;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CgroupLimits {
    /// `memory.max`, or `memory.limit_in_bytes`.
    pub memory_bytes: Option<u64>,
    /// `cpu.max`, or `cpu.cfs_quota_us / cpu.cfs_period_us`.
    pub cores: Option<f64>,
}

/// Version 1 writes "no limit" as the largest page-aligned i64; nothing real comes near this.
const UNLIMITED_V1: u64 = 1 << 60;

/// Limits of process `pid` (a number or `self`) below `root`.
pub fn read(root: &Path, pid: &str) -> CgroupLimits {
    let memberships = read_text(&root.join("proc").join(pid).join("cgroup")).unwrap_or_default();
    let mounts = read_text(&root.join("proc").join(pid).join("mountinfo")).unwrap_or_default();
    let mut limits = CgroupLimits::default();
    for line in memberships.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let Some(mount) = mounts.lines().filter_map(Mount::parse).find(|mount| mount.serves(controllers))
        else {
            continue;
        };
        for folder in mount.folders(root, path) {
            limits.take(&folder, controllers);
        }
    }
    limits
}

impl CgroupLimits {
    fn take(&mut self, folder: &Path, controllers: &str) {
        let has = |name| controllers.split(',').any(|controller| controller == name);
        if controllers.is_empty() {
            lower(&mut self.memory_bytes, one_number(folder, "memory.max"));
            lower_f64(&mut self.cores, quota_v2(folder));
        }
        if has("memory") {
            let bytes = one_number(folder, "memory.limit_in_bytes").filter(|bytes| *bytes < UNLIMITED_V1);
            lower(&mut self.memory_bytes, bytes);
        }
        if has("cpu") {
            lower_f64(&mut self.cores, quota_v1(folder));
        }
    }
}

struct Mount {
    /// Which part of the hierarchy is mounted: not `/` in containers without a cgroup namespace.
    top: String,
    point: String,
    /// Empty for version 2.
    controllers: String,
    version_2: bool,
}

impl Mount {
    /// `36 35 0:31 /top /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory`
    fn parse(line: &str) -> Option<Mount> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (top, point) = (unescape(place.next()?), unescape(place.next()?));
        let mut kind = kind.split(' ');
        let version_2 = match kind.next()? {
            "cgroup" => false,
            "cgroup2" => true,
            _ => return None,
        };
        let controllers = kind.nth(1).unwrap_or("").to_owned();
        Some(Mount { top, point, controllers, version_2 })
    }

    fn serves(&self, controllers: &str) -> bool {
        if controllers.is_empty() || self.version_2 {
            return controllers.is_empty() && self.version_2;
        }
        controllers.split(',').all(|wanted| self.controllers.split(',').any(|option| option == wanted))
    }

    /// The folders from the process's own group up to the mount point.
    fn folders(&self, root: &Path, path: &str) -> Vec<PathBuf> {
        let base = root.join(self.point.trim_start_matches('/'));
        let inside = match path.strip_prefix(self.top.trim_end_matches('/')) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
            // The group lies outside of what is mounted here: only the top itself can be read.
            _ => "",
        };
        let parts: Vec<&str> = inside.split('/').filter(|part| !part.is_empty() && *part != "..").collect();
        (0..=parts.len())
            .rev()
            .map(|depth| parts[..depth].iter().fold(base.clone(), |folder, part| folder.join(part)))
            .collect()
    }
}

/// mountinfo writes space, tab, newline and backslash as three octal digits.
fn unescape(field: &str) -> String {
    ["\\040", "\\011", "\\012", "\\134"]
        .iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(field.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

fn one_number(folder: &Path, name: &str) -> Option<u64> {
    read_text(&folder.join(name))?.trim().parse().ok()
}

fn quota_v2(folder: &Path) -> Option<f64> {
    let text = read_text(&folder.join("cpu.max"))?;
    let mut fields = text.split_whitespace();
    let quota: u64 = fields.next()?.parse().ok()?;
    let period: u64 = fields.next().map_or(Some(100_000), |period| period.parse().ok())?;
    (period > 0).then(|| quota as f64 / period as f64)
}

fn quota_v1(folder: &Path) -> Option<f64> {
    // A quota of -1 means none and does not parse as unsigned.
    let quota = one_number(folder, "cpu.cfs_quota_us")?;
    let period = one_number(folder, "cpu.cfs_period_us").filter(|period| *period > 0)?;
    Some(quota as f64 / period as f64)
}

fn lower(best: &mut Option<u64>, found: Option<u64>) {
    *best = [*best, found].into_iter().flatten().min();
}

fn lower_f64(best: &mut Option<f64>, found: Option<f64>) {
    *best = [*best, found].into_iter().flatten().min_by(f64::total_cmp);
}

#[cfg(test)]
#[path = "cgroup_tests.rs"]
mod tests;
