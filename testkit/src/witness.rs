//! An independent witness for CPU time, inside the job: what it runs is counted by a cgroup of the witness's
//! own, nested below the group the witness was started in, or, where none may be made, by `wait4`.

use crate::{sys, truth};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the command and writes `cpu_ns` (of the command's whole tree and of the witness itself) and `source`.
/// Returns the command's exit code.
pub fn run(truth_file: &Path, command: &[OsString]) -> io::Result<i32> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(io::Error::other("no command to run"));
    };
    let group = Group::create();
    if group.is_none() {
        // Orphans come to us, so that wait4 sees them. With a group they stay what they are: orphans.
        // SAFETY: sets a flag of this process.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    }
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(group) = &group {
        let procs = group.path.join("cgroup.procs");
        // SAFETY: the child has one thread, as its parent has, so opening and writing a file is sound there.
        unsafe { command.pre_exec(move || fs::write(&procs, "0")) };
    }
    let status = command.status()?;
    let tree_ns = match &group {
        Some(group) => group.wait_until_empty()?,
        None => {
            sys::wait_all();
            sys::usage(libc::RUSAGE_CHILDREN).cpu_ns
        }
    };
    let cpu_ns = tree_ns + sys::usage(libc::RUSAGE_SELF).cpu_ns;
    let source = group.as_ref().map_or("wait4", |group| group.source);
    truth::write(truth_file, &[("cpu_ns", cpu_ns.to_string()), ("source", source.to_owned())])?;
    use std::os::unix::process::ExitStatusExt;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()))
}

struct Group {
    path: PathBuf,
    source: &'static str,
}

impl Group {
    /// A group below the current one, in the v1 cpuacct or the v2 tree.
    fn create() -> Option<Group> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let name = format!("testkit-witness-{}", std::process::id());
        for (controller, source) in [("cpuacct", "cgroup v1 cpuacct.usage"), ("", "cgroup v2 cpu.stat")] {
            let Some(mount) = mount_of(&mounts, controller) else { continue };
            let Some(inside) = path_of(&own, controller) else { continue };
            let path = mount.join(inside.trim_start_matches('/')).join(&name);
            if fs::create_dir(&path).is_ok() {
                return Some(Group { path, source });
            }
        }
        None
    }

    /// Waits until the last process has left and returns the CPU time that the group used.
    fn wait_until_empty(&self) -> io::Result<u64> {
        while !fs::read_to_string(self.path.join("cgroup.procs"))?.is_empty() {
            sys::sleep_ms(2);
        }
        if self.source.contains("v1") {
            let text = fs::read_to_string(self.path.join("cpuacct.usage"))?;
            return text.trim().parse().map_err(io::Error::other);
        }
        let text = fs::read_to_string(self.path.join("cpu.stat"))?;
        let usage = text.lines().find_map(|line| line.strip_prefix("usage_usec "));
        let usage_us: u64 = usage.unwrap_or_default().parse().map_err(io::Error::other)?;
        Ok(usage_us * 1_000)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
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
        fits.then(|| PathBuf::from(left.split(' ').nth(4).unwrap_or_default()))
    })
}

fn path_of<'a>(own: &'a str, controller: &str) -> Option<&'a str> {
    own.lines().find_map(|line| {
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
