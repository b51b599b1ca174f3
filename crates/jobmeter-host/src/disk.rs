//! Block devices as `sys/block` lists them.

use crate::root::Root;
use serde::Serialize;

/// One block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiskInfo {
    /// The kernel's name for it.
    pub name: String,
    /// Its capacity.
    pub size_bytes: Option<u64>,
    /// `true` for spinning disks; virtual disks often say so without being ones.
    pub rotational: Option<bool>,
    /// As the device names itself.
    pub model: Option<String>,
    /// Built on other devices (RAID, LVM, encryption), so its bytes are theirs.
    pub stacked: bool,
}

/// Sectors in `sys/block/*/size` are 512 bytes whatever the device's own sector is.
const SECTOR_BYTES: u64 = 512;

pub(crate) fn read(root: Root<'_>) -> Vec<DiskInfo> {
    root.names("sys/block")
        .into_iter()
        .filter(|name| !["loop", "ram", "zram", "nbd", "sr", "fd"].iter().any(|kind| is_numbered(name, kind)))
        .filter_map(|name| {
            let base = format!("sys/block/{name}");
            let sectors = root.number(&format!("{base}/size"));
            // An empty card reader or a detached device has a node but no medium.
            (sectors != Some(0)).then(|| DiskInfo {
                size_bytes: sectors.and_then(|sectors| sectors.checked_mul(SECTOR_BYTES)),
                rotational: root.number(&format!("{base}/queue/rotational")).map(|flag| flag != 0),
                model: root.value(&format!("{base}/device/model")),
                stacked: !root.names(&format!("{base}/slaves")).is_empty(),
                name,
            })
        })
        .collect()
}

fn is_numbered(name: &str, kind: &str) -> bool {
    name.strip_prefix(kind)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn disks_with_a_medium_are_listed_and_pseudo_devices_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let block = folder.path().join("sys/block");
        for (name, size) in [("nvme0n1", "2000409264"), ("loop0", "8"), ("sda", "0"), ("dm-0", "1024")] {
            fs::create_dir_all(block.join(name).join("queue")).unwrap();
            fs::write(block.join(name).join("size"), format!("{size}\n")).unwrap();
            fs::write(block.join(name).join("queue/rotational"), "0\n").unwrap();
        }
        fs::create_dir_all(block.join("nvme0n1/device")).unwrap();
        fs::write(block.join("nvme0n1/device/model"), "Amazon Elastic Block Store              \n").unwrap();
        fs::create_dir_all(block.join("dm-0/slaves/nvme0n1")).unwrap();

        let disks = read(Root::new(folder.path()));
        assert_eq!(disks.len(), 2);
        assert_eq!(disks[0].name, "dm-0");
        assert!(disks[0].stacked);
        assert_eq!(disks[1].size_bytes, Some(2_000_409_264 * 512));
        assert_eq!(disks[1].rotational, Some(false));
        assert_eq!(disks[1].model.as_deref(), Some("Amazon Elastic Block Store"));
        assert!(!disks[1].stacked);
    }
}
