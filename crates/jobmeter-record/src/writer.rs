//! The writing end of a run file. Columns and events wait in a buffer; a tick sends everything with one
//! `write`. Nothing here can stop the job: after a failed write the writer is dead and stays silent.

use crate::digest::Digest;
use crate::error::RecordError;
use crate::event_codec::{encode_column, encode_event};
use crate::frame::{self, Footer, FrameKind, MAX_FRAME};
use crate::lane::usual_quantum;
use crate::output::{Output, Target};
use crate::tick::TickCodec;
use crate::varint;
use jobmeter_core::{Column, Event, RunInfo, Sink, Summary};
use serde::Serialize;

/// A storm of events between two ticks does not make the buffer grow beyond about this.
const PENDING_LIMIT: usize = 256 << 10;

#[derive(Debug)]
pub struct Writer {
    output: Output,
    codec: TickCodec,
    /// Whole frames on their way to the file.
    pending: Vec<u8>,
    scratch: Vec<u8>,
    /// Every definition once more, for the trailer: readers then know all columns before the first row.
    definitions: Vec<u8>,
    written: u64,
    error: Option<RecordError>,
    dead: bool,
}

impl Writer {
    /// Creates the file (or takes the memory). The header is written with the first tick, or by
    /// [`Writer::flush`].
    pub fn create(target: Target, info: &RunInfo) -> Result<Writer, RecordError> {
        let mut pending = Vec::with_capacity(8 << 10);
        pending.extend_from_slice(&frame::preamble());
        put_json(&mut pending, FrameKind::Header, info)?;
        Ok(Writer {
            output: Output::create(target)?,
            codec: TickCodec::default(),
            pending,
            scratch: Vec::with_capacity(256),
            definitions: Vec::new(),
            written: 0,
            error: None,
            dead: false,
        })
    }

    /// The first failure. Everything up to the tick before it is in the file.
    pub fn error(&self) -> Option<&RecordError> {
        self.error.as_ref()
    }

    /// Bytes of the file so far, without what still waits for the next tick.
    pub fn written_bytes(&self) -> u64 {
        self.written
    }

    /// Sends what waits, for events that must not wait for the next tick.
    pub fn flush(&mut self) {
        if self.dead || self.pending.is_empty() {
            return;
        }
        match self.output.append(self.written, &self.pending) {
            Ok(()) => self.written += self.pending.len() as u64,
            Err(error) => {
                self.error = Some(error);
                self.dead = true;
                self.scratch = Vec::new();
            }
        }
        self.pending.clear();
    }

    /// Adds the trailer and ends the file. Returns the first failure of the whole run, if there was one.
    /// Calls after this one do nothing.
    pub fn finish(&mut self, summary: &Summary) -> Result<(), RecordError> {
        if !self.dead {
            self.put_trailer(summary)?;
            self.flush();
            self.dead = true;
        }
        self.error.take().map_or(Ok(()), Err)
    }

    fn put_trailer(&mut self, summary: &Summary) -> Result<(), RecordError> {
        let trailer_at = self.written + self.pending.len() as u64;
        frame::put(&mut self.pending, FrameKind::Columns, &self.definitions);
        put_json(&mut self.pending, FrameKind::Summary, summary)?;
        let digest_at = self.written + self.pending.len() as u64;
        put_json(&mut self.pending, FrameKind::Digest, &Digest::of(summary))?;
        Footer { trailer_at, digest_at }.put(&mut self.pending);
        Ok(())
    }
}

impl Sink for Writer {
    fn define(&mut self, column: &Column) {
        if self.dead {
            return;
        }
        let quantum = usual_quantum(column);
        self.codec.add_column(quantum);
        self.scratch.clear();
        encode_column(&mut self.scratch, column, quantum);
        frame::put(&mut self.pending, FrameKind::Define, &self.scratch);
        varint::put(&mut self.definitions, self.scratch.len() as u64);
        self.definitions.extend_from_slice(&self.scratch);
    }

    fn event(&mut self, event: &Event) {
        if self.dead {
            return;
        }
        self.scratch.clear();
        encode_event(&mut self.scratch, event);
        if self.scratch.len() >= MAX_FRAME {
            let text = format!("an event of {} bytes was left out of the record", self.scratch.len());
            self.scratch = Vec::new();
            let warning = Event::Warning { t_ns: 0, kind: "record".to_owned(), text };
            encode_event(&mut self.scratch, &warning);
        }
        frame::put(&mut self.pending, FrameKind::Event, &self.scratch);
        if self.pending.len() > PENDING_LIMIT {
            self.flush();
        }
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        if self.dead {
            return;
        }
        self.scratch.clear();
        self.codec.encode(&mut self.scratch, t_ns, values);
        frame::put(&mut self.pending, FrameKind::Tick, &self.scratch);
        self.flush();
    }
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
