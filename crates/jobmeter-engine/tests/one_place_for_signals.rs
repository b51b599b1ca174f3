//! Signals are sent and children reaped in one module, by a pid that cannot be 0 or negative: a failed `clone`
//! once became `kill(-1, SIGKILL)`.

use std::path::{Path, PathBuf};

const ONE_PLACE: &str = "jobmeter-engine/src/linux/control.rs";
const RAW_CALLS: [&str; 9] = [
    "libc::kill(",
    "libc::killpg(",
    "libc::tgkill(",
    "libc::waitpid(",
    "libc::wait4(",
    "libc::waitid(",
    "SYS_kill",
    "SYS_tgkill",
    "SYS_pidfd_send_signal",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources").map(|entry| entry.expect("an entry"))
    {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_other_file_sends_a_signal_or_waits_for_a_child() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of crates");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(crates).expect("the folder of crates") {
        sources(&entry.expect("a crate").path().join("src"), &mut found);
    }
    assert!(found.len() > 100, "only {} files were found", found.len());
    let mut seen_in_place = false;
    for path in found {
        let text = std::fs::read_to_string(&path).expect("a source file");
        let call = RAW_CALLS.iter().find(|call| text.contains(**call));
        if path.ends_with(ONE_PLACE) {
            seen_in_place = call.is_some();
        } else {
            assert_eq!(call, None, "{}: go through jobmeter_engine::linux::control", path.display());
        }
    }
    assert!(seen_in_place, "{ONE_PLACE} has none of the calls: the list is out of date");
}
