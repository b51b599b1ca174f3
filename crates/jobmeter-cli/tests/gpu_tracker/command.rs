//! The bare command comes by choice and never in the place of a foreign file.

use crate::place::{Place, text};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn the_command_is_installed_replaced_and_removed() {
    let place = Place::new();
    std::fs::create_dir(place.path("my bin")).expect("a folder");
    let path = place.path("my bin/gpu-tracker");
    for _ in 0..2 {
        let said = place.out(&["--install-command", "my bin"]);
        assert_eq!(said, "my bin/gpu-tracker runs jobmeter gpu-tracker.\n");
        assert_eq!(path.metadata().expect("the command").permissions().mode() & 0o777, 0o755);
    }
    let output = Command::new(&path).arg("--version").output().expect("it starts");
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "5.0.1\n"));
    assert_eq!(place.out(&["--uninstall-command", "my bin"]), "my bin/gpu-tracker is removed.\n");
    assert!(!path.exists());
    assert_eq!(
        place.refused(&["--uninstall-command", "my bin"]),
        "ERROR:root:there is no my bin/gpu-tracker\n"
    );
}

#[test]
fn a_foreign_file_or_link_is_left_as_it_is() {
    let place = Place::new();
    let path = place.path("gpu-tracker");
    let said = "ERROR:root:./gpu-tracker is not from jobmeter and is left as it is; \
                uninstall its package, or name another folder\n";
    place.write("gpu-tracker", "#!/usr/bin/python3\nprint('theirs')\n");
    for option in ["--install-command", "--uninstall-command"] {
        assert_eq!(place.refused(&[option, "."]), said);
        assert_eq!(place.read("gpu-tracker"), "#!/usr/bin/python3\nprint('theirs')\n");
    }
    std::fs::remove_file(&path).expect("removed");
    place.write("precious", "bytes");
    std::os::unix::fs::symlink("precious", &path).expect("a link");
    assert_eq!(place.refused(&["--install-command", "."]), said);
    assert_eq!(place.read("precious"), "bytes");
    assert_eq!(place.refused(&["--install-command", "nowhere"]), "ERROR:root:nowhere is not a folder\n");
    assert!(place.refused(&["--install-command", "-e", "true"]).starts_with("Usage:"));
}
