//! The job inherits what it would have inherited without us: nothing added, nothing lost.

use crate::help::{JOBMETER, Room, testkit};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Runs a command in an unusual environment, bare or metered, and returns what it wrote to `file`.
fn in_odd_surroundings(room: &Room, metered: bool, command: &[&str], file: &str) -> String {
    let set_up = format!(
        "umask 027; ulimit -S -n 333; ulimit -S -s 4096; ulimit -c 0; trap '' USR1 PIPE; exec 7<'{}' 9>&1; \
         exec nice -n 3 \"$@\"",
        room.file("opened")
    );
    std::fs::write(room.path("opened"), "x").expect("write");
    let mut shell = Command::new("sh");
    shell.args(["-c", &set_up, "sh"]);
    if metered {
        shell.args([JOBMETER, "run", "-q", "-i", "10ms", "--"]);
    }
    shell
        .args(command)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("JOBMETER_STORE", room.path("store"))
        .env("ODD", "a b\n'\"$")
        .env("EMPTY", "")
        .current_dir(&room.dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // SAFETY: sigset_t is plain data; all calls are async-signal-safe.
    unsafe {
        shell.pre_exec(|| {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGUSR2);
            libc::sigaddset(&mut set, libc::SIGALRM);
            libc::sigaddset(&mut set, libc::SIGTERM);
            libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut());
            Ok(())
        });
    }
    let output = shell.output().expect("start a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    room.text(file)
}

#[test]
fn everything_is_inherited_unchanged() {
    let room = Room::new("inherit");
    let testkit = testkit();
    let file = room.file("inherited");
    let command = [testkit.to_str().expect("a UTF-8 path"), "inherited", &file, "one", "", "two words", "-x"];
    let bare = in_odd_surroundings(&room, false, &command, "inherited");
    let metered = in_odd_surroundings(&room, true, &command, "inherited");
    assert!(bare.contains("descriptor 7 ") && bare.contains("nice 3\n"), "the set-up failed: {bare}");
    for (bare, metered) in bare.lines().zip(metered.lines()) {
        assert_eq!(metered, bare);
    }
    assert_eq!(metered, bare);
}

/// As seen by a program that is not written in Rust, whose runtime ignores SIGPIPE by itself: masks and
/// dispositions are as the caller set them.
#[test]
fn signal_dispositions_are_inherited() {
    let room = Room::new("dispositions");
    let file = room.file("signals");
    let script = format!("grep -E '^(Sig(Blk|Ign|Cgt)|Umask)' /proc/self/status > '{file}'");
    let command = ["sh", "-c", &script];
    let bare = in_odd_surroundings(&room, false, &command, "signals");
    let metered = in_odd_surroundings(&room, true, &command, "signals");
    assert_eq!(metered, bare);
}
