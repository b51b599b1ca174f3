//! Says what a process inherited, so that a run under the meter can be compared with a bare one.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Writes everything a command inherits, one fact per line, sorted where the order is free.
pub fn report(file: &Path, arguments: &[OsString]) -> io::Result<()> {
    let mut text = String::new();
    for argument in arguments {
        text += &format!("argument {}\n", argument.as_bytes().escape_ascii());
    }
    let mut variables: Vec<String> = std::env::vars_os()
        .map(|(key, value)| {
            format!("variable {}={}\n", key.as_bytes().escape_ascii(), value.as_bytes().escape_ascii())
        })
        .collect();
    variables.sort();
    text += &variables.concat();
    text += &format!("directory {}\n", std::env::current_dir()?.as_os_str().as_bytes().escape_ascii());
    text += &descriptors()?;
    text += &status_lines()?;
    text += &fs::read_to_string("/proc/self/limits")?;
    text += &numbers();
    fs::write(file, text)
}

/// Each open descriptor with its flags and what it is; pipes and sockets by kind, since their numbers differ.
fn descriptors() -> io::Result<String> {
    let mut lines = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        let entry = entry?;
        let Ok(target) = fs::read_link(entry.path()) else { continue };
        let target = target.to_string_lossy().into_owned();
        if target.starts_with("/proc/") {
            continue;
        }
        let kind = target.split(":[").next().unwrap_or_default().to_owned();
        let number: i32 = entry.file_name().to_string_lossy().parse().unwrap_or(-1);
        // SAFETY: F_GETFL and F_GETFD only read flags.
        let (status, close_on_exec) =
            unsafe { (libc::fcntl(number, libc::F_GETFL), libc::fcntl(number, libc::F_GETFD)) };
        lines.push((number, format!("descriptor {number} {kind} flags {status:o} {close_on_exec}\n")));
    }
    lines.sort();
    Ok(lines.into_iter().map(|(_, line)| line).collect())
}

/// Masks, identity and privileges as the kernel lists them.
fn status_lines() -> io::Result<String> {
    const KEPT: &[&str] = &[
        "Umask",
        "Uid",
        "Gid",
        "Groups",
        "SigQ",
        "SigPnd",
        "ShdPnd",
        "SigBlk",
        "SigIgn",
        "SigCgt",
        "CapInh",
        "CapPrm",
        "CapEff",
        "CapBnd",
        "CapAmb",
        "NoNewPrivs",
        "Seccomp",
        "Cpus_allowed_list",
        "Mems_allowed_list",
        "THP_enabled",
    ];
    let status = fs::read_to_string("/proc/self/status")?;
    let kept = status.lines().filter(|line| {
        let key = line.split(':').next().unwrap_or_default();
        // SigQ counts the whole user's queued signals and moves with the machine.
        key != "SigQ" && KEPT.contains(&key)
    });
    Ok(kept.map(|line| format!("{line}\n")).collect())
}

fn numbers() -> String {
    // SAFETY: all of these only read properties of the calling process.
    unsafe {
        let rows = [
            ("nice", libc::getpriority(libc::PRIO_PROCESS, 0)),
            ("policy", libc::sched_getscheduler(0)),
            ("parent_death_signal", parent_death_signal()),
            ("dumpable", libc::prctl(libc::PR_GET_DUMPABLE)),
            ("timer_slack_ns", libc::prctl(libc::PR_GET_TIMERSLACK)),
            ("own_session", i32::from(libc::getsid(0) == libc::getpid())),
            ("same_group_as_parent", i32::from(libc::getpgid(libc::getppid()) == libc::getpgrp())),
            ("terminal_on_0", libc::isatty(0)),
        ];
        rows.iter().map(|(key, value)| format!("{key} {value}\n")).collect()
    }
}

fn parent_death_signal() -> i32 {
    let mut signal = 0;
    // SAFETY: the call writes one int.
    unsafe { libc::prctl(libc::PR_GET_PDEATHSIG, &mut signal) };
    signal
}

/// Copies standard input to standard output and ends at its end.
pub fn copy() -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match input.read(&mut buffer)? {
            0 => return output.flush(),
            count => output.write_all(&buffer[..count])?,
        }
    }
}
