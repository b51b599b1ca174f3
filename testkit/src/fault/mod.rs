//! Makes one system call of a program fail, and lists the calls that it makes.
//!
//! `testkit fault REPORT list COMMAND…` runs a command and writes one line `WHO CALL` per system call.
//! `testkit fault REPORT WHO:CALL:ERRNO:N[+] COMMAND…` makes the N-th such call fail (and, with `+`, all later
//! ones) and writes what it was about. The exit status is the command's own, 128 + n after signal n.
//!
//! `testkit fault-plan REPORT WHOLE EACH STRIDE PLACES` prints the faults to try for such a list ([`plan::Depth`]).
//!
//! WHO is `meter` for all threads of the command's own process, and `child` for processes that it forked and
//! that have not executed a program yet. Such a process is let go when it does: the job is neither listed nor
//! disturbed. A program whose own code must not be disturbed either (a Python block) says when its thread is in
//! the meter's hands: see [`calls::MARK`].

pub mod calls;
pub mod errors;
pub mod plan;
mod tracee;
mod tracer;

use std::ffi::OsString;
use std::io;
use std::path::Path;

/// The calls of whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Who {
    Meter,
    Child,
}

impl Who {
    pub fn name(self) -> &'static str {
        match self {
            Who::Meter => "meter",
            Who::Child => "child",
        }
    }
}

/// Which call fails, and how.
#[derive(Debug, Clone)]
pub struct Fault {
    pub who: Who,
    pub call: String,
    pub errno: i32,
    /// Counts from 1.
    pub occurrence: u64,
    /// All later ones fail too.
    pub lasting: bool,
}

impl Fault {
    /// The text form that [`parse`](Fault::parse) reads.
    pub fn text(&self) -> String {
        let (who, call, lasting) = (self.who.name(), &self.call, if self.lasting { "+" } else { "" });
        format!("{who}:{call}:{}:{}{lasting}", self.errno, self.occurrence)
    }

    pub fn parse(text: &str) -> Option<Fault> {
        let parts: Vec<&str> = text.split(':').collect();
        let [who, call, errno, when] = parts[..] else { return None };
        let who = [Who::Meter, Who::Child].into_iter().find(|known| known.name() == who)?;
        let occurrence = when.strip_suffix('+').unwrap_or(when).parse().ok()?;
        let errno = errno.parse().ok()?;
        Some(Fault { who, call: call.to_owned(), errno, occurrence, lasting: when.ends_with('+') })
    }

    /// For people: `meter openat number 9 gives EMFILE`.
    pub fn words(&self) -> String {
        let (who, call, error) = (self.who.name(), &self.call, errors::name(self.errno));
        let later = if self.lasting { " and all later" } else { "" };
        format!("{who} {call} number {}{later} gives {error}", self.occurrence)
    }

    fn strikes(&self, who: Who, call: &str, occurrence: u64) -> bool {
        self.who == who
            && self.call == call
            && (occurrence == self.occurrence || (self.lasting && occurrence > self.occurrence))
    }
}

/// Runs the command; its exit status as a shell would say it.
pub fn run(report: &Path, what: &str, marked: bool, command: &[OsString]) -> io::Result<i32> {
    let fault = match what {
        "list" => None,
        text => Some(Fault::parse(text).ok_or_else(|| {
            io::Error::other(format!("'{text}' is no fault; one is meter:openat:24:7 or meter:write:28:2+"))
        })?),
    };
    tracer::Tracer::new(report, fault, marked)?.run(command)
}
