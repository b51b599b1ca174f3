//! Every process that lived, however shortly, from the events that tell of it.

use super::{Cell, CellKind, Field, RowSink, field};
use crate::damage::Damage;
use crate::error::RecordError;
use crate::reader::Run;
use jobmeter_model::{Column, Event, Metric, ProcessId, Sink, Stat, Summary};
use serde::Serialize;
use std::collections::HashMap;

/// One process of the job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProcessRow {
    /// Its number, which may have been used again.
    pub pid: i32,
    /// With the pid, its identity.
    pub start_ticks: u64,
    /// `None` where only the end was seen.
    pub parent_pid: Option<i32>,
    /// The last command name (after exec). Hostile text.
    pub name: String,
    /// The name it was born with, where that was another one.
    pub first_name: Option<String>,
    /// When it was first seen.
    pub begin_ns: u64,
    /// `None`: it outlived the record.
    pub end_ns: Option<u64>,
    /// CPU time of its own.
    pub cpu_ns: Option<u64>,
    /// The most memory that it held.
    pub peak_rss_bytes: Option<u64>,
    /// Bytes that it read from storage.
    pub read_storage_bytes: Option<u64>,
    /// Bytes that it wrote to storage.
    pub write_storage_bytes: Option<u64>,
    /// Where it ended by itself and that is known.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// Collects process rows from a replayed run; also usable on a live stream.
#[derive(Debug, Default)]
pub struct ProcessBuilder {
    rows: Vec<ProcessRow>,
    living: HashMap<ProcessId, usize>,
}

impl ProcessBuilder {
    /// In the order they were first seen. A main process that outlived the record (a block of a program, a process that
    /// was watched for a while) has no end that would tell what it used: its scope in the summary does.
    pub fn into_rows(mut self, summary: &Summary) -> Vec<ProcessRow> {
        let main = self.rows.iter_mut().find(|row| row.pid == summary.run.pid && row.end_ns.is_none());
        if let Some(row) = main {
            let figure = |metric, stat| summary.main.whole(metric, stat);
            row.cpu_ns = row.cpu_ns.or(figure(Metric::CpuNs, Stat::Total));
            row.peak_rss_bytes = row.peak_rss_bytes.or(figure(Metric::RssBytes, Stat::Max));
            row.read_storage_bytes = row.read_storage_bytes.or(figure(Metric::ReadStorageBytes, Stat::Total));
            row.write_storage_bytes =
                row.write_storage_bytes.or(figure(Metric::WriteStorageBytes, Stat::Total));
        }
        self.rows
    }

    fn row(&mut self, id: ProcessId, t_ns: u64) -> &mut ProcessRow {
        let index = *self.living.entry(id).or_insert_with(|| {
            self.rows.push(ProcessRow {
                pid: id.pid,
                start_ticks: id.start_ticks,
                parent_pid: None,
                name: String::new(),
                first_name: None,
                begin_ns: t_ns,
                end_ns: None,
                cpu_ns: None,
                peak_rss_bytes: None,
                read_storage_bytes: None,
                write_storage_bytes: None,
                exit_code: None,
                signal: None,
            });
            self.rows.len() - 1
        });
        &mut self.rows[index]
    }
}

impl Sink for ProcessBuilder {
    fn define(&mut self, _column: &Column) {}

    fn event(&mut self, event: &Event) {
        match event {
            Event::ProcessStart { t_ns, id, parent_pid, name } => {
                let row = self.row(*id, *t_ns);
                row.parent_pid = Some(*parent_pid);
                row.name.clone_from(name);
            }
            Event::ProcessRename { t_ns, id, name } => {
                let row = self.row(*id, *t_ns);
                let before = std::mem::replace(&mut row.name, name.clone());
                if row.first_name.is_none() && !before.is_empty() && before != *name {
                    row.first_name = Some(before);
                }
            }
            Event::ProcessEnd {
                t_ns,
                id,
                cpu_ns,
                peak_rss_bytes,
                read_storage_bytes,
                write_storage_bytes,
                wait_status,
            } => {
                let row = self.row(*id, *t_ns);
                row.end_ns = Some(*t_ns);
                row.cpu_ns = *cpu_ns;
                row.peak_rss_bytes = *peak_rss_bytes;
                row.read_storage_bytes = *read_storage_bytes;
                row.write_storage_bytes = *write_storage_bytes;
                (row.exit_code, row.signal) = wait_status.map_or((None, None), decode_status);
                // Whoever comes with this identity next is another process.
                self.living.remove(id);
            }
            _ => {}
        }
    }

    fn tick(&mut self, _t_ns: u64, _values: &[Option<u64>]) {}
}

/// Exit code or signal in a wait status of Linux, wherever it is read.
fn decode_status(status: i32) -> (Option<i32>, Option<i32>) {
    match status & 0x7f {
        0 => (Some(status >> 8 & 0xff), None),
        // Stopped, not ended.
        0x7f => (None, None),
        signal => (None, Some(signal)),
    }
}

pub(super) fn fields() -> Vec<Field> {
    use CellKind::{Signed, Text, Unsigned};
    [
        ("pid", Signed),
        ("start_ticks", Unsigned),
        ("parent_pid", Signed),
        ("name", Text),
        ("first_name", Text),
        ("begin_ns", Unsigned),
        ("end_ns", Unsigned),
        ("cpu_ns", Unsigned),
        ("peak_rss_bytes", Unsigned),
        ("read_storage_bytes", Unsigned),
        ("write_storage_bytes", Unsigned),
        ("exit_code", Signed),
        ("signal", Signed),
    ]
    .map(|(name, kind)| field(name, kind))
    .into()
}

pub(super) fn write(run: &Run, sink: &mut dyn RowSink) -> Result<Option<Damage>, RecordError> {
    let mut builder = ProcessBuilder::default();
    let damage = run.replay_events(&mut builder).damage;
    for row in builder.into_rows(&run.told_summary()) {
        sink.row(&[
            Cell::Signed(i64::from(row.pid)),
            Cell::Unsigned(row.start_ticks),
            row.parent_pid.into(),
            Cell::Text(&row.name),
            row.first_name.as_deref().map_or(Cell::Null, Cell::Text),
            Cell::Unsigned(row.begin_ns),
            row.end_ns.into(),
            row.cpu_ns.into(),
            row.peak_rss_bytes.into(),
            row.read_storage_bytes.into(),
            row.write_storage_bytes.into(),
            row.exit_code.into(),
            row.signal.into(),
        ])?;
    }
    Ok(damage)
}

impl Run {
    /// Every process of the run, in the order they were first seen.
    pub fn processes(&self) -> Vec<ProcessRow> {
        let mut builder = ProcessBuilder::default();
        self.replay_events(&mut builder);
        builder.into_rows(&self.told_summary())
    }
}
