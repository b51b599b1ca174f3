//! What a reader takes from one run file, however it was made. A run file may come from anybody; these bounds keep
//! every command that reads one of up to 10 MB below 2 s and 300 MB. Larger files get more in proportion, and
//! `JOBMETER_READ_LIMIT` sets the bound for a file that its user trusts.
//!
//! Reading stops where a bound is reached, and says so; what came before is used.

use crate::frame::FrameKind;
use jobmeter_model::{Event, MarkKind};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasher, RandomState};

/// The setting: a number of table cells, or `none`.
pub const READ_LIMIT_VARIABLE: &str = "JOBMETER_READ_LIMIT";

/// Table cells (ticks × columns, and what costs as much) of a file up to `USUAL_FILE_BYTES`. A cell takes about
/// 15 ns from the file to a report. Files that we write hold one to five cells per byte.
const CELLS: u64 = 64_000_000;
const USUAL_FILE_BYTES: u64 = 10_000_000;
/// Cells for each byte beyond that: far more than any file of ours holds, so that long runs are read whole.
const CELLS_PER_BYTE_BEYOND: u64 = 64;
/// One process, mark or warning for so many cells: 160,000 in a file of 10 MB, where our own have some 100,000. One
/// of them takes up to 1 kB in the widest view, a table of text.
const CELLS_PER_LISTED: u64 = 400;
/// What a tick or an event costs besides its cells.
const CELLS_PER_FRAME: u64 = 6;
/// What an open phase costs with each tick: its peaks and means are brought up to date.
const CELLS_PER_OPEN_PHASE: u64 = 3;

/// Columns of a run. A machine of 1024 cores with hundreds of disks and mounts has about 4,000.
pub(crate) const COLUMNS_MAX: usize = 16_384;
/// Bytes of the name of a device. The longest that the kernel gives is the path of a mount (PATH_MAX).
pub(crate) const ENTITY_NAME_MAX: usize = 4096;
/// Bytes of a header, a summary or a digest, which are JSON. A command line may have 2 MB; in memory the worst JSON
/// takes eight times its length, and is copied some times.
pub(crate) const JSON_MAX: usize = 4 << 20;
/// Bytes of the JSON of a note. In memory a note can take a hundred times its length.
pub(crate) const NOTE_MAX: usize = 64 << 10;

/// How many cells a reader takes from a file of this length; `None` for no bound.
pub(crate) fn cells_for(len: u64) -> Option<u64> {
    let usual = match std::env::var(READ_LIMIT_VARIABLE) {
        Ok(text) if text == "none" => return None,
        Ok(text) => text.parse().unwrap_or(CELLS),
        Err(_) => CELLS,
    };
    let beyond = len.saturating_sub(USUAL_FILE_BYTES);
    Some(usual.saturating_add(beyond.saturating_mul(CELLS_PER_BYTE_BEYOND)))
}

/// What is left of the bounds while a file is being read.
#[derive(Debug)]
pub(crate) struct Budget {
    cells_left: u64,
    listed_left: u64,
    open: OpenPhases,
}

impl Budget {
    pub(crate) fn new(len: u64) -> Budget {
        let cells = cells_for(len).unwrap_or(u64::MAX);
        Budget {
            cells_left: cells,
            listed_left: (cells / CELLS_PER_LISTED).max(1),
            open: OpenPhases::default(),
        }
    }

    pub(crate) fn column(&self, columns: usize) -> Result<(), String> {
        if columns >= COLUMNS_MAX {
            return Err(format!("it has more than {COLUMNS_MAX} columns"));
        }
        Ok(())
    }

    pub(crate) fn tick(&mut self, t_ns: u64, columns: usize) -> Result<(), String> {
        self.open.tick(t_ns);
        self.take(columns as u64 + CELLS_PER_FRAME + CELLS_PER_OPEN_PHASE * self.open.count)
    }

    /// Nobody follows phases without ticks.
    pub(crate) fn skipped_tick(&mut self) {
        self.open.tick(u64::MAX);
    }

    pub(crate) fn event(&mut self, event: &Event) -> Result<(), String> {
        let mut cells = CELLS_PER_FRAME;
        match event {
            Event::ProcessStart { .. } | Event::ProcessRename { .. } | Event::ProcessEnd { .. } => {
                // A start, a rename and an end tell of one process; each alone makes a row, too.
                self.list("processes")?;
            }
            Event::Warning { .. } => self.list("warnings")?,
            Event::Mark { t_ns, name, kind, pid, tid } => {
                self.list("marks")?;
                if *kind != MarkKind::Point {
                    cells += self.open.count;
                    self.open.mark(*t_ns, *kind, (*pid, *tid, name));
                }
            }
            Event::Settle { values, .. } => cells += values.len() as u64,
            Event::Note { .. } => {}
        }
        self.take(cells)
    }

    fn take(&mut self, cells: u64) -> Result<(), String> {
        self.cells_left =
            self.cells_left.checked_sub(cells).ok_or("its ticks, columns and open phases are too many")?;
        Ok(())
    }

    fn list(&mut self, what: &str) -> Result<(), String> {
        self.listed_left =
            self.listed_left.checked_sub(1).ok_or_else(|| format!("its {what} are too many"))?;
        Ok(())
    }
}

/// How many phases are open, counted as the table of phases keeps them: an end closes the last beginning of its
/// thread and name, and leaves the table with the first tick that is not before it.
#[derive(Debug, Default)]
struct OpenPhases {
    count: u64,
    /// Beginnings without an end, by thread and name.
    begun: HashMap<u64, Vec<u64>>,
    hasher: RandomState,
    ends: BinaryHeap<Reverse<u64>>,
}

impl OpenPhases {
    fn mark(&mut self, t_ns: u64, kind: MarkKind, key: (i32, i32, &String)) {
        let key = self.hasher.hash_one(key);
        if kind == MarkKind::Begin {
            self.count += 1;
            self.begun.entry(key).or_default().push(t_ns);
        } else if let Some(began_ns) = self.begun.get_mut(&key).and_then(Vec::pop) {
            self.ends.push(Reverse(t_ns.max(began_ns)));
        }
    }

    fn tick(&mut self, t_ns: u64) {
        while self.ends.peek().is_some_and(|Reverse(end_ns)| *end_ns <= t_ns) {
            self.ends.pop();
            self.count -= 1;
        }
    }
}

/// Whether a frame is longer than its kind may be.
pub(crate) fn is_too_long(kind: FrameKind, len: usize) -> bool {
    matches!(kind, FrameKind::Header | FrameKind::Summary | FrameKind::Digest) && len > JSON_MAX
}
