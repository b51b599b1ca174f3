//! Events and column definitions as bytes: a tag, then varints and length-prefixed texts.

use crate::limits::{ENTITY_NAME_MAX, NOTE_MAX};
use crate::varint::{Cursor, put, put_i32, put_text};
use jobmeter_model::{Column, Entity, EntityKind, Event, MarkKind, Metric, ProcessId, Scope};

const PROCESS_START: u8 = 1;
const PROCESS_RENAME: u8 = 2;
const PROCESS_END: u8 = 3;
const MARK: u8 = 4;
const WARNING: u8 = 5;
const SETTLE: u8 = 6;
const NOTE: u8 = 7;

/// What a payload turned out to be.
#[derive(Debug, PartialEq)]
pub(crate) enum Decoded<T> {
    Known(T),
    /// Written by a later version: skipped.
    Unknown,
    Malformed,
}

impl<T> From<Option<T>> for Decoded<T> {
    fn from(value: Option<T>) -> Decoded<T> {
        value.map_or(Decoded::Malformed, Decoded::Known)
    }
}

pub(crate) fn encode_event(out: &mut Vec<u8>, event: &Event) {
    match event {
        Event::ProcessStart { t_ns, id, parent_pid, name } => {
            begin(out, PROCESS_START, *t_ns);
            put_id(out, *id);
            put_i32(out, *parent_pid);
            put_text(out, name);
        }
        Event::ProcessRename { t_ns, id, name } => {
            begin(out, PROCESS_RENAME, *t_ns);
            put_id(out, *id);
            put_text(out, name);
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
            begin(out, PROCESS_END, *t_ns);
            put_id(out, *id);
            let figures = [*cpu_ns, *peak_rss_bytes, *read_storage_bytes, *write_storage_bytes];
            let mut known = u8::from(wait_status.is_some()) << 4;
            for (bit, figure) in figures.iter().enumerate() {
                known |= u8::from(figure.is_some()) << bit;
            }
            out.push(known);
            for figure in figures.into_iter().flatten() {
                put(out, figure);
            }
            if let Some(status) = wait_status {
                put_i32(out, *status);
            }
        }
        Event::Mark { t_ns, name, kind, pid, tid } => {
            begin(out, MARK, *t_ns);
            out.push(match kind {
                MarkKind::Point => 0,
                MarkKind::Begin => 1,
                MarkKind::End => 2,
            });
            put_i32(out, *pid);
            put_i32(out, *tid);
            put_text(out, name);
        }
        Event::Warning { t_ns, kind, text } => {
            begin(out, WARNING, *t_ns);
            put_text(out, kind.as_str());
            put_text(out, text);
        }
        Event::Settle { t_ns, values } => {
            begin(out, SETTLE, *t_ns);
            put(out, values.len() as u64);
            for (column, value) in values {
                put(out, u64::from(*column));
                put(out, *value);
            }
        }
        Event::Note { t_ns, key, value } => {
            begin(out, NOTE, *t_ns);
            put_text(out, key);
            put_text(out, &value.to_string());
        }
    }
}

fn begin(out: &mut Vec<u8>, tag: u8, t_ns: u64) {
    out.push(tag);
    put(out, t_ns);
}

fn put_id(out: &mut Vec<u8>, id: ProcessId) {
    put_i32(out, id.pid);
    put(out, id.start_ticks);
}

pub(crate) fn decode_event(payload: &[u8]) -> Decoded<Event> {
    let mut cursor = Cursor::new(payload);
    let Some(tag) = cursor.byte() else { return Decoded::Malformed };
    let is_known = (PROCESS_START..=NOTE).contains(&tag);
    if !is_known || (tag == NOTE && payload.len() > NOTE_MAX) {
        return Decoded::Unknown;
    }
    // Bytes after the last known field belong to a later version and are left alone.
    decode_known(tag, &mut cursor).into()
}

fn decode_known(tag: u8, cursor: &mut Cursor<'_>) -> Option<Event> {
    let t_ns = cursor.varint()?;
    Some(match tag {
        PROCESS_START => Event::ProcessStart {
            t_ns,
            id: get_id(cursor)?,
            parent_pid: cursor.i32()?,
            name: cursor.text()?.to_owned(),
        },
        PROCESS_RENAME => Event::ProcessRename { t_ns, id: get_id(cursor)?, name: cursor.text()?.to_owned() },
        PROCESS_END => {
            let id = get_id(cursor)?;
            let known = cursor.byte()?;
            let mut figures = [None; 4];
            for (bit, figure) in figures.iter_mut().enumerate() {
                if known >> bit & 1 == 1 {
                    *figure = Some(cursor.varint()?);
                }
            }
            let wait_status = if known >> 4 & 1 == 1 { Some(cursor.i32()?) } else { None };
            let [cpu_ns, peak_rss_bytes, read_storage_bytes, write_storage_bytes] = figures;
            Event::ProcessEnd {
                t_ns,
                id,
                cpu_ns,
                peak_rss_bytes,
                read_storage_bytes,
                write_storage_bytes,
                wait_status,
            }
        }
        MARK => {
            let kind = match cursor.byte()? {
                0 => MarkKind::Point,
                1 => MarkKind::Begin,
                2 => MarkKind::End,
                _ => return None,
            };
            let (pid, tid) = (cursor.i32()?, cursor.i32()?);
            Event::Mark { t_ns, name: cursor.text()?.to_owned(), kind, pid, tid }
        }
        WARNING => Event::Warning { t_ns, kind: cursor.text()?.into(), text: cursor.text()?.to_owned() },
        SETTLE => {
            let count = cursor.varint()?;
            let mut values = Vec::new();
            for _ in 0..count {
                values.push((u32::try_from(cursor.varint()?).ok()?, cursor.varint()?));
            }
            Event::Settle { t_ns, values }
        }
        _ => Event::Note {
            t_ns,
            key: cursor.text()?.to_owned(),
            value: serde_json::from_str(cursor.text()?).ok()?,
        },
    })
}

fn get_id(cursor: &mut Cursor<'_>) -> Option<ProcessId> {
    Some(ProcessId { pid: cursor.i32()?, start_ticks: cursor.varint()? })
}

/// Names, not numbers, so that a table that grows in the middle does not change old files.
pub(crate) fn encode_column(out: &mut Vec<u8>, column: &Column, quantum: u64) {
    put(out, quantum);
    put_text(out, column.scope.key());
    put_text(out, column.metric.key());
    if let Some(entity) = &column.entity {
        put_text(out, entity.kind.key());
        put_text(out, &entity.name);
    }
}

/// The grain, and the column where this version knows its scope, metric and entity kind.
pub(crate) fn decode_column(cursor: &mut Cursor<'_>) -> Option<(u64, Option<Column>)> {
    let quantum = cursor.varint().filter(|quantum| *quantum > 0)?;
    let (scope, metric) = (cursor.text()?, cursor.text()?);
    let entity = if cursor.is_empty() { None } else { Some((cursor.text()?, cursor.text()?)) };
    Some((quantum, known_column(scope, metric, entity)))
}

fn known_column(scope: &str, metric: &str, entity: Option<(&str, &str)>) -> Option<Column> {
    let scope = Scope::ALL.into_iter().find(|known| known.key() == scope)?;
    let metric = Metric::from_key(metric)?;
    let entity = match entity {
        None => None,
        Some((_, name)) if name.len() > ENTITY_NAME_MAX => return None,
        Some((kind, name)) => {
            let kind = EntityKind::ALL.into_iter().find(|known| known.key() == kind)?;
            Some(Entity { kind, name: name.to_owned() })
        }
    };
    Some(Column { scope, metric, entity })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_decode_without_a_panic(bytes in any::<Vec<u8>>(), tag in 0u8..9) {
            decode_event(&bytes);
            decode_event(&[&[tag], bytes.as_slice()].concat());
            decode_column(&mut Cursor::new(&bytes));
        }

        #[test]
        fn columns_come_back(scope in 0usize..4, metric in 0usize..jobmeter_model::metric::TABLE.len(),
            kind in 0usize..6, name: String, quantum in 1u64..) {
            let entity = EntityKind::ALL.get(kind).map(|kind| Entity { kind: *kind, name });
            let metric = jobmeter_model::metric::TABLE[metric].metric;
            let column = Column { scope: Scope::ALL[scope], metric, entity };
            let mut bytes = Vec::new();
            encode_column(&mut bytes, &column, quantum);
            prop_assert_eq!(decode_column(&mut Cursor::new(&bytes)), Some((quantum, Some(column))));
        }
    }

    #[test]
    fn what_a_later_version_adds_is_unknown_not_malformed() {
        assert_eq!(decode_event(&[99, 1, 2]), Decoded::Unknown);
        assert_eq!(known_column("main", "metric_of_tomorrow", None), None);
    }
}
