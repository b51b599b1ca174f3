//! How much memory one page fault can add. A page, or more where the kernel is set to hand out larger pieces (multi-size THP,
//! Linux 6.8). Pieces of 2 MiB are counted apart, by `/proc/vmstat`.

use super::sys;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

const SETTINGS: &str = "/sys/kernel/mm/transparent_hugepage";

/// Of the pieces that are counted apart, on kernels with pages of 64 KiB.
const LARGEST_BYTES: u64 = 512 << 20;
const SMALLEST_PAGE_BYTES: u64 = 4096;

/// As the machine is set when it is first asked for.
pub(crate) fn fault_bytes() -> u64 {
    // 0 until it is known.
    static BYTES: AtomicU64 = AtomicU64::new(0);
    let known = BYTES.load(Ordering::Relaxed);
    if known > 0 {
        return known;
    }
    let bytes = largest_bytes(Path::new(SETTINGS)).max(sys::sysconf(libc::_SC_PAGESIZE));
    BYTES.store(bytes, Ordering::Relaxed);
    bytes
}

/// The largest piece that is allowed, below the size that is counted apart; 0 without any.
fn largest_bytes(settings: &Path) -> u64 {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let counted_bytes = read(&settings.join("hpage_pmd_size")).ok().as_deref().and_then(number);
    let is_allowed = |folder: &Path, inherited: bool| match read(&folder.join("enabled")) {
        Ok(choice) => {
            ["[always]", "[madvise]"].iter().any(|word| choice.contains(word))
                || inherited && choice.contains("[inherit]")
        }
        // Some sizes are for shared memory alone. One that may not be read may be allowed.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    };
    let inherited = is_allowed(settings, false);
    // Each size has a folder of its name. That is quicker than to list them.
    let halved = |bytes: &u64| Some(bytes / 2).filter(|bytes| *bytes > SMALLEST_PAGE_BYTES);
    let mut sizes = std::iter::successors(counted_bytes.or(Some(LARGEST_BYTES)), halved).skip(1);
    let is_allowed =
        |bytes: &u64| is_allowed(&settings.join(format!("hugepages-{}kB", bytes / 1024)), inherited);
    sizes.find(is_allowed).unwrap_or(0)
}

/// A setting is one short line, which one call reads.
fn read(path: &Path) -> io::Result<String> {
    let mut line = [0; 256];
    let length = fs::File::open(path)?.read(&mut line)?;
    Ok(String::from_utf8_lossy(&line[..length]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(all: &str, sizes: &[(&str, &str)]) -> u64 {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| fs::write(folder.path().join(path), text).expect("a file");
        write("enabled", all);
        write("hpage_pmd_size", "2097152\n");
        for (size, choice) in sizes {
            fs::create_dir(folder.path().join(size)).expect("a folder");
            write(&format!("{size}/enabled"), choice);
        }
        largest_bytes(folder.path())
    }

    #[test]
    fn the_largest_that_is_allowed() {
        let never = "always inherit madvise [never]\n";
        let usual = [("hugepages-64kB", never), ("hugepages-2048kB", "always [inherit] madvise never\n")];
        assert_eq!(settings("always [madvise] never\n", &usual), 0);
        let some = [
            ("hugepages-16kB", "[always] inherit madvise never\n"),
            ("hugepages-64kB", never),
            ("khugepaged", ""),
        ];
        assert_eq!(settings("always madvise [never]\n", &some), 16 << 10);
        let inherits = [("hugepages-128kB", "always [inherit] madvise never\n")];
        assert_eq!(settings("[always] madvise never\n", &inherits), 128 << 10);
        assert_eq!(settings("always madvise [never]\n", &inherits), 0);
        assert_eq!(largest_bytes(Path::new("/nonexistent")), 0);
    }

    #[test]
    fn a_size_that_cannot_be_asked_for_may_be_allowed() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("hugepages-8kB")).expect("a folder");
        assert_eq!(largest_bytes(folder.path()), 0, "for shared memory alone");
        fs::create_dir_all(folder.path().join("hugepages-64kB/enabled"))
            .expect("a folder in place of a file");
        assert_eq!(largest_bytes(folder.path()), 64 << 10);
    }

    #[test]
    fn at_least_a_page() {
        assert!(fault_bytes() >= sys::sysconf(libc::_SC_PAGESIZE) && fault_bytes().is_power_of_two());
    }
}
