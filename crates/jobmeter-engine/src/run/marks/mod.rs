//! Marks from the job in any language: a named pipe in a private directory of the user, found by the identity of
//! the meter, so that the job's environment stays untouched. One line per mark: `KIND PID TID NAME`.

mod pipe;
mod place;
mod receiver;
mod send;

pub use place::{boot, namespace_of};
pub use receiver::{MarkReceiver, receive};
pub use send::send;

use jobmeter_model::event::MarkKind;

/// A line and its name fit one atomic write.
const LONGEST_LINE: usize = libc::PIPE_BUF;

/// A mark that the job made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Point, begin or end.
    pub kind: MarkKind,
    /// The process that made it.
    pub pid: i32,
    /// The thread that made it.
    pub tid: i32,
    /// Text of the job: hostile, escape it.
    pub name: String,
}

impl Mark {
    fn to_line(&self) -> Vec<u8> {
        let kind = match self.kind {
            MarkKind::Point => "mark",
            MarkKind::Begin => "begin",
            MarkKind::End => "end",
        };
        let name: String = self.name.chars().map(|c| if c == '\n' { ' ' } else { c }).collect();
        let mut line = format!("{kind} {} {} {name}", self.pid, self.tid).into_bytes();
        line.truncate(LONGEST_LINE - 1);
        line.push(b'\n');
        line
    }

    fn from_line(line: &[u8]) -> Option<Mark> {
        let text = String::from_utf8_lossy(line);
        let mut words = text.splitn(4, ' ');
        let kind = match words.next()? {
            "mark" => MarkKind::Point,
            "begin" => MarkKind::Begin,
            "end" => MarkKind::End,
            _ => return None,
        };
        let pid = words.next()?.parse().ok()?;
        let tid = words.next()?.parse().ok()?;
        Some(Mark { kind, pid, tid, name: words.next()?.trim_end().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_both_ways_whatever_the_name() {
        for name in ["load", "epoch 1", "a\nb", "x y  z"] {
            let mark = Mark { kind: MarkKind::Begin, pid: 7, tid: 9, name: name.to_owned() };
            let line = mark.to_line();
            let read = Mark::from_line(&line[..line.len() - 1]).expect("reads");
            assert_eq!((read.kind, read.pid, read.tid), (MarkKind::Begin, 7, 9));
            assert_eq!(read.name, name.replace('\n', " ").trim_end());
        }
        assert_eq!(Mark::from_line(b"nonsense"), None);
        let long = Mark { kind: MarkKind::Point, pid: 1, tid: 1, name: "x".repeat(10_000) };
        assert_eq!(long.to_line().len(), LONGEST_LINE);
    }
}
