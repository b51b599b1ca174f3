//! A run column by column, and the tables made of it.

use crate::table::{Data, Table};
use jobmeter_core::{Column, Event, MarkKind, Metric, Scope, Sink};
use std::collections::HashMap;

/// Everything a run said. Columns that appear late are unknown before they appeared.
#[derive(Default)]
pub(crate) struct Memory {
    columns: Vec<Column>,
    values: Vec<Vec<Option<u64>>>,
    t_ns: Vec<u64>,
    events: Vec<Event>,
}

impl Sink for Memory {
    fn define(&mut self, column: &Column) {
        self.columns.push(column.clone());
        self.values.push(vec![None; self.t_ns.len()]);
    }

    fn event(&mut self, event: &Event) {
        self.events.push(event.clone());
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        self.t_ns.push(t_ns);
        for (index, column) in self.values.iter_mut().enumerate() {
            column.push(values.get(index).copied().flatten());
        }
    }
}

impl Memory {
    /// The whole stream of a run.
    pub(crate) fn of(run: &jobmeter_record::Run) -> Memory {
        let mut memory = Memory::default();
        run.replay(&mut memory);
        memory
    }

    pub(crate) fn samples(&self) -> Table {
        let mut columns = vec![("t_ns".to_owned(), Data::uints(self.t_ns.iter().copied().map(Some)))];
        for (column, values) in self.columns.iter().zip(&self.values) {
            columns.push((column.name(), Data::uints(values.iter().copied())));
        }
        Table::new(columns)
    }

    /// One row per process that was seen, in order of appearance.
    pub(crate) fn processes(&self) -> Table {
        let mut order = Vec::new();
        let mut rows: HashMap<_, Lifetime> = HashMap::new();
        for event in &self.events {
            match event {
                Event::ProcessStart { t_ns, id, parent_pid, name } => {
                    order.push(*id);
                    let row = rows.entry(*id).or_default();
                    (row.begin_ns, row.parent_pid, row.name) =
                        (Some(*t_ns), Some(*parent_pid), Some(name.clone()));
                }
                Event::ProcessRename { id, name, .. } => {
                    rows.entry(*id).or_default().name = Some(name.clone())
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
                    if !rows.contains_key(id) {
                        order.push(*id);
                    }
                    let row = rows.entry(*id).or_default();
                    row.end_ns = Some(*t_ns);
                    row.figures = [*cpu_ns, *peak_rss_bytes, *read_storage_bytes, *write_storage_bytes];
                    row.wait_status = *wait_status;
                }
                _ => {}
            }
        }
        let rows: Vec<(_, Lifetime)> =
            order.into_iter().filter_map(|id| rows.remove(&id).map(|row| (id, row))).collect();
        let figure = |index: usize| Data::uints(rows.iter().map(move |(_, row)| row.figures[index]));
        let pid = |pid: i32| u64::try_from(pid).ok();
        Table::new(vec![
            ("pid".to_owned(), Data::uints(rows.iter().map(|(id, _)| pid(id.pid)))),
            ("parent_pid".to_owned(), Data::uints(rows.iter().map(|(_, row)| row.parent_pid.and_then(pid)))),
            ("name".to_owned(), Data::texts(rows.iter().map(|(_, row)| row.name.clone()))),
            ("begin_ns".to_owned(), Data::uints(rows.iter().map(|(_, row)| row.begin_ns))),
            ("end_ns".to_owned(), Data::uints(rows.iter().map(|(_, row)| row.end_ns))),
            ("cpu_ns".to_owned(), figure(0)),
            ("peak_rss_bytes".to_owned(), figure(1)),
            ("read_storage_bytes".to_owned(), figure(2)),
            ("write_storage_bytes".to_owned(), figure(3)),
            (
                "wait_status".to_owned(),
                Data::uints(rows.iter().map(|(_, row)| row.wait_status.and_then(|s| u64::try_from(s).ok()))),
            ),
        ])
    }

    /// Points named by the program.
    pub(crate) fn marks(&self) -> Table {
        let points: Vec<_> = self.marks_of(|kind| kind == MarkKind::Point).collect();
        Table::new(vec![
            ("name".to_owned(), Data::texts(points.iter().map(|mark| Some(mark.name.to_owned())))),
            ("t_ns".to_owned(), Data::uints(points.iter().map(|mark| Some(mark.t_ns)))),
            ("pid".to_owned(), Data::uints(points.iter().map(|mark| u64::try_from(mark.pid).ok()))),
            ("tid".to_owned(), Data::uints(points.iter().map(|mark| u64::try_from(mark.tid).ok()))),
        ])
    }

    /// Phases with what the job used in them; a phase that is still open has no end.
    pub(crate) fn phases(&self) -> Table {
        let mut phases: Vec<Phase<'_>> = Vec::new();
        let mut open: HashMap<(i32, i32), Vec<usize>> = HashMap::new();
        for mark in self.marks_of(|kind| kind != MarkKind::Point) {
            let stack = open.entry((mark.pid, mark.tid)).or_default();
            if mark.kind == MarkKind::Begin {
                stack.push(phases.len());
                let depth = stack.len() as u64 - 1;
                phases.push(Phase { mark, depth, end_ns: None });
            } else if let Some(at) = stack.iter().rposition(|index| phases[*index].mark.name == mark.name) {
                phases[stack.remove(at)].end_ns = Some(mark.t_ns);
            }
        }
        let grown = |metric: Metric| {
            Data::uints(phases.iter().map(move |phase| self.growth(metric, phase.mark.t_ns, phase.end_ns?)))
        };
        Table::new(vec![
            ("name".to_owned(), Data::texts(phases.iter().map(|phase| Some(phase.mark.name.to_owned())))),
            ("depth".to_owned(), Data::uints(phases.iter().map(|phase| Some(phase.depth)))),
            ("pid".to_owned(), Data::uints(phases.iter().map(|phase| u64::try_from(phase.mark.pid).ok()))),
            ("tid".to_owned(), Data::uints(phases.iter().map(|phase| u64::try_from(phase.mark.tid).ok()))),
            ("begin_ns".to_owned(), Data::uints(phases.iter().map(|phase| Some(phase.mark.t_ns)))),
            ("end_ns".to_owned(), Data::uints(phases.iter().map(|phase| phase.end_ns))),
            (
                "wall_ns".to_owned(),
                Data::uints(phases.iter().map(|phase| phase.end_ns?.checked_sub(phase.mark.t_ns))),
            ),
            ("cpu_ns".to_owned(), grown(Metric::CpuNs)),
            (
                "rss_bytes_max".to_owned(),
                Data::uints(
                    phases.iter().map(|phase| self.peak(Metric::RssBytes, phase.mark.t_ns, phase.end_ns?)),
                ),
            ),
            ("read_storage_bytes".to_owned(), grown(Metric::ReadStorageBytes)),
            ("write_storage_bytes".to_owned(), grown(Metric::WriteStorageBytes)),
        ])
    }

    fn marks_of(&self, wanted: impl Fn(MarkKind) -> bool) -> impl Iterator<Item = Mark<'_>> {
        self.events.iter().filter_map(move |event| match event {
            Event::Mark { t_ns, name, kind, pid, tid } if wanted(*kind) => {
                Some(Mark { name, t_ns: *t_ns, kind: *kind, pid: *pid, tid: *tid })
            }
            _ => None,
        })
    }

    fn combined(&self, metric: Metric) -> Option<&[Option<u64>]> {
        let wanted = Column::of(Scope::Combined, metric);
        let index = self.columns.iter().position(|column| *column == wanted)?;
        Some(&self.values[index])
    }

    /// Rows from the last one at or before `begin_ns` to the last one at or before `end_ns`.
    fn rows_between(&self, begin_ns: u64, end_ns: u64) -> Option<(usize, usize)> {
        let last_before = |t_ns: u64| self.t_ns.partition_point(|t| *t <= t_ns).checked_sub(1);
        Some((last_before(begin_ns)?, last_before(end_ns)?))
    }

    fn growth(&self, metric: Metric, begin_ns: u64, end_ns: u64) -> Option<u64> {
        let (begin, end) = self.rows_between(begin_ns, end_ns)?;
        let values = self.combined(metric)?;
        values[end]?.checked_sub(values[begin]?)
    }

    fn peak(&self, metric: Metric, begin_ns: u64, end_ns: u64) -> Option<u64> {
        let (begin, end) = self.rows_between(begin_ns, end_ns)?;
        self.combined(metric)?[begin..=end].iter().copied().flatten().max()
    }
}

#[derive(Default)]
struct Lifetime {
    name: Option<String>,
    parent_pid: Option<i32>,
    begin_ns: Option<u64>,
    end_ns: Option<u64>,
    figures: [Option<u64>; 4],
    wait_status: Option<i32>,
}

struct Mark<'a> {
    name: &'a str,
    t_ns: u64,
    kind: MarkKind,
    pid: i32,
    tid: i32,
}

struct Phase<'a> {
    mark: Mark<'a>,
    depth: u64,
    end_ns: Option<u64>,
}
