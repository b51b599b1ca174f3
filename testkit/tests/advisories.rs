//! `tools/check-advisories` against a small database of made-up advisories in the form of RustSec's.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("advisories-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    fn advise(&self, krate: &str, id: &str, head: &str, versions: &str) {
        let folder = self.0.join("crates").join(krate);
        std::fs::create_dir_all(&folder).expect("a folder for the crate");
        let text = format!(
            "```toml\n[advisory]\nid = \"{id}\"\npackage = \"{krate}\"\ndate = \"2026-01-01\"\n{head}\n\n\
             [versions]\n{versions}\n```\n\n# What is wrong with {krate}\n\nProse.\n"
        );
        std::fs::write(folder.join(format!("{id}.md")), text).expect("an advisory");
    }

    fn lock(&self, crates: &[(&str, &str)]) -> PathBuf {
        let mut text = "version = 4\n".to_owned();
        for (name, version) in crates {
            text += &format!(
                "\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"registry+x\"\n"
            );
        }
        // One of the workspace itself: it is not the registry's crate of that name.
        text += "\n[[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n";
        let path = self.0.join("Cargo.lock");
        std::fs::write(&path, text).expect("a lock file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn check(database: &Path, lock: &Path) -> Output {
    let tool = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/check-advisories");
    Command::new("python3").arg(tool).arg(database).arg(lock).output().expect("python3 runs")
}

fn complaints(folder: &Folder, crates: &[(&str, &str)]) -> Vec<String> {
    let output = check(&folder.0, &folder.lock(crates));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    assert_eq!(output.status.code(), Some(i32::from(!lines.is_empty())), "{text}");
    lines
}

#[test]
fn affected_versions_are_named_and_others_pass() {
    let folder = Folder::new("versions");
    folder.advise("patched", "RUSTSEC-2026-9001", "", "patched = [\">= 1.2.3, < 2.0.0\", \">= 2.0.4\"]");
    folder.advise("older", "RUSTSEC-2026-9002", "", "patched = [\"^0.3.4\"]\nunaffected = [\"< 0.2\"]");
    folder.advise("left", "RUSTSEC-2026-9003", "informational = \"unmaintained\"", "patched = []");
    folder.advise("taken-back", "RUSTSEC-2026-9004", "withdrawn = \"2026-02-01\"", "patched = []");
    folder.advise("ours", "RUSTSEC-2026-9005", "", "patched = []");

    let fine = [
        ("patched", "1.2.3"),
        ("patched", "2.0.4"),
        ("older", "0.1.9"),
        ("older", "0.3.4"),
        ("other", "1.0.0"),
    ];
    assert_eq!(complaints(&folder, &fine), Vec::<String>::new());
    assert_eq!(complaints(&folder, &[("taken-back", "1.0.0")]), Vec::<String>::new());
    assert_eq!(
        complaints(&folder, &[("left", "1.0.0")]),
        [
            "check-advisories: left 1.0.0: RUSTSEC-2026-9003 (unmaintained): What is wrong with left; fixed in no version"
        ]
    );
    let affected = [
        ("patched", "1.2.2"),
        ("patched", "2.0.0"),
        ("patched", "2.0.4-rc.1"),
        ("older", "0.2.0"),
        ("older", "0.4.0"),
    ];
    for (name, version) in affected {
        let lines = complaints(&folder, &[(name, version)]);
        assert!(
            lines.len() == 1 && lines[0].contains(&format!("{name} {version}: ")),
            "{name} {version}: {lines:?}"
        );
    }
}

#[test]
fn a_folder_that_is_no_database_is_named() {
    let folder = Folder::new("none");
    let output = check(&folder.0, &folder.lock(&[]));
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a RustSec database"));
}
