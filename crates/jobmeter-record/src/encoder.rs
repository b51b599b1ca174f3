//! From columns, events and rows to frames. The frames wait in a buffer until the writer hands them over.

use crate::digest::Digest;
use crate::error::RecordError;
use crate::event_codec::{encode_column, encode_event};
use crate::frame::{self, Footer, FrameKind, MAX_FRAME};
use crate::lane::usual_quantum;
use crate::redact;
use crate::tick::TickCodec;
use crate::varint;
use jobmeter_model::event::COMMAND_NOTE;
use jobmeter_model::{Column, Event, RunInfo, Summary, WarningKind};
use serde::Serialize;

/// Length, kind and checksum of a frame, at most.
const FRAME_BYTES: u64 = 4 + 1 + 4;

#[derive(Debug)]
pub(crate) struct Encoder {
    codec: TickCodec,
    /// Whole frames on their way to the file.
    pub(crate) pending: Vec<u8>,
    scratch: Vec<u8>,
    /// Every definition once more, for the trailer: readers then know all columns before the first row.
    pub(crate) definitions: Vec<u8>,
    columns: u64,
    /// Bytes that were handed over.
    pub(crate) written: u64,
    /// Secrets in the names of marks are replaced.
    pub(crate) redacts: bool,
}

impl Encoder {
    /// For a file that has so many bytes already.
    pub(crate) fn new(written: u64) -> Encoder {
        Encoder {
            codec: TickCodec::default(),
            pending: Vec::with_capacity(8 << 10),
            scratch: Vec::with_capacity(256),
            definitions: Vec::new(),
            columns: 0,
            written,
            redacts: true,
        }
    }

    /// Size of the file once all that waits is in it.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    pub(crate) fn columns(&self) -> u64 {
        self.columns
    }

    /// No row takes more.
    pub(crate) fn largest_row_bytes(&self) -> u64 {
        // A column takes at most a code and a plain value, and its share of the bitmaps.
        FRAME_BYTES + 10 + self.columns * 12 + 2
    }

    pub(crate) fn define(&mut self, column: &Column) {
        let quantum = usual_quantum(column);
        self.codec.add_column(quantum);
        self.columns += 1;
        self.scratch.clear();
        encode_column(&mut self.scratch, column, quantum);
        frame::put(&mut self.pending, FrameKind::Define, &self.scratch);
        varint::put(&mut self.definitions, self.scratch.len() as u64);
        self.definitions.extend_from_slice(&self.scratch);
    }

    /// Encodes an event without adding it yet; returns the bytes it would take.
    pub(crate) fn prepare(&mut self, event: &Event) -> u64 {
        self.scratch.clear();
        match event {
            Event::Mark { t_ns, name, kind, pid, tid } if self.redacts => {
                let name = redact::text(name);
                encode_event(
                    &mut self.scratch,
                    &Event::Mark { t_ns: *t_ns, name, kind: *kind, pid: *pid, tid: *tid },
                );
            }
            Event::Note { t_ns, key, value } if self.redacts && key == COMMAND_NOTE => {
                let mut value = value.clone();
                redact_words(&mut value);
                encode_event(&mut self.scratch, &Event::Note { t_ns: *t_ns, key: key.clone(), value });
            }
            event => encode_event(&mut self.scratch, event),
        }
        if self.scratch.len() >= MAX_FRAME {
            let text = format!("an event of {} bytes was left out of the record", self.scratch.len());
            self.scratch = Vec::new();
            let warning = Event::Warning { t_ns: 0, kind: WarningKind::Record, text };
            encode_event(&mut self.scratch, &warning);
        }
        self.scratch.len() as u64 + FRAME_BYTES
    }

    /// Adds the event that was prepared last.
    pub(crate) fn add_prepared(&mut self) {
        frame::put(&mut self.pending, FrameKind::Event, &self.scratch);
    }

    pub(crate) fn event(&mut self, event: &Event) {
        self.prepare(event);
        self.add_prepared();
    }

    /// The end of the file: columns, summary, digest, and where they are.
    pub(crate) fn trailer(&mut self, summary: &Summary) -> Result<(), RecordError> {
        let trailer_at = self.file_bytes();
        frame::put(&mut self.pending, FrameKind::Columns, &self.definitions);
        put_json(&mut self.pending, FrameKind::Summary, summary)?;
        let digest_at = self.file_bytes();
        put_json(&mut self.pending, FrameKind::Digest, &Digest::of(summary))?;
        Footer { trailer_at, digest_at }.put(&mut self.pending);
        Ok(())
    }

    pub(crate) fn row(&mut self, t_ns: u64, values: &[Option<u64>]) {
        self.scratch.clear();
        self.codec.encode(&mut self.scratch, t_ns, values);
        frame::put(&mut self.pending, FrameKind::Tick, &self.scratch);
    }
}

/// The beginning of a file.
pub(crate) fn header(info: &RunInfo) -> Result<Vec<u8>, RecordError> {
    let mut first = Vec::with_capacity(8 << 10);
    first.extend_from_slice(&frame::preamble());
    put_json(&mut first, FrameKind::Header, info)?;
    Ok(first)
}

fn put_json<T: Serialize>(out: &mut Vec<u8>, kind: FrameKind, value: &T) -> Result<(), RecordError> {
    let json = serde_json::to_vec(value)
        .map_err(|error| RecordError::Encode(format!("cannot write the run's description: {error}")))?;
    if json.len() >= MAX_FRAME {
        return Err(RecordError::Encode(format!(
            "the run's description takes {} bytes; at most {MAX_FRAME} can be stored",
            json.len()
        )));
    }
    frame::put(out, kind, &json);
    Ok(())
}

/// Secrets among the words of a command line are replaced.
fn redact_words(value: &mut serde_json::Value) {
    let Some(words) = value.get_mut("words").and_then(serde_json::Value::as_array_mut) else { return };
    let plain: Vec<String> = words.iter().filter_map(|word| Some(word.as_str()?.to_owned())).collect();
    *words = redact::argv(&plain).into_iter().map(Into::into).collect();
}
