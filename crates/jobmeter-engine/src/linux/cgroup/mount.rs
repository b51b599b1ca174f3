//! Where a hierarchy of control groups is mounted, and which part of it.

use crate::linux::proc::mounts::unescape;
use std::path::{Path, PathBuf};

pub(super) struct Mount {
    /// The part that is mounted: not `/` in containers without a cgroup namespace.
    top: String,
    point: String,
    /// Among the options of version 1.
    options: String,
    is_unified: bool,
}

impl Mount {
    /// A line of `mountinfo`: `36 35 0:31 /top /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory`
    pub(super) fn parse(line: &str) -> Option<Mount> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (top, point) = (unescape(place.next()?), unescape(place.next()?));
        let mut kind = kind.split(' ');
        let is_unified = match kind.next()? {
            "cgroup" => false,
            "cgroup2" => true,
            _ => return None,
        };
        Some(Mount { top, point, options: kind.nth(1).unwrap_or("").to_owned(), is_unified })
    }

    /// Whether this is the hierarchy of `controllers`, which are none for the unified one.
    pub(super) fn serves(&self, controllers: &str) -> bool {
        let has = |wanted: &str| self.options.split(',').any(|option| option == wanted);
        match controllers {
            "" => self.is_unified,
            _ => !self.is_unified && controllers.split(',').all(has),
        }
    }

    pub(super) fn at(&self, root: &Path) -> PathBuf {
        root.join(self.point.trim_start_matches('/'))
    }

    /// Where group `path` is; `None` when it lies outside of what is mounted here.
    pub(super) fn folder(&self, root: &Path, path: &str) -> Option<PathBuf> {
        let inside = path.strip_prefix(self.top.trim_end_matches('/'))?;
        let is_inside = (inside.is_empty() || inside.starts_with('/')) && !inside.contains("..");
        is_inside.then(|| self.at(root).join(inside.trim_matches('/')))
    }
}
