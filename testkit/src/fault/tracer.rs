//! The loop over all stops of the traced program.

use super::calls;
use super::tracee::{Call, Tracee};
use super::{Fault, Who};
use crate::sys;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

struct Thread {
    who: Who,
    /// The error that the call, entered already, returns.
    pending: Option<i32>,
    /// Between the marks; always, where nobody marks.
    counts: bool,
}

pub(super) struct Tracer {
    report: BufWriter<File>,
    fault: Option<Fault>,
    marked: bool,
    main: i32,
    /// Its program has been executed.
    running: bool,
    /// The first mark has been seen.
    entered: bool,
    threads: HashMap<Tracee, Thread>,
    seen: HashMap<(Who, i64), u64>,
}

impl Tracer {
    pub(super) fn new(report: &Path, fault: Option<Fault>, marked: bool) -> io::Result<Tracer> {
        let report = BufWriter::new(File::create(report)?);
        let (threads, seen) = (HashMap::new(), HashMap::new());
        Ok(Tracer { report, fault, marked, main: 0, running: false, entered: false, threads, seen })
    }

    pub(super) fn run(mut self, command: &[OsString]) -> io::Result<i32> {
        self.main = start(command)?;
        let status = loop {
            let (pid, status) = sys::wait_with(-1, libc::__WALL)?;
            let thread = Tracee(pid);
            if libc::WIFSTOPPED(status) {
                self.stopped(thread, libc::WSTOPSIG(status), status >> 16)?;
            } else {
                self.threads.remove(&thread);
                if pid == self.main {
                    break status;
                }
            }
        };
        self.report.flush()?;
        Ok(if libc::WIFSIGNALED(status) { 128 + libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) })
    }

    fn stopped(&mut self, thread: Tracee, signal: i32, event: i32) -> io::Result<()> {
        const STOPPING: [i32; 4] = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
        self.know(thread);
        match event {
            libc::PTRACE_EVENT_EXEC if thread.0 != self.main => {
                self.threads.remove(&thread);
                thread.let_go();
                return Ok(());
            }
            libc::PTRACE_EVENT_EXEC => self.running = true,
            libc::PTRACE_EVENT_STOP if STOPPING.contains(&signal) => {
                thread.stay_stopped();
                return Ok(());
            }
            0 if signal == libc::SIGTRAP | 0x80 => match thread.entered_call() {
                Some(call) => self.enter(thread, call)?,
                None => self.leave(thread),
            },
            0 => {
                thread.go_on(signal);
                return Ok(());
            }
            _ => {}
        }
        thread.go_on(0);
        Ok(())
    }

    fn know(&mut self, thread: Tracee) {
        let (main, marked) = (self.main, self.marked);
        self.threads.entry(thread).or_insert_with(|| {
            let own = thread.0 == main || thread.process() == Some(main);
            let who = if own { Who::Meter } else { Who::Child };
            Thread { who, pending: None, counts: !marked || thread.0 != main }
        });
    }

    fn enter(&mut self, thread: Tracee, call: Call) -> io::Result<()> {
        if !self.running {
            return Ok(());
        }
        let Some(known) = self.threads.get_mut(&thread) else { return Ok(()) };
        if self.marked && call.number == calls::MARK {
            known.counts = call.arguments[0] == calls::MARK_ENTER;
            self.entered = true;
        }
        if !known.counts || (self.marked && !self.entered) || calls::cannot_fail(call.number, call.arguments)
        {
            return Ok(());
        }
        if has_no_errors(thread, &call) {
            return Ok(());
        }
        let who = known.who;
        let count = self.seen.entry((who, call.number)).or_default();
        *count += 1;
        let name = calls::name(call.number);
        match &self.fault {
            None => writeln!(self.report, "{} {name} {}", who.name(), subject(thread, &name, &call))?,
            Some(fault) if fault.strikes(who, &name, *count) => {
                writeln!(self.report, "{}", subject(thread, &name, &call))?;
                self.report.flush()?;
                // A brk has no errors: a result below the end that was asked for means that it failed.
                let is_brk = call.number == libc::SYS_brk;
                known.pending = Some(if is_brk { 0 } else { fault.errno });
                // Linux frees the descriptor of a close also where it reports an error.
                if call.number != libc::SYS_close {
                    thread.skip_call();
                }
            }
            Some(_) => {}
        }
        Ok(())
    }

    fn leave(&mut self, thread: Tracee) {
        if let Some(errno) = self.threads.get_mut(&thread).and_then(|known| known.pending.take()) {
            thread.return_error(errno);
        }
    }
}

/// What the call acts on leaves it no way to fail: a directory has nothing to write back when it is closed, and a
/// write to an eventfd only fails when a wake-up is pending already.
fn has_no_errors(thread: Tracee, call: &Call) -> bool {
    let link = format!("/proc/{}/fd/{}", thread.0, call.arguments[0] as i32);
    match call.number {
        libc::SYS_close => std::fs::metadata(link).is_ok_and(|what| what.is_dir()),
        libc::SYS_write => {
            std::fs::read_link(link).is_ok_and(|what| what.as_os_str() == "anon_inode:[eventfd]")
        }
        _ => false,
    }
}

/// What the call is about: a path, or what a descriptor refers to.
fn subject(thread: Tracee, name: &str, call: &Call) -> String {
    if let Some(index) = calls::path_argument(name) {
        return thread.text_at(call.arguments[index]).unwrap_or_default();
    }
    let Some(index) = calls::descriptor_argument(name) else { return format!("{:x}", call.arguments[0]) };
    let link = format!("/proc/{}/fd/{}", thread.0, call.arguments[index] as i32);
    std::fs::read_link(link).map(|target| target.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Starts the command, seized before it executes its program.
fn start(command: &[OsString]) -> io::Result<i32> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(io::Error::other("there is no command to trace"));
    };
    let (seized, go) = sys::pipe()?;
    let mut prepared = Command::new(program);
    prepared.args(arguments);
    let child = sys::fork_child(|| {
        // SAFETY: closes our copy, so that the end of the tracer is seen.
        unsafe { libc::close(go.as_raw_fd()) };
        let _ = File::from(seized.try_clone().unwrap_or_else(|_| sys::exit_now(99))).read(&mut [0]);
        for end in [seized.as_raw_fd(), go.as_raw_fd()] {
            // SAFETY: the program shall not inherit them.
            unsafe { libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
        eprintln!("testkit: cannot execute {}: {}", program.to_string_lossy(), prepared.exec());
        127
    })?;
    Tracee(child).seize()?;
    File::from(go).write_all(b"g")?;
    Ok(child)
}
