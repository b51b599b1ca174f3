//! A root directory and bounded reads below it, so that tests can put a fake machine in a folder.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// `proc/cpuinfo` of a machine with 1,024 threads is about 1.5 MB; nothing here is larger than this.
const LARGEST_FILE: u64 = 8 << 20;

/// The directory that stands for `/`.
#[derive(Debug, Clone, Copy)]
pub struct Root<'a> {
    path: &'a Path,
}

impl<'a> Root<'a> {
    /// The root of this folder.
    pub fn new(path: &'a Path) -> Root<'a> {
        Root { path }
    }

    /// The path of a file below it.
    pub fn join(&self, relative: &str) -> PathBuf {
        self.path.join(relative.trim_start_matches('/'))
    }

    /// Whether there is such a file.
    pub fn exists(&self, relative: &str) -> bool {
        self.join(relative).exists()
    }

    /// The file's text, bytes that are not UTF-8 replaced; `None` when it cannot be read.
    pub fn text(&self, relative: &str) -> Option<String> {
        read_text(&self.join(relative))
    }

    /// The trimmed text of a one-value file; `None` when unreadable or empty.
    pub fn value(&self, relative: &str) -> Option<String> {
        let text = self.text(relative)?;
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The number that a file holds; `None` where it cannot be read or holds none.
    pub fn number(&self, relative: &str) -> Option<u64> {
        self.value(relative)?.parse().ok()
    }

    /// Names in a directory, sorted, so that output does not depend on the file system's order.
    pub fn names(&self, relative: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.join(relative)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

pub(crate) fn read_text(path: &Path) -> Option<String> {
    // A directory or a pipe in place of the file must neither fail loudly nor block.
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LARGEST_FILE).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Members of a kernel list such as `0-3,8,10-11`; `None` when it is not one.
pub(crate) fn list_count(list: &str) -> Option<u32> {
    let mut count = 0u32;
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_lists_are_counted_and_nonsense_is_none() {
        assert_eq!(list_count("0-3,8,10-11\n"), Some(7));
        assert_eq!(list_count("0"), Some(1));
        for bad in ["", "3-1", "a", "0-", "0-4294967295,0-4294967295"] {
            assert_eq!(list_count(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_directory_in_place_of_a_file_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("proc/meminfo")).unwrap();
        let root = Root::new(folder.path());
        assert_eq!(root.text("proc/meminfo"), None);
        assert_eq!(root.value("proc/absent"), None);
    }
}
