//! Cards that the kernel has put to sleep. Initialising NVML, or asking it for a figure, wakes them; reading this file
//! does not.

use crate::textfile;
use std::path::{Path, PathBuf};

/// Said of a figure that would have to wake its card.
pub(crate) const NOT_READ: &str = "not read while the card is asleep";

pub(crate) fn is_asleep(status: &Path) -> bool {
    textfile::line(status).is_ok_and(|status| status == "suspended")
}

/// `power/runtime_status` of the device with this PCI address.
pub(crate) fn status_file(root: &Path, pci_id: &str) -> PathBuf {
    root.join("sys/bus/pci/devices").join(pci_id).join("power/runtime_status")
}

/// The addresses of the machine's NVIDIA GPUs if all of them sleep, in the words of the record; else `None`.
pub(crate) fn all_of_nvidia(root: &Path) -> Option<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root.join("sys/bus/pci/devices")).ok()?.flatten() {
        let is = |file: &str, start: &str| {
            textfile::line(&entry.path().join(file)).is_ok_and(|text| text.starts_with(start))
        };
        // Displays and 3D controllers; the sound and USB functions of a card come and go on their own.
        if is("vendor", "0x10de") && is("class", "0x03") {
            if !is_asleep(&entry.path().join("power/runtime_status")) {
                return None;
            }
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    (!names.is_empty()).then(|| format!("asleep and not woken: {}", names.join(", ")))
}
