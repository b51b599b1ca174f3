//! What the kernel lets this process have: affinity, resource limits and cgroups.

use crate::root::{Root, list_count};
use jobmeter_engine::linux::cgroup::Membership;
use serde::Serialize;

/// What binds programs that are started here.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct HostLimits {
    /// Lowest memory limit on the path of this process through the cgroup tree.
    pub cgroup_memory_bytes: Option<u64>,
    /// Lowest CPU quota on the path, in cores.
    pub cgroup_cores: Option<f64>,
    /// Processors that this process may be scheduled on.
    pub affinity_cores: Option<u32>,
    /// RLIMIT_AS, soft.
    pub address_space_bytes: Option<u64>,
    /// RLIMIT_NOFILE, soft and hard.
    pub open_files_soft: Option<u64>,
    /// The most that the soft limit may be raised to.
    pub open_files_hard: Option<u64>,
    /// The least of affinity, quota and online processors: what a job here can really keep busy.
    pub usable_cores: Option<f64>,
    /// The lesser of physical memory and the cgroup's limit.
    pub usable_memory_bytes: Option<u64>,
}

impl HostLimits {
    pub(crate) fn read(root: Root<'_>, vcpus: Option<u32>, memory_bytes: Option<u64>) -> HostLimits {
        let groups = Membership::read(&root.join(""), "self").limits();
        let limits = root.text("proc/self/limits").unwrap_or_default();
        let affinity_cores = root.text("proc/self/status").and_then(|status| {
            list_count(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?)
        });
        let cores = [affinity_cores.map(f64::from), groups.cgroup_cores, vcpus.map(f64::from)];
        HostLimits {
            cgroup_memory_bytes: groups.cgroup_memory_bytes,
            cgroup_cores: groups.cgroup_cores,
            affinity_cores,
            address_space_bytes: limit(&limits, "Max address space").and_then(|(soft, _)| soft),
            open_files_soft: limit(&limits, "Max open files").and_then(|(soft, _)| soft),
            open_files_hard: limit(&limits, "Max open files").and_then(|(_, hard)| hard),
            usable_cores: cores.into_iter().flatten().min_by(f64::total_cmp),
            usable_memory_bytes: [groups.cgroup_memory_bytes, memory_bytes].into_iter().flatten().min(),
        }
    }
}

/// Soft and hard value of a row of `proc/self/limits`; `unlimited` is `None`.
fn limit(text: &str, name: &str) -> Option<(Option<u64>, Option<u64>)> {
    let mut values = text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace();
    Some((values.next()?.parse().ok(), values.next()?.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::limit;

    #[test]
    fn rows_of_limits_as_the_kernel_writes_them() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max open files            1024                 524288               files     \n\
                    Max address space         unlimited            unlimited            bytes     \n";
        assert_eq!(limit(text, "Max open files"), Some((Some(1024), Some(524_288))));
        assert_eq!(limit(text, "Max address space"), Some((None, None)));
        assert_eq!(limit(text, "Max nothing"), None);
    }
}
