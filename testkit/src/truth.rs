//! The file in which a workload says what it really did: one `key value` per line, written aside and renamed,
//! so that a reader who sees the file sees all of it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

pub fn write(path: &Path, pairs: &[(&str, String)]) -> io::Result<()> {
    let text: String = pairs.iter().map(|(key, value)| format!("{key} {value}\n")).collect();
    // A device or a link is written to, never replaced: this may run as root.
    if std::fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return std::fs::write(path, text);
    }
    let aside = path.with_extension("aside");
    std::fs::write(&aside, text)?;
    std::fs::rename(&aside, path)
}

pub fn parse(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_no_plain_file_is_not_replaced() {
        let folder = std::env::temp_dir().join(format!("testkit-link-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let link = folder.join("link");
        std::os::unix::fs::symlink(folder.join("target"), &link).expect("a link");
        super::write(&link, &[("a", "1".to_owned())]).expect("write");
        assert!(std::fs::symlink_metadata(&link).expect("it is there").is_symlink());
        assert_eq!(std::fs::read_to_string(folder.join("target")).expect("read"), "a 1\n");
        std::fs::remove_dir_all(&folder).expect("remove");
    }

    #[test]
    fn what_is_written_is_read() {
        let path = std::env::temp_dir().join(format!("testkit-truth-{}", std::process::id()));
        super::write(&path, &[("a", "1".to_owned()), ("b", "two words".to_owned())]).expect("write");
        let read = super::parse(&std::fs::read_to_string(&path).expect("read"));
        std::fs::remove_file(&path).expect("remove");
        assert_eq!(read.get("b").map(String::as_str), Some("two words"));
        assert_eq!(read.len(), 2);
    }
}
