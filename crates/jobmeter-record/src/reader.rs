//! The reading end: header, trailer and the stream of frames. Any bytes may come in; what is whole and
//! checked comes out, with a note where it ended.

mod digest;

pub use digest::read_digest;

use crate::damage::{Damage, DamageKind};
use crate::error::RecordError;
use crate::event_codec::{Decoded, decode_column, decode_event};
use crate::frame::{Footer, FrameKind, MAGIC, OLDEST_VERSION, PREAMBLE_LEN, VERSION};
use crate::limits::{self, Budget};
use crate::progress::Progress;
use crate::source::{FrameWalk, Source, Step};
use crate::tick::TickCodec;
use crate::varint::Cursor;
use jobmeter_model::{Column, Event, RunInfo, Sink, Summary};
use once_cell::race::OnceBox;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A recorded run, finished or not. Cheap to clone; each call of [`Run::frames`] reads from the start.
#[derive(Debug, Clone)]
pub struct Run {
    path: PathBuf,
    source: Source,
    info: RunInfo,
    body_at: u64,
    footer: Option<Footer>,
    /// Found once: tables ask for them again and again.
    columns: Arc<OnceBox<Vec<Column>>>,
    /// Marks that are not in the file, by time (see `attach`).
    pub(crate) attached: Arc<[(u64, Event)]>,
    /// Told how much of the frames has been read.
    progress: Option<Arc<Progress>>,
}

/// What [`Run::replay`] found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Replayed {
    /// Ticks that were read.
    pub ticks: u64,
    /// Events that were read.
    pub events: u64,
    /// When the last tick was, since the run began.
    pub last_t_ns: Option<u64>,
    /// The stored summary; absent after a crash and while the run goes on.
    pub summary: Option<Box<Summary>>,
    /// What is wrong with the file, if anything is.
    pub damage: Option<Damage>,
}

impl Run {
    /// Opens a run file and reads its header.
    pub fn open(path: &Path) -> Result<Run, RecordError> {
        let source = Source::open(path).map_err(|error| RecordError::io("open", path, error))?;
        Run::new(source, path)
    }

    /// As [`Run::open`], from memory.
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Result<Run, RecordError> {
        Run::new(Source::Bytes(bytes.into()), Path::new("memory"))
    }

    fn new(source: Source, path: &Path) -> Result<Run, RecordError> {
        let broken = |reason: &str| RecordError::NotARun { path: path.to_owned(), reason: reason.to_owned() };
        let failed = |error| RecordError::io("read", path, error);
        let preamble = source.read(0, PREAMBLE_LEN).map_err(failed)?;
        check_preamble(&preamble).map_err(|reason| broken(&reason))?;
        let mut walk = FrameWalk::new(source.clone(), PREAMBLE_LEN as u64);
        let info = match walk.step() {
            Step::Frame(kind) if kind == FrameKind::Header as u8 => {
                if walk.payload().len() > limits::JSON_MAX {
                    let len = walk.payload().len();
                    return Err(broken(&format!(
                        "its header takes {len} bytes, at most {} are read",
                        limits::JSON_MAX
                    )));
                }
                serde_json::from_slice(walk.payload())
                    .map_err(|_| broken("its header cannot be understood"))?
            }
            Step::Frame(_) => return Err(broken("it does not begin with a header")),
            Step::End => return Err(broken("it ends before its header")),
            Step::CutOff => return Err(broken("it ends before its header")),
            Step::Broken(reason) => return Err(broken(&format!("its header is damaged ({reason})"))),
        };
        let len = source.len().map_err(failed)?;
        let tail_at = len.saturating_sub(Footer::LEN as u64);
        let footer = Footer::parse(&source.read(tail_at, Footer::LEN).map_err(failed)?)
            .filter(|footer| footer.trailer_at <= footer.digest_at && footer.digest_at < len);
        Ok(Run {
            path: path.to_owned(),
            body_at: walk.offset(),
            source,
            info,
            footer,
            columns: Arc::default(),
            attached: Arc::default(),
            progress: None,
        })
    }

    /// The file, or `memory`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole run as the bytes of its file, for [`Run::from_bytes`] in another process.
    pub fn to_bytes(&self) -> Result<Vec<u8>, RecordError> {
        let all =
            self.source.len().and_then(|len| self.source.read(0, usize::try_from(len).unwrap_or(usize::MAX)));
        all.map_err(|error| RecordError::io("read", &self.path, error))
    }

    /// Bytes of the file now; 0 where the system does not say.
    pub(crate) fn len(&self) -> u64 {
        self.source.len().unwrap_or(0)
    }

    /// What was known when the run began. The summary holds the same with the wall time and tick counts.
    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    /// Whether the file has its trailer. Without one the run still goes on, or its recorder was killed.
    pub fn is_finished(&self) -> bool {
        self.footer.is_some()
    }

    /// The stored summary, found through the footer without reading the ticks.
    pub fn summary(&self) -> Option<Summary> {
        let payload = self.trailer_frame(FrameKind::Summary)?;
        serde_json::from_slice(&payload).ok()
    }

    /// Every column of the run. A finished run has the list in its trailer; otherwise the file is scanned.
    pub fn columns(&self) -> Vec<Column> {
        let found = self.columns.get_or_init(|| {
            Box::new(self.stored_columns().unwrap_or_else(|| {
                let mut frames = self.frames_without_ticks();
                while frames.next().is_some() {}
                frames.columns
            }))
        });
        found.clone()
    }

    fn stored_columns(&self) -> Option<Vec<Column>> {
        let payload = self.trailer_frame(FrameKind::Columns)?;
        let mut cursor = Cursor::new(&payload);
        let mut columns = Vec::new();
        while !cursor.is_empty() {
            let len = usize::try_from(cursor.varint()?).ok()?;
            let (_, column) = decode_column(&mut Cursor::new(cursor.bytes(len)?))?;
            columns.extend(column);
            if columns.len() > limits::COLUMNS_MAX {
                return None;
            }
        }
        Some(columns)
    }

    fn trailer_frame(&self, wanted: FrameKind) -> Option<Vec<u8>> {
        let mut walk = FrameWalk::new(self.source.clone(), self.footer?.trailer_at);
        loop {
            match walk.step() {
                Step::Frame(kind) if kind == wanted as u8 => {
                    return (!limits::is_too_long(wanted, walk.payload().len()))
                        .then(|| walk.payload().to_vec());
                }
                Step::Frame(_) => {}
                Step::End | Step::CutOff | Step::Broken(_) => return None,
            }
        }
    }

    pub(crate) fn walk_body(&self) -> FrameWalk {
        FrameWalk::new(self.source.clone(), self.body_at).watched(self.progress.clone())
    }

    /// The run, which tells from now on how much of it was read; `passes` is how often it will be.
    pub fn watched(self, progress: &Arc<Progress>, passes: u64) -> Run {
        progress.expect(self.len().saturating_sub(self.body_at).saturating_mul(passes));
        Run { progress: Some(Arc::clone(progress)), ..self }
    }

    /// The stream of the run from its beginning, with one block of it in memory.
    pub fn frames(&self) -> Frames {
        Frames {
            walk: self.walk_body(),
            budget: Budget::new(self.len()),
            codec: TickCodec::default(),
            columns: Vec::new(),
            shown: Vec::new(),
            hides: false,
            all_values: Vec::new(),
            values: Vec::new(),
            unknown: 0,
            damage: None,
            skips_ticks: false,
            ended: false,
            attached: self.attached.clone(),
            attached_told: 0,
            waiting: None,
        }
    }

    /// The same for who needs no ticks: they are passed over undecoded, unless attached marks are told by their times.
    pub(crate) fn frames_without_ticks(&self) -> Frames {
        Frames { skips_ticks: self.attached.is_empty(), ..self.frames() }
    }

    /// Feeds columns, events and ticks to a sink in the order they were recorded.
    pub fn replay(&self, sink: &mut dyn Sink) -> Replayed {
        self.frames().replay(sink)
    }

    /// Columns and events only.
    pub(crate) fn replay_events(&self, sink: &mut dyn Sink) -> Replayed {
        self.frames_without_ticks().replay(sink)
    }
}

impl Frames {
    fn replay(mut self, sink: &mut dyn Sink) -> Replayed {
        let mut result = Replayed::default();
        while let Some(frame) = self.next() {
            match frame {
                Frame::Define(column) => sink.define(column),
                Frame::Event(event) => {
                    result.events += 1;
                    sink.event(&event);
                }
                Frame::Tick { t_ns, values } => {
                    result.ticks += 1;
                    result.last_t_ns = Some(t_ns);
                    sink.tick(t_ns, values);
                }
                Frame::Summary(summary) => result.summary = Some(summary),
            }
        }
        result.damage = self.damage;
        result
    }
}

pub(crate) fn check_preamble(bytes: &[u8]) -> Result<(), String> {
    let Some((magic, version)) = bytes.split_first_chunk::<8>() else {
        return Err("it is too short".to_owned());
    };
    if *magic != MAGIC {
        return Err("it does not begin with JOBMETER".to_owned());
    }
    let Ok(version) = version.try_into().map(u32::from_le_bytes) else {
        return Err("it is too short".to_owned());
    };
    if !(OLDEST_VERSION..=VERSION).contains(&version) {
        return Err(format!(
            "it has format version {version}; this program reads versions {OLDEST_VERSION} to {VERSION}"
        ));
    }
    Ok(())
}

/// One step of a run.
#[derive(Debug)]
pub enum Frame<'a> {
    /// A column that later ticks have.
    Define(&'a Column),
    /// `values[i]` belongs to the `i`-th column defined so far.
    Tick {
        /// Since the run began.
        t_ns: u64,
        /// By column.
        values: &'a [Option<u64>],
    },
    /// An event.
    Event(Event),
    /// The summary, which is the last frame of a run that ended well.
    Summary(Box<Summary>),
}

/// The stream of a run. A lending iterator: a tick's values are valid until the next step.
#[derive(Debug)]
pub struct Frames {
    walk: FrameWalk,
    budget: Budget,
    codec: TickCodec,
    columns: Vec<Column>,
    /// Per stored column: its index among the columns this version knows.
    shown: Vec<Option<u32>>,
    hides: bool,
    all_values: Vec<Option<u64>>,
    values: Vec<Option<u64>>,
    unknown: u64,
    damage: Option<Damage>,
    skips_ticks: bool,
    ended: bool,
    attached: Arc<[(u64, Event)]>,
    attached_told: usize,
    /// Read, but attached marks come before it.
    waiting: Option<Taken>,
}

/// A frame after decoding; ticks and columns stay in `Frames`.
#[derive(Debug)]
enum Taken {
    Define,
    Tick(u64),
    Event(Event),
    Summary(Box<Summary>),
}

impl Frames {
    /// The next frame; `None` at the end, or where the file is damaged.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<Frame<'_>> {
        let taken = match self.waiting.take() {
            Some(taken) => Some(taken),
            None => self.take_next(),
        };
        // Attached marks are told before the first tick that is later, the rest at the end.
        let until_ns = match &taken {
            Some(Taken::Tick(t_ns)) => Some(*t_ns),
            Some(Taken::Summary(_)) | None => Some(u64::MAX),
            _ => None,
        };
        if let (Some((t_ns, mark)), Some(until_ns)) = (self.attached.get(self.attached_told), until_ns)
            && *t_ns <= until_ns
        {
            self.attached_told += 1;
            self.waiting = taken;
            let mark = mark.clone();
            if let Err(reason) = self.budget.event(&mark) {
                self.stop(DamageKind::TooLarge, self.walk.offset(), reason);
                return None;
            }
            return Some(Frame::Event(mark));
        }
        match taken? {
            Taken::Define => self.columns.last().map(Frame::Define),
            Taken::Tick(t_ns) => {
                let values = if self.hides { &self.values } else { &self.all_values };
                Some(Frame::Tick { t_ns, values })
            }
            Taken::Event(event) => Some(Frame::Event(event)),
            Taken::Summary(summary) => Some(Frame::Summary(summary)),
        }
    }

    fn take_next(&mut self) -> Option<Taken> {
        while !self.ended {
            let at = self.walk.offset();
            let taken = match self.walk.step() {
                Step::Frame(kind) => self.take(kind),
                Step::End => {
                    self.ended = true;
                    break;
                }
                Step::CutOff => Err((DamageKind::CutOff, "the last frame is incomplete".to_owned())),
                Step::Broken(reason) => Err((DamageKind::Damaged, reason)),
            };
            match taken {
                Ok(None) => {}
                Ok(taken) => return taken,
                Err((kind, reason)) => self.stop(kind, at, reason),
            }
        }
        None
    }

    fn stop(&mut self, kind: DamageKind, offset: u64, reason: String) {
        self.damage = Some(Damage { kind, offset, reason });
        self.ended = true;
        // Whatever is attached belongs to what is no longer read.
        self.attached_told = if kind == DamageKind::TooLarge { usize::MAX } else { self.attached_told };
    }

    /// The columns met so far.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Why the stream ended early, once it has ended.
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// Frames and events of a later version that were passed over.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    fn take(&mut self, kind: u8) -> Result<Option<Taken>, Stop> {
        match FrameKind::from_byte(kind) {
            Some(FrameKind::Define) => self.take_define(),
            Some(FrameKind::Tick) => self.take_tick(),
            Some(FrameKind::Event) => self.take_event(),
            Some(FrameKind::Summary) => self.take_summary(),
            Some(FrameKind::Header) => Err(damaged("a second header")),
            Some(FrameKind::Footer) => {
                self.ended = true;
                match self.walk.step() {
                    Step::End => Ok(None),
                    _ => Err(damaged("more bytes follow the end of the run")),
                }
            }
            Some(FrameKind::Columns | FrameKind::Digest) => Ok(None),
            None => {
                self.unknown += 1;
                Ok(None)
            }
        }
    }

    fn take_summary(&mut self) -> Result<Option<Taken>, Stop> {
        let payload = self.walk.payload();
        if limits::is_too_long(FrameKind::Summary, payload.len()) {
            return Err((DamageKind::TooLarge, format!("its summary takes {} bytes", payload.len())));
        }
        serde_json::from_slice(payload)
            .map(|summary| Some(Taken::Summary(Box::new(summary))))
            .map_err(|error| (DamageKind::Damaged, format!("the summary cannot be understood: {error}")))
    }

    fn take_define(&mut self) -> Result<Option<Taken>, Stop> {
        self.budget.column(self.shown.len()).map_err(too_large)?;
        let (quantum, column) = decode_column(&mut Cursor::new(self.walk.payload()))
            .ok_or_else(|| damaged("a malformed column"))?;
        self.codec.add_column(quantum);
        let Some(column) = column else {
            self.unknown += 1;
            self.hides = true;
            self.shown.push(None);
            return Ok(None);
        };
        self.shown.push(u32::try_from(self.columns.len()).ok());
        self.columns.push(column);
        Ok(Some(Taken::Define))
    }

    fn take_tick(&mut self) -> Result<Option<Taken>, Stop> {
        if self.skips_ticks {
            self.budget.skipped_tick();
            return Ok(None);
        }
        let t_ns = self
            .codec
            .decode(self.walk.payload(), &mut self.all_values)
            .ok_or_else(|| damaged("a malformed tick"))?;
        self.budget.tick(t_ns, self.shown.len()).map_err(too_large)?;
        if self.hides {
            self.values.clear();
            let pairs = self.all_values.iter().zip(&self.shown);
            self.values.extend(pairs.filter(|(_, shown)| shown.is_some()).map(|(value, _)| *value));
        }
        Ok(Some(Taken::Tick(t_ns)))
    }

    fn take_event(&mut self) -> Result<Option<Taken>, Stop> {
        match decode_event(self.walk.payload()) {
            Decoded::Malformed => Err(damaged("a malformed event")),
            Decoded::Unknown => {
                self.unknown += 1;
                Ok(None)
            }
            Decoded::Known(mut event) => {
                self.budget.event(&event).map_err(too_large)?;
                if let Event::Settle { values, .. } = &mut event {
                    let shown = |column: u32| self.shown.get(column as usize).copied().flatten();
                    let known = values.iter().filter_map(|(column, value)| Some((shown(*column)?, *value)));
                    *values = known.collect();
                }
                Ok(Some(Taken::Event(event)))
            }
        }
    }
}

/// Why no further frame is taken.
type Stop = (DamageKind, String);

fn damaged(reason: &str) -> Stop {
    (DamageKind::Damaged, reason.to_owned())
}

fn too_large(reason: String) -> Stop {
    (DamageKind::TooLarge, reason)
}
