//! What goes wrong on our side stays on our side. Anything here that could signal others runs in a PID namespace of
//! its own, with a bystander process that must survive.

use crate::help::{JOBMETER, Room};
use std::process::Command;

/// Runs a shell script as PID 1 of its own PID namespace, with `$JOBMETER` set; its output.
fn in_pid_namespace(room: &Room, script: &str) -> String {
    let output = Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--pid",
            "--fork",
            "--mount-proc",
            "--kill-child",
            "sh",
            "-c",
            script,
        ])
        .env("JOBMETER", JOBMETER)
        .env("JOBMETER_STORE", room.path("store"))
        .output()
        .expect("unshare");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn a_clone_that_fails_ends_nobody() {
    let room = Room::new("clone-fails");
    // The first clone is the job's, the second the sentinel's; from the second on each can fail.
    for (first, expected) in [(1, "status 125, ran 0 times"), (2, "status 3, ran 1 times")] {
        let script = format!(
            "cd {room} && rm -f ran && touch ran
             sleep 300 & bystander=$!
             strace -o trace -e trace=clone -e inject=clone:error=EAGAIN:when={first}+ \\
                 \"$JOBMETER\" run -q --no-cgroup -- sh -c 'echo x >>ran; sleep 0.2; exit 3'
             echo \"status $?, ran $(wc -l <ran) times\"
             kill -0 $bystander && echo bystander lives",
            room = room.dir.display()
        );
        let said = in_pid_namespace(&room, &script);
        assert_eq!(said, format!("{expected}\nbystander lives\n"), "clone {first} and later fail");
    }
}
