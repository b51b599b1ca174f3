//! Processes and marks gathered from the events of a run, bounded in number.

use crate::data::{PointMark, ProcessRow};
use crate::format;
use jobmeter_model::event::COMMAND_NOTE;
use jobmeter_model::{Event, MarkKind, Metric, ProcessId, Stat, Summary};
use std::collections::HashMap;

/// More processes than this are not drawn: the longest-lived stay. Their CPU time is in the summary anyway.
const MAX_PROCESSES: usize = 8_000;
const MAX_MARKS: usize = 500;

#[derive(Default)]
pub(super) struct EventLog {
    alive: HashMap<ProcessId, ProcessRow>,
    ended: Vec<ProcessRow>,
    omitted: u64,
    pub(super) marks: Vec<PointMark>,
}

impl EventLog {
    pub(super) fn take(&mut self, event: &Event) {
        match event {
            Event::ProcessStart { t_ns, id, parent_pid, name } => {
                let row = ProcessRow {
                    pid: id.pid,
                    parent_pid: *parent_pid,
                    name: name.clone(),
                    command: None,
                    start_ns: *t_ns,
                    end_ns: None,
                    cpu_ns: None,
                    peak_rss_bytes: None,
                    wait_status: None,
                };
                self.alive.insert(*id, row);
            }
            Event::ProcessRename { id, name, .. } => {
                if let Some(row) = self.alive.get_mut(id) {
                    row.name.clone_from(name);
                }
            }
            Event::ProcessEnd { t_ns, id, cpu_ns, peak_rss_bytes, wait_status, .. } => {
                if let Some(mut row) = self.alive.remove(id) {
                    row.end_ns = Some(*t_ns);
                    row.cpu_ns = *cpu_ns;
                    row.peak_rss_bytes = *peak_rss_bytes;
                    row.wait_status = *wait_status;
                    self.ended.push(row);
                    if self.ended.len() >= 2 * MAX_PROCESSES {
                        self.omitted += keep_longest(&mut self.ended, MAX_PROCESSES, life_ns);
                    }
                }
            }
            Event::Mark { t_ns, name, kind: MarkKind::Point, .. } if self.marks.len() < MAX_MARKS => {
                self.marks.push(PointMark { t_ns: *t_ns, name: name.clone() });
            }
            Event::Note { key, value, .. } if key == COMMAND_NOTE => self.take_command(value),
            Event::Mark { .. } | Event::Warning { .. } | Event::Settle { .. } | Event::Note { .. } => {}
        }
    }

    fn take_command(&mut self, note: &serde_json::Value) {
        let number = |key: &str| note.get(key).and_then(serde_json::Value::as_u64);
        let id = number("pid").and_then(|pid| i32::try_from(pid).ok()).zip(number("start_ticks"));
        let Some((pid, start_ticks)) = id else { return };
        let words = note.get("words").and_then(serde_json::Value::as_array);
        let words: Vec<String> =
            words.into_iter().flatten().filter_map(|word| Some(word.as_str()?.to_owned())).collect();
        if let Some(row) = self.alive.get_mut(&ProcessId { pid, start_ticks }).filter(|_| !words.is_empty()) {
            row.command = Some(format::command_line(&words));
        }
    }

    /// The processes in the order they began, and how many more there were. What a main process used that outlived the
    /// record is in the summary.
    pub(super) fn processes(self, summary: &Summary) -> (Vec<ProcessRow>, u64) {
        let mut processes = self.ended;
        processes.extend(self.alive.into_values().map(|mut row| {
            if row.pid == summary.run.pid {
                row.cpu_ns = row.cpu_ns.or(summary.main.whole(Metric::CpuNs, Stat::Total));
                row.peak_rss_bytes = row.peak_rss_bytes.or(summary.main.whole(Metric::RssBytes, Stat::Max));
            }
            row
        }));
        let omitted = self.omitted + keep_longest(&mut processes, MAX_PROCESSES, life_ns);
        processes.sort_by_key(|row| (row.start_ns, row.pid));
        // The first of that number is the main process; a later one had the number after it.
        if let Some(main) = processes.iter_mut().find(|row| row.pid == summary.run.pid) {
            let command = &summary.run.command;
            main.command =
                main.command.take().or((!command.is_empty()).then(|| format::command_line(command)));
        }
        (processes, omitted)
    }
}

/// One that still lives is kept before all others.
fn life_ns(row: &ProcessRow) -> u64 {
    row.end_ns.map_or(u64::MAX, |end| end.saturating_sub(row.start_ns))
}

/// Keeps the `limit` longest; gives the number dropped.
pub(super) fn keep_longest<T>(rows: &mut Vec<T>, limit: usize, length: impl Fn(&T) -> u64) -> u64 {
    if rows.len() <= limit {
        return 0;
    }
    rows.sort_by_key(|row| u64::MAX - length(row));
    let dropped = rows.len() - limit;
    rows.truncate(limit);
    dropped as u64
}
