//! Process events and marks may each take an eighth of the limit. What does not fit is counted instead of listed. What
//! belongs to an event that was left out is left out too: the end of a process with its start, the end of a phase with
//! its beginning.

use jobmeter_model::{Event, MarkKind, ProcessId};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The end of a process takes no more, so its room is set aside with its start.
const PROCESS_END_BYTES: u64 = 90;
/// So many processes or phases are remembered as left out. An end beyond these is listed where there is room.
const MOST_REMEMBERED: usize = 100_000;

/// An eighth of the limit, and how much of it is used or set aside.
#[derive(Debug)]
struct Share {
    most_bytes: u64,
    used_bytes: u64,
    /// Bytes that are set aside for the ends of what is listed.
    aside_bytes: u64,
}

impl Share {
    fn new(limit_bytes: u64) -> Share {
        Share { most_bytes: limit_bytes / 8, used_bytes: 0, aside_bytes: 0 }
    }

    fn room_bytes(&self) -> u64 {
        self.most_bytes.saturating_sub(self.used_bytes)
    }

    /// Whether there is room for so many bytes, and so many for what belongs to it.
    fn admits(&mut self, bytes: u64, aside_bytes: u64) -> bool {
        let admits = self.used_bytes + self.aside_bytes + bytes + aside_bytes <= self.most_bytes;
        if admits {
            self.used_bytes += bytes;
            self.aside_bytes += aside_bytes;
        }
        admits
    }

    /// Whether there is room for an end, whose bytes are set aside unless its beginning was never told.
    fn admits_end(&mut self, bytes: u64, aside_bytes: u64) -> bool {
        self.aside_bytes = self.aside_bytes.saturating_sub(aside_bytes);
        self.admits(bytes, 0)
    }
}

/// How many events were counted instead of listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) process_events: u64,
    pub(crate) marks: u64,
}

#[derive(Debug)]
pub(crate) struct EventQuota {
    processes: Share,
    marks: Share,
    unlisted: HashSet<ProcessId>,
    /// Open phases that are not listed, by the hash of name, process and thread.
    unlisted_phases: HashMap<u64, u64>,
    pub(crate) left_out: LeftOut,
}

impl EventQuota {
    pub(crate) fn new(limit_bytes: u64) -> EventQuota {
        EventQuota {
            processes: Share::new(limit_bytes),
            marks: Share::new(limit_bytes),
            unlisted: HashSet::new(),
            unlisted_phases: HashMap::new(),
            left_out: LeftOut::default(),
        }
    }

    /// Bytes that events may still take.
    pub(crate) fn room_bytes(&self) -> u64 {
        self.processes.room_bytes() + self.marks.room_bytes()
    }

    /// Bytes for rows beside marks.
    pub(crate) fn marks_room_bytes(&self) -> u64 {
        self.marks.room_bytes().saturating_sub(self.marks.aside_bytes)
    }

    /// So many bytes were written for rows beside a mark.
    pub(crate) fn charge_mark(&mut self, bytes: u64) {
        self.marks.used_bytes += bytes;
    }

    /// Whether an event is listed that takes so many bytes.
    pub(crate) fn admits(&mut self, event: &Event, bytes: u64) -> bool {
        match event {
            Event::ProcessStart { id, .. } => {
                let admits = self.processes.admits(bytes, PROCESS_END_BYTES);
                if !admits && self.unlisted.len() < MOST_REMEMBERED {
                    self.unlisted.insert(*id);
                }
                self.count_process(admits)
            }
            Event::ProcessRename { id, .. } => {
                let admits = !self.unlisted.contains(id) && self.processes.admits(bytes, 0);
                self.count_process(admits)
            }
            Event::ProcessEnd { id, .. } => {
                let admits = !self.unlisted.remove(id) && self.processes.admits_end(bytes, PROCESS_END_BYTES);
                self.count_process(admits)
            }
            Event::Mark { name, kind, pid, tid, .. } => {
                let mut hasher = DefaultHasher::new();
                (name, pid, tid).hash(&mut hasher);
                let admits = self.admits_mark(*kind, hasher.finish(), bytes);
                self.left_out.marks += u64::from(!admits);
                admits
            }
            Event::Warning { .. } | Event::Settle { .. } | Event::Note { .. } => true,
        }
    }

    fn count_process(&mut self, admits: bool) -> bool {
        self.left_out.process_events += u64::from(!admits);
        admits
    }

    fn admits_mark(&mut self, kind: MarkKind, phase: u64, bytes: u64) -> bool {
        match kind {
            MarkKind::Point => self.marks.admits(bytes, 0),
            MarkKind::Begin => {
                // The end has the same length, but for its time.
                let admits = self.marks.admits(bytes, bytes + 10);
                if !admits && self.unlisted_phases.len() < MOST_REMEMBERED {
                    *self.unlisted_phases.entry(phase).or_default() += 1;
                }
                admits
            }
            MarkKind::End => match self.unlisted_phases.get_mut(&phase) {
                Some(open) => {
                    *open -= 1;
                    if *open == 0 {
                        self.unlisted_phases.remove(&phase);
                    }
                    false
                }
                None => self.marks.admits_end(bytes, bytes + 10),
            },
        }
    }
}
