//! The job inherits what it would have inherited without us: nothing added, nothing lost.

use crate::help::{JOBMETER, Room, testkit};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Makes the calling process an unusual parent: mask, dispositions, umask, priority, limits, descriptors. No shell
/// is used for it, since shells tidy up the signal mask.
fn make_odd() -> std::io::Result<()> {
    // SAFETY: runs in a child between fork and exec; every call is async-signal-safe and works on plain data.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in [libc::SIGUSR2, libc::SIGALRM, libc::SIGTERM] {
            libc::sigaddset(&mut set, signal);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut());
        libc::signal(libc::SIGUSR1, libc::SIG_IGN);
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::umask(0o027);
        libc::setpriority(libc::PRIO_PROCESS, 0, 3);
        for (resource, soft) in
            [(libc::RLIMIT_NOFILE, 333), (libc::RLIMIT_STACK, 4 << 20), (libc::RLIMIT_CORE, 0)]
        {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::getrlimit(resource, &mut limit);
            limit.rlim_cur = soft;
            libc::setrlimit(resource, &limit);
        }
        libc::dup2(1, 7);
        libc::dup2(0, 12);
    }
    Ok(())
}

/// Runs a command in unusual surroundings, bare or metered, and returns what it printed.
fn in_odd_surroundings(room: &Room, metered: bool, command: &[&str]) -> String {
    let mut words = vec![JOBMETER, "run", "-q", "-i", "10ms", "--"];
    if !metered {
        words.clear();
    }
    words.extend(command);
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("JOBMETER_STORE", room.path("store"))
        .env("ODD", "a b\n'\"$")
        .env("EMPTY", "")
        .current_dir(&room.dir)
        .stdin(Stdio::null());
    // SAFETY: see `make_odd`.
    unsafe { command.pre_exec(make_odd) };
    let output = command.output().expect("start");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn everything_is_inherited_unchanged() {
    let room = Room::new("inherit");
    let testkit = testkit();
    let file = room.file("inherited");
    let command = [testkit.to_str().expect("a UTF-8 path"), "inherited", &file, "one", "", "two words", "-x"];
    in_odd_surroundings(&room, false, &command);
    let bare = room.text("inherited");
    in_odd_surroundings(&room, true, &command);
    let metered = room.text("inherited");
    for line in ["descriptor 7 ", "nice 3\n", "Umask:\t0027", "argument two words\n", "variable ODD="] {
        assert!(bare.contains(line), "the set-up failed: no {line:?} in {bare}");
    }
    let differences: Vec<String> = bare
        .lines()
        .filter(|line| !metered.lines().any(|other| other == *line))
        .map(|line| format!("lost:  {line}"))
        .chain(
            metered
                .lines()
                .filter(|line| !bare.lines().any(|other| other == *line))
                .map(|line| format!("added: {line}")),
        )
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(metered, bare);
}

/// As seen by a program that is not written in Rust, whose runtime ignores SIGPIPE by itself: masks and
/// dispositions are as the caller set them.
#[test]
fn signal_dispositions_are_inherited() {
    let room = Room::new("dispositions");
    let command = ["grep", "-E", "^(Sig(Blk|Ign|Cgt|Pnd)|Umask)", "/proc/self/status"];
    let bare = in_odd_surroundings(&room, false, &command);
    assert!(bare.contains("SigBlk:\t0000000000006800"), "the set-up failed: {bare}");
    // Other bits come from whoever started the tests.
    let ignored = bare.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).expect("a line");
    let ignored = u64::from_str_radix(ignored, 16).expect("a mask");
    assert_eq!(ignored & 0x1202, 0x1202, "{bare}");
    assert_eq!(in_odd_surroundings(&room, true, &command), bare);
}
