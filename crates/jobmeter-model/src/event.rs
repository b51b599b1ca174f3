//! What happens between ticks: processes that come and go, marks, warnings. Stored beside the ticks.

use crate::kinds::WarningKind;
use serde::{Deserialize, Serialize};

/// Identity of a process: the pid alone is reused, the pair is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessId {
    pub pid: i32,
    /// Start time in clock ticks since boot (`/proc/PID/stat` field 22); 0 where only an event told of the
    /// process and it was gone before it could be read.
    pub start_ticks: u64,
}

/// All `t_ns` are monotonic nanoseconds since the run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    ProcessStart {
        t_ns: u64,
        id: ProcessId,
        parent_pid: i32,
        /// Kernel command name, at most 15 bytes, lossy UTF-8. Hostile text.
        name: String,
    },
    /// The command name changed (exec or prctl).
    ProcessRename { t_ns: u64, id: ProcessId, name: String },
    ProcessEnd {
        t_ns: u64,
        id: ProcessId,
        /// Own CPU time, children excluded; `None` where nobody could read it in time.
        cpu_ns: Option<u64>,
        peak_rss_bytes: Option<u64>,
        read_storage_bytes: Option<u64>,
        write_storage_bytes: Option<u64>,
        /// Exit status as `wait` gives it (not decoded), where known.
        wait_status: Option<i32>,
    },
    /// A point in time named by the job, or the beginning or end of a phase. A tick is taken with every mark,
    /// so the row with the same `t_ns` holds the exact counters at the boundary.
    Mark { t_ns: u64, name: String, kind: MarkKind, pid: i32, tid: i32 },
    /// Ticks that came late or not at all, sources that failed, thinning, budgets: doubt is data.
    Warning { t_ns: u64, kind: WarningKind, text: String },
    /// Final figures that the ticks cannot know (wait4, cgroup), as `(column index, value)`; and bounds.
    Settle { t_ns: u64, values: Vec<(u32, u64)> },
    /// Anything a later version adds: kept, not understood.
    Note { t_ns: u64, key: String, value: serde_json::Value },
}

/// Key of the note by which a run says that from now on a part of its CPU time, that of children which ended, is known in
/// clock ticks of 10 ms only: differences between two rows are uncertain by as much.
pub const ROUNDED_NOTE: &str = "cpu_in_ticks";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    Point,
    Begin,
    End,
}

/// Takes the stream of a run: columns as they become known, events, ticks. Implemented by the accumulator
/// and by the writer of the run file, so that a replayed file and a live run pass the same code.
pub trait Sink {
    /// A new column; its index is the number of columns defined before it. Columns are never removed.
    fn define(&mut self, column: &crate::metric::Column);
    fn event(&mut self, event: &Event);
    /// One tick. `values[i]` belongs to column `i`; columns beyond the end are `None`.
    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]);
}

/// A sink that its maker keeps a hand on.
impl<S: Sink> Sink for std::sync::Arc<std::sync::Mutex<S>> {
    fn define(&mut self, column: &crate::metric::Column) {
        self.lock().unwrap_or_else(std::sync::PoisonError::into_inner).define(column);
    }

    fn event(&mut self, event: &Event) {
        self.lock().unwrap_or_else(std::sync::PoisonError::into_inner).event(event);
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        self.lock().unwrap_or_else(std::sync::PoisonError::into_inner).tick(t_ns, values);
    }
}
