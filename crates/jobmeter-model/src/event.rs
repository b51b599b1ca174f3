//! What happens between ticks: processes that come and go, marks, warnings. Stored beside the ticks.

use crate::kinds::WarningKind;
use serde::{Deserialize, Serialize};

/// Identity of a process: the pid alone is reused, the pair is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its number.
    pub pid: i32,
    /// Start time in clock ticks since boot (`/proc/PID/stat` field 22); 0 where only an event told of the
    /// process and it was gone before it could be read.
    pub start_ticks: u64,
}

/// All `t_ns` are monotonic nanoseconds since the run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A process was found.
    ProcessStart {
        /// When it was found, or when an event told that it began.
        t_ns: u64,
        /// Which one.
        id: ProcessId,
        /// Its parent when it was found.
        parent_pid: i32,
        /// Kernel command name, at most 15 bytes, lossy UTF-8. Hostile text.
        name: String,
    },
    /// The command name changed (exec or prctl).
    ProcessRename {
        /// When that was seen.
        t_ns: u64,
        /// Which one.
        id: ProcessId,
        /// Its new name. Hostile text.
        name: String,
    },
    /// A process has ended.
    ProcessEnd {
        /// When that was seen, or when an event told of it.
        t_ns: u64,
        /// Which one.
        id: ProcessId,
        /// Own CPU time, children excluded; `None` where nobody could read it in time.
        cpu_ns: Option<u64>,
        /// Its largest resident memory, as far as it was read.
        peak_rss_bytes: Option<u64>,
        /// Bytes that it fetched from storage.
        read_storage_bytes: Option<u64>,
        /// Bytes that it wrote to storage.
        write_storage_bytes: Option<u64>,
        /// Exit status as `wait` gives it (not decoded), where known.
        wait_status: Option<i32>,
    },
    /// A point in time named by the job, or the beginning or end of a phase. A tick is taken with every mark,
    /// so the row with the same `t_ns` holds the exact counters at the boundary.
    Mark {
        /// When it was made.
        t_ns: u64,
        /// Hostile text.
        name: String,
        /// What it marks.
        kind: MarkKind,
        /// The process that made it.
        pid: i32,
        /// The thread that made it.
        tid: i32,
    },
    /// Ticks that came late or not at all, sources that failed, thinning, budgets: doubt is data.
    Warning {
        /// When it was noticed.
        t_ns: u64,
        /// What it is about.
        kind: WarningKind,
        /// One sentence for people.
        text: String,
    },
    /// Final figures that the ticks cannot know (wait4, cgroup), as `(column index, value)`; and bounds.
    Settle {
        /// The end of the run.
        t_ns: u64,
        /// Column index and final value.
        values: Vec<(u32, u64)>,
    },
    /// Anything a later version adds: kept, not understood.
    Note {
        /// When it was made.
        t_ns: u64,
        /// What it says.
        key: String,
        /// In which words.
        value: serde_json::Value,
    },
}

/// Key of the note by which a run says that from now on a part of its CPU time, that of children which ended, is known in
/// clock ticks of 10 ms only: differences between two rows are uncertain by as much.
pub const ROUNDED_NOTE: &str = "cpu_in_ticks";

/// Key of the note by which a run says that processes of the job ran at the moment of the row that follows. The kernel counts the time
/// of a running process up to its last clock tick: what the row says of CPU time may be short of one tick for each core.
pub const RUNNING_NOTE: &str = "others_ran";

/// Key of the note by which a rank says that it records the node from now on: the machine's columns, those of the GPUs'
/// devices and of energy. The value is an object; its `bases` lists the counters that the rank has read before, as
/// `[column, nanoseconds]`: its rows count from that moment on.
pub const NODE_RECORDER_NOTE: &str = "node_recorder";

/// Key of the note by which a rank says how the clock of its store's file server stood to its own: `server`, and `time` as
/// a [`crate::job::StoreTime`].
pub const STORE_TIME_NOTE: &str = "store_time";

/// Key of the note that tells the command line of a process: its `pid`, its `start_ticks` and the `words`. Hostile text,
/// secrets replaced where the record replaces them.
pub const COMMAND_NOTE: &str = "process_command";

/// What a mark marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// A point in time.
    Point,
    /// A phase begins.
    Begin,
    /// A phase ends.
    End,
}

/// Takes the stream of a run: columns as they become known, events, ticks. Implemented by the accumulator
/// and by the writer of the run file, so that a replayed file and a live run pass the same code.
pub trait Sink {
    /// A new column; its index is the number of columns defined before it. Columns are never removed.
    fn define(&mut self, column: &crate::metric::Column);
    /// What happened between two ticks.
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
