//! `--notify CMD`: a command of the user's at the end of a measurement, with the summary on its standard input. It
//! cannot change how jobmeter leaves, and holds it up for [`PATIENCE`] at most.

use crate::say::say;
use jobmeter_engine::linux::control::{Pid, send};
use jobmeter_model::Summary;
use jobmeter_model::text::printable;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long the end of jobmeter waits for the command; a slower one is killed.
const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST_NAP: Duration = Duration::from_millis(20);

/// The command of `--notify` and the JSON for its input. Made from the summary, sent after everything else is written.
pub(crate) struct Notice {
    command: String,
    json: Vec<u8>,
}

impl Notice {
    pub(crate) fn new(command: &str, summary: &Summary) -> Option<Notice> {
        match serde_json::to_vec(summary) {
            Ok(json) => Some(Notice { command: command.to_owned(), json }),
            Err(error) => {
                say(&format!(
                    "jobmeter: --notify is left out: the summary cannot be written as JSON: {error}"
                ));
                None
            }
        }
    }

    /// Runs the command. Whatever goes wrong is one sentence on standard error.
    pub(crate) fn send(self) {
        let name = printable(&self.command);
        let trouble = match self.start().and_then(|child| end_of(child, Instant::now() + PATIENCE)) {
            Ok(Some(status)) if status.success() => return,
            Ok(Some(status)) => failure(status),
            Ok(None) => format!("has not ended within {} s and was killed", PATIENCE.as_secs()),
            Err(error) => format!("could not be run: {error}"),
        };
        say(&format!("jobmeter: the --notify command '{name}' {trouble}"));
    }

    fn start(self) -> std::io::Result<Child> {
        // Standard output is the job's: what the command prints goes where jobmeter's own words go.
        let words =
            std::io::stderr().as_fd().try_clone_to_owned().map_or_else(|_| Stdio::null(), Stdio::from);
        let mut child = Command::new("/bin/sh")
            .args(["-c", &self.command])
            .stdin(Stdio::piped())
            .stdout(words)
            // A Ctrl-C at the terminal is for us; the command may still be delivering.
            .process_group(0)
            .spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // A command that reads nothing would block the writer once the pipe is full. Its failure to read is its
            // own affair.
            drop(std::thread::Builder::new().spawn(move || drop(input.write_all(&self.json))));
        }
        Ok(child)
    }
}

/// How the child ended, or nothing where it was killed at the deadline.
fn end_of(mut child: Child, deadline: Instant) -> std::io::Result<Option<ExitStatus>> {
    let mut nap = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            // Not waited for again: one that hangs in the kernel would hold us up.
            Pid::new(child.id() as i32).map_or(Ok(()), |pid| send(pid, libc::SIGKILL))?;
            return Ok(None);
        }
        std::thread::sleep(nap.min(left));
        nap = (nap * 2).min(LONGEST_NAP);
    }
}

fn failure(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(127), _) => "exited with 127: there is no such command".to_owned(),
        (Some(code), _) => format!("exited with {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended in an unknown way".to_owned(),
    }
}
