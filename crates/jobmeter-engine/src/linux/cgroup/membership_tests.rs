use super::*;
use std::fs;

struct Fake(tempfile::TempDir);

impl Fake {
    fn new(cgroup: &str, mountinfo: &str) -> Fake {
        let fake = Fake(tempfile::tempdir().unwrap());
        fake.put("proc/self/cgroup", cgroup).put("proc/self/mountinfo", mountinfo);
        fake
    }

    fn put(&self, path: &str, text: &str) -> &Fake {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn read(&self) -> Membership {
        Membership::read(self.0.path(), "self")
    }

    fn limits(&self) -> Limits {
        self.read().limits()
    }
}

fn bound(memory_bytes: Option<u64>, cores: Option<f64>) -> Limits {
    Limits { cgroup_memory_bytes: memory_bytes, cgroup_cores: cores, ..Limits::default() }
}

const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

#[test]
fn version_2_takes_the_lowest_on_the_path() {
    let fake = Fake::new("0::/slurm/job_7/step_0\n", V2);
    fake.put("sys/fs/cgroup/slurm/memory.max", "max\n")
        .put("sys/fs/cgroup/slurm/job_7/memory.max", "1073741824\n")
        .put("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "4294967296\n")
        .put("sys/fs/cgroup/slurm/cpu.max", "150000 100000\n")
        .put("sys/fs/cgroup/slurm/job_7/cpu.max", "max 100000\n");
    assert_eq!(fake.limits(), bound(Some(1 << 30), Some(1.5)));
}

#[test]
fn version_1_with_joined_controllers_and_no_limits() {
    let mounts = "31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                  32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    let fake = Fake::new("5:cpu,cpuacct:/a\n4:memory:/a/b\n1:name=systemd:/x\n0::/\n", mounts);
    fake.put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
        .put("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n")
        .put("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    assert_eq!(fake.limits(), Limits::default());
    fake.put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "2147483648\n")
        .put("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n");
    assert_eq!(fake.limits(), bound(Some(2 << 30), Some(0.5)));
    fake.put("sys/fs/cgroup/memory/a/b/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    assert_eq!(fake.read().oom_kills(), Some(3));
}

#[test]
fn a_container_without_a_cgroup_namespace_sees_its_own_group_at_the_mount() {
    let mounts = "32 23 0:28 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
    let fake = Fake::new("4:memory:/docker/abc/inner\n", mounts);
    fake.put("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
    assert_eq!(fake.limits().cgroup_memory_bytes, Some(512 << 20));
    assert!(!fake.read().is_outside);
    // The same, where the process sits outside of the mounted part: no group may be made there.
    let fake = Fake::new("4:memory:/elsewhere\n", mounts);
    fake.put("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
    assert_eq!(fake.limits().cgroup_memory_bytes, Some(512 << 20));
    assert!(fake.read().is_outside);
}

#[test]
fn odd_files_are_unknown_not_zero() {
    let fake = Fake::new("nonsense\n0::/\n", &format!("garbage\n1 2 3\n{V2}"));
    fake.put("sys/fs/cgroup/memory.max", "").put("sys/fs/cgroup/cpu.max", "100000 0\n");
    assert_eq!(fake.limits(), Limits::default());
    assert_eq!(Membership::read(Path::new("/nonexistent-root"), "self").limits(), Limits::default());
}

#[test]
fn a_path_cannot_climb_out_of_the_mount() {
    let fake = Fake::new("0::/../../..\n", V2);
    fake.put("memory.max", "1\n").put("sys/fs/cgroup/memory.max", "2\n");
    assert_eq!(fake.limits().cgroup_memory_bytes, Some(2));
}

#[test]
fn mount_points_with_spaces_are_found() {
    let fake = Fake::new("0::/\n", "30 23 0:26 / /sys/fs/c\\040g rw - cgroup2 cgroup2 rw\n");
    fake.put("sys/fs/c g/memory.max", "77\n");
    assert_eq!(fake.limits().cgroup_memory_bytes, Some(77));
}
