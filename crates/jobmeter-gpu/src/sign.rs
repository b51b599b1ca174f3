//! Signs that a machine has something to ask. They are looked for before anything is started or allocated, so that a
//! machine without GPU and energy counters pays a handful of `access` calls.

use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The NVIDIA kernel driver (its control device, its folder in `/proc`, the devices of WSL and of Jetson boards), or its
/// library where distributions put it: the driver may be loaded with the job's first call.
const NVIDIA: &[&CStr] = &[
    c"/dev/nvidiactl",
    c"/proc/driver/nvidia",
    c"/dev/dxg",
    c"/dev/nvmap",
    #[cfg(target_arch = "x86_64")]
    c"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
    #[cfg(target_arch = "aarch64")]
    c"/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
    c"/usr/lib64/libnvidia-ml.so.1",
    c"/usr/lib/libnvidia-ml.so.1",
    c"/run/opengl-driver/lib/libnvidia-ml.so.1",
];
/// The kernel's graphics core; which cards it has is asked only where it is there.
const DRM: &CStr = c"/sys/class/drm";
/// The first CPU package with energy counters.
const RAPL: &CStr = c"/sys/class/powercap/intel-rapl:0";

pub(crate) fn of_nvidia(root: &Path) -> bool {
    NVIDIA.iter().any(|sign| is_there(root, sign))
}

pub(crate) fn of_drm(root: &Path) -> bool {
    is_there(root, DRM) && has_card(&root.join("sys/class/drm"))
}

pub(crate) fn of_rapl(root: &Path) -> bool {
    is_there(root, RAPL)
}

/// `absolute` under `root`.
fn is_there(root: &Path, absolute: &CStr) -> bool {
    if root.as_os_str() != "/" {
        let relative = std::ffi::OsStr::from_bytes(&absolute.to_bytes()[1..]);
        return root.join(relative).exists();
    }
    // SAFETY: a plain query by a C string.
    unsafe { libc::access(absolute.as_ptr(), libc::F_OK) == 0 }
}

fn has_card(folder: &Path) -> bool {
    std::fs::read_dir(folder)
        .map(|entries| entries.flatten().any(|entry| is_card_name(&entry.file_name().to_string_lossy())))
        .unwrap_or(false)
}

/// `card0` but not the connector `card0-HDMI-A-1`.
pub(crate) fn is_card_name(name: &str) -> bool {
    name.strip_prefix("card").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_is_looked_for_under_the_root() {
        let root = std::env::temp_dir().join(format!("jobmeter-sign-{}", std::process::id()));
        assert!(!of_nvidia(&root) && !of_drm(&root) && !of_rapl(&root));
        for folder in ["proc/driver/nvidia", "sys/class/drm/card0-DP-1", "sys/class/powercap/intel-rapl:0"] {
            std::fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        assert!(of_nvidia(&root) && of_rapl(&root));
        assert!(!of_drm(&root), "a connector is no card");
        std::fs::create_dir(root.join("sys/class/drm/card1")).expect("a folder");
        assert!(of_drm(&root));
        std::fs::remove_dir_all(&root).expect("removed");
    }
}
