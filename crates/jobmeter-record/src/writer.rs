//! The writing end of a run file. Columns and events wait in a buffer; a tick sends everything with one `write`, which
//! a [`Carrier`] makes, so that no call here waits for the disk. Nothing here can stop the job: after a failed write,
//! or when too much waits, the writer is dead and stays silent.

use crate::carrier::{Carrier, CarrierKind, Origin, PATIENCE};
use crate::encoder::{self, Encoder};
use crate::error::RecordError;
use crate::output::{SharedBuffer, Target};
use crate::place::{self, AsideFile};
use crate::size_limit::Limit;
use crate::store::Store;
use crate::store_time::{self, StoreTimes};
use jobmeter_engine::linux::control::Pid;
use jobmeter_model::job::StoreTime;
use jobmeter_model::summary::Warning;
use jobmeter_model::{Column, Event, RunInfo, Sink, Summary};
use std::fs::File;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Instant;

/// A storm of events between two ticks does not make the buffer grow beyond about this.
const PENDING_LIMIT: usize = 256 << 10;

/// Rows that come faster than this go to the file together: each hand-over wakes another process. It is a twentieth of the run
/// so far, within bounds, and also what a jobmeter that is killed may lose besides the tick under way.
fn hand_over_every_ns(t_ns: u64) -> u64 {
    (t_ns / 20).clamp(20_000_000, 240_000_000)
}

#[derive(Debug)]
enum Output {
    File(Carrier),
    Memory(SharedBuffer),
}

/// Writes a run file: the stream of a run, at most one write per tick.
#[derive(Debug)]
pub struct Writer {
    output: Output,
    encoder: Encoder,
    limit: Option<Box<Limit>>,
    /// The time of the row that was last handed over.
    handed_over_at_ns: Option<u64>,
    error: Option<RecordError>,
    dead: bool,
    store_times: StoreTimes,
}

impl Writer {
    /// Creates the file (or takes the memory) and writes the header. A file is written by a thread; this waits for
    /// the file, but less than a second: after that it may still come to be.
    pub fn create(target: Target, info: &RunInfo) -> Result<Writer, RecordError> {
        let writer = Writer::start(target, info, CarrierKind::Thread)?;
        if let Output::File(carrier) = &writer.output {
            carrier.wait_for_file(Instant::now() + PATIENCE)?;
        }
        Ok(writer)
    }

    /// As [`Writer::create`], without waiting: that the file could not be made is said by [`Writer::error`] and by
    /// [`Writer::finish`].
    pub fn start(target: Target, info: &RunInfo, kind: CarrierKind) -> Result<Writer, RecordError> {
        let first = encoder::header(info)?;
        let written = first.len() as u64;
        // Only ranks on several machines need to know.
        let wants_time = info.job.as_ref().is_some_and(|job| job.machine.is_some());
        let server = if wants_time { store_time::server_of(&target) } else { None };
        let wants_time = server.is_some();
        let output = match target {
            Target::Memory(buffer) => {
                buffer.append(&first);
                Output::Memory(buffer)
            }
            Target::New(path) => Output::File(Carrier::start(kind, path, Origin::New, first, wants_time)?),
            Target::Stored(path) => {
                Output::File(Carrier::start(kind, path, Origin::Stored, first, wants_time)?)
            }
            Target::Replace(path) => {
                let file = replace_in_time(&path)?;
                Output::File(Carrier::start(kind, path, Origin::Opened(file), first, false)?)
            }
        };
        Ok(Writer {
            output,
            encoder: Encoder::new(written),
            limit: None,
            handed_over_at_ns: None,
            error: None,
            dead: false,
            store_times: StoreTimes { server, times: Vec::new() },
        })
    }

    /// The file server of the record, and how its clock stood to ours: for the summary of a rank.
    pub fn store_times(&mut self) -> (&str, &[StoreTime]) {
        if let Output::File(carrier) = &self.output {
            self.store_times.times.extend(carrier.take_time());
        }
        (self.store_times.server.as_deref().unwrap_or_default(), &self.store_times.times)
    }

    /// Stores a comparison of the clocks that has come in.
    fn note_store_time(&mut self, t_ns: u64) {
        if let (Output::File(carrier), Some(server)) = (&self.output, &self.store_times.server)
            && let Some(time) = carrier.take_time()
        {
            self.store_times.times.push(time);
            self.encoder.event(&store_time::note(t_ns, server, time));
        }
    }

    /// Keeps the file within so many bytes: see docs/run-file.md. Call this before anything is written.
    pub fn limit_to(&mut self, limit_bytes: u64) {
        self.limit = Some(Box::new(Limit::new(limit_bytes, self.encoder.written)));
    }

    /// The job has ended: what is still to be written comes in a moment.
    pub fn announce_end(&self) {
        if let Output::File(carrier) = &self.output {
            carrier.announce_end();
        }
    }

    /// The process that writes, where it is one: a child of ours that is no part of the job.
    pub fn carrier_pid(&self) -> Option<Pid> {
        match &self.output {
            Output::File(carrier) => carrier.pid(),
            Output::Memory(_) => None,
        }
    }

    /// From now on marks are written as the job named them.
    pub fn keep_secrets(&mut self) {
        self.encoder.redacts = false;
    }

    /// The first failure. Everything up to the tick before it is in the file.
    pub fn error(&self) -> Option<&RecordError> {
        self.error.as_ref()
    }

    /// Bytes handed over to the file so far, without what still waits for the next tick.
    pub fn written_bytes(&self) -> u64 {
        self.encoder.written
    }

    /// Whether something waits that was not handed over yet: since the last tick, or because the disk is slow.
    pub fn has_pending(&self) -> bool {
        !self.encoder.pending.is_empty()
    }

    /// Sends what waits, for events that must not wait for the next tick.
    pub fn flush(&mut self) {
        let pending = &mut self.encoder.pending;
        if self.dead || pending.is_empty() {
            return;
        }
        let count = pending.len() as u64;
        let sent = match &self.output {
            Output::Memory(buffer) => {
                buffer.append(pending);
                pending.clear();
                Ok(true)
            }
            Output::File(carrier) => carrier.offer(pending),
        };
        match sent {
            Ok(true) => self.encoder.written += count,
            // The disk is slow: with the next tick, then.
            Ok(false) => {}
            Err(error) => self.fail(error),
        }
    }

    fn fail(&mut self, error: RecordError) {
        self.error = Some(error);
        self.dead = true;
        self.encoder = Encoder::new(self.encoder.written);
        self.limit = None;
    }

    /// After the last tick and event: writes the rows that were held back and returns what the limit has left out, for the
    /// summary that [`Writer::finish`] takes.
    pub fn end_rows(&mut self) -> Vec<Warning> {
        let limit = self.limit.take().filter(|_| !self.dead);
        limit.map_or_else(Vec::new, |mut limit| limit.end(&mut self.encoder))
    }

    /// Adds the trailer and ends the file; waits for the disk less than a second. Returns the first failure of
    /// the whole run, if there was one. Calls after this one do nothing.
    pub fn finish(&mut self, summary: &Summary) -> Result<(), RecordError> {
        if !self.dead {
            self.end_rows();
            self.encoder.trailer(summary)?;
            let mut pending = std::mem::take(&mut self.encoder.pending);
            self.encoder.written += pending.len() as u64;
            let ended = match &mut self.output {
                Output::Memory(buffer) => {
                    buffer.append(&pending);
                    Ok(())
                }
                Output::File(carrier) => carrier.finish(&mut pending),
            };
            self.dead = true;
            ended?;
        }
        self.error.take().map_or(Ok(()), Err)
    }
}

impl Store {
    /// A new run file in the store, written by a thread.
    pub fn create(&self, info: &RunInfo) -> Result<Writer, RecordError> {
        Writer::create(self.target(info)?, info)
    }
}

impl Sink for Writer {
    fn define(&mut self, column: &Column) {
        if self.dead {
            return;
        }
        self.encoder.define(column);
        if let Some(limit) = &mut self.limit {
            limit.define(column);
        }
    }

    fn event(&mut self, event: &Event) {
        if self.dead {
            return;
        }
        match &mut self.limit {
            Some(limit) => limit.event(event, &mut self.encoder),
            None => self.encoder.event(event),
        }
        if self.encoder.pending.len() > PENDING_LIMIT {
            self.flush();
        }
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        if self.dead {
            return;
        }
        match &mut self.limit {
            Some(limit) => limit.tick(t_ns, values, &mut self.encoder),
            None => self.encoder.row(t_ns, values),
        }
        let is_memory = matches!(self.output, Output::Memory(_));
        let is_due = |at_ns: u64| t_ns >= at_ns.saturating_add(hand_over_every_ns(t_ns));
        if is_memory || self.handed_over_at_ns.is_none_or(is_due) {
            self.handed_over_at_ns = Some(t_ns);
            self.note_store_time(t_ns);
            self.flush();
        }
    }
}

/// A new file in the place of another, unless the disk does not answer.
fn replace_in_time(path: &Path) -> Result<File, RecordError> {
    let (sender, receiver) = channel();
    let wanted = path.to_owned();
    let replace = move || -> Result<File, RecordError> {
        place::refuse_stream(&wanted)?;
        Ok(AsideFile::create(&wanted, true)?.publish()?.into_file())
    };
    std::thread::Builder::new()
        // Nobody listens any more when it took too long.
        .spawn(move || drop(sender.send(replace())))
        .map_err(|error| RecordError::io("replace", path, error))?;
    receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        let reason = "it could not be replaced within 0.8 s";
        Err(RecordError::GivenUp { path: path.to_owned(), reason })
    })
}
