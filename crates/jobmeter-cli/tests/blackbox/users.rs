//! What an ordinary user is told, who has no events of whole CPUs.

use crate::help::{as_nobody, room_for_everybody};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// The process connector tells no names: children of a program that another one had become were listed under the first name.
#[test]
fn short_children_have_the_name_of_the_program_that_forked_them() {
    let Some((_place, room)) = room_for_everybody() else { return };
    fs::set_permissions(&room.dir, fs::Permissions::from_mode(0o777)).expect("chmod");
    let as_nobody = |words: &[&str]| {
        let mut command = as_nobody(&room, words);
        command.env("JOBMETER_STORE", room.path("store"));
        room.finish(command)
    };
    let script = "exec bash -c 'sleep 0.2; (true); (true); (true); sleep 0.05; true'";
    let run = as_nobody(&["run", "-q", "--no-gpu", "--", "sh", "-c", script]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let shown = as_nobody(&["show", "last", "--processes", "--all"]);
    let table = String::from_utf8_lossy(&shown.stdout);
    let names: Vec<&str> = table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert!(names.contains(&"bash") && !names.contains(&"sh"), "{table}");
}
