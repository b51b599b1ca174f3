//! Arrow IPC files, written by hand: a schema message, one record batch per batch, a footer. The metadata
//! are FlatBuffers whose slots are numbered as in Arrow's `Message.fbs`, `Schema.fbs` and `File.fbs`.

use super::TableWriter;
use super::batch::{Batch, ColumnBatch};
use crate::error::RecordError;
use crate::table::{Cell, CellKind, Field, RowSink};
use flatbuffers::{FlatBufferBuilder, Push, PushAlignment, TableFinishedWIPOffset, WIPOffset};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 6] = b"ARROW1";
const CONTINUATION: [u8; 4] = [0xff; 4];
const METADATA_V5: i16 = 4;
const HEADER_SCHEMA: u8 = 1;
const HEADER_RECORD_BATCH: u8 = 3;
const TYPE_INT: u8 = 2;
const TYPE_FLOATING_POINT: u8 = 3;
const TYPE_UTF8: u8 = 5;
const PRECISION_DOUBLE: i16 = 2;

type Table = WIPOffset<TableFinishedWIPOffset>;

pub(super) struct ArrowWriter<W> {
    out: W,
    place: PathBuf,
    fields: Vec<Field>,
    batch: Batch,
    written: u64,
    blocks: Vec<Words<3>>,
}

impl<W: Write> ArrowWriter<W> {
    pub(super) fn new(out: W, fields: &[Field], place: &Path) -> Result<ArrowWriter<W>, RecordError> {
        let mut writer = ArrowWriter {
            out,
            place: place.to_owned(),
            fields: fields.to_vec(),
            batch: Batch::new(fields),
            written: 0,
            blocks: Vec::new(),
        };
        writer.begin().map_err(|error| RecordError::io("write", place, error))?;
        Ok(writer)
    }

    fn begin(&mut self) -> io::Result<()> {
        self.send(MAGIC)?;
        self.send(&[0; 2])?;
        let mut builder = FlatBufferBuilder::new();
        let schema = schema(&mut builder, &self.fields);
        let message = message(&mut builder, HEADER_SCHEMA, schema, 0);
        builder.finish_minimal(message);
        self.send_metadata(builder.finished_data()).map(drop)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Returns the length of the metadata with its prefix and padding.
    fn send_metadata(&mut self, metadata: &[u8]) -> io::Result<u64> {
        let padded = metadata.len().next_multiple_of(8);
        self.send(&CONTINUATION)?;
        self.send(&(padded as i32).to_le_bytes())?;
        self.send(metadata)?;
        self.send(&[0; 8][..padded - metadata.len()])?;
        Ok(padded as u64 + 8)
    }

    fn send_batch(&mut self) -> io::Result<()> {
        let mut body = Vec::new();
        let mut nodes = Vec::new();
        let mut buffers = Vec::new();
        for column in &self.batch.columns {
            let absent = column.present.iter().filter(|present| **present == 0).count();
            nodes.push(Words([self.batch.rows as u64, absent as u64]));
            put_column(&mut body, &mut buffers, column);
        }
        let mut builder = FlatBufferBuilder::new();
        let nodes = builder.create_vector(&nodes);
        let buffers = builder.create_vector(&buffers);
        let start = builder.start_table();
        builder.push_slot_always(slot(0), self.batch.rows as i64);
        builder.push_slot_always(slot(1), nodes);
        builder.push_slot_always(slot(2), buffers);
        let record_batch = builder.end_table(start);
        let message = message(&mut builder, HEADER_RECORD_BATCH, record_batch, body.len() as i64);
        builder.finish_minimal(message);
        let at = self.written;
        let metadata_len = self.send_metadata(builder.finished_data())?;
        self.send(&body)?;
        // A block is offset, metadata length as 32 bits and padding, body length.
        self.blocks.push(Words([at, metadata_len, body.len() as u64]));
        self.batch.clear();
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        if self.batch.rows > 0 {
            self.send_batch()?;
        }
        self.send(&CONTINUATION)?;
        self.send(&[0; 4])?;
        let mut builder = FlatBufferBuilder::new();
        let schema = schema(&mut builder, &self.fields);
        let dictionaries = builder.create_vector::<Words<3>>(&[]);
        let blocks = builder.create_vector(&self.blocks);
        let start = builder.start_table();
        builder.push_slot_always(slot(0), METADATA_V5);
        builder.push_slot_always(slot(1), schema);
        builder.push_slot_always(slot(2), dictionaries);
        builder.push_slot_always(slot(3), blocks);
        let footer = builder.end_table(start);
        builder.finish_minimal(footer);
        let footer = builder.finished_data().to_vec();
        self.send(&footer)?;
        self.send(&(footer.len() as i32).to_le_bytes())?;
        self.send(MAGIC)?;
        self.out.flush()
    }
}

impl<W: Write> RowSink for ArrowWriter<W> {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), RecordError> {
        self.batch.push(cells);
        if self.batch.is_full() {
            self.send_batch().map_err(|error| RecordError::io("write", &self.place, error))?;
        }
        Ok(())
    }
}

impl<W: Write> TableWriter for ArrowWriter<W> {
    fn finish(mut self: Box<Self>) -> Result<(), RecordError> {
        self.end().map_err(|error| RecordError::io("write", &self.place, error))
    }
}

/// FlatBuffers number the slots of a table from 4 in steps of 2.
fn slot(index: u16) -> u16 {
    4 + 2 * index
}

/// A FlatBuffers struct of 64-bit words.
#[derive(Debug, Clone, Copy)]
struct Words<const N: usize>([u64; N]);

impl<const N: usize> Push for Words<N> {
    type Output = Words<N>;

    unsafe fn push(&self, target: &mut [u8], _written: usize) {
        for (bytes, word) in target.chunks_exact_mut(8).zip(self.0) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }

    fn alignment() -> PushAlignment {
        PushAlignment::new(8)
    }
}

fn message(builder: &mut FlatBufferBuilder<'_>, kind: u8, header: Table, body_len: i64) -> Table {
    let start = builder.start_table();
    builder.push_slot_always(slot(0), METADATA_V5);
    builder.push_slot_always(slot(1), kind);
    builder.push_slot_always(slot(2), header);
    builder.push_slot_always(slot(3), body_len);
    builder.end_table(start)
}

fn schema(builder: &mut FlatBufferBuilder<'_>, fields: &[Field]) -> Table {
    let fields: Vec<Table> = fields.iter().map(|field| schema_field(builder, field)).collect();
    let fields = builder.create_vector(&fields);
    let start = builder.start_table();
    builder.push_slot_always(slot(0), 0i16);
    builder.push_slot_always(slot(1), fields);
    builder.end_table(start)
}

fn schema_field(builder: &mut FlatBufferBuilder<'_>, field: &Field) -> Table {
    let name = builder.create_string(&field.name);
    let children = builder.create_vector::<Table>(&[]);
    let start = builder.start_table();
    let kind = match field.kind {
        CellKind::Unsigned | CellKind::Signed => {
            builder.push_slot_always(slot(0), 64i32);
            builder.push_slot_always(slot(1), field.kind == CellKind::Signed);
            TYPE_INT
        }
        CellKind::Real => {
            builder.push_slot_always(slot(0), PRECISION_DOUBLE);
            TYPE_FLOATING_POINT
        }
        CellKind::Text => TYPE_UTF8,
    };
    let described = builder.end_table(start);
    let start = builder.start_table();
    builder.push_slot_always(slot(0), name);
    builder.push_slot_always(slot(1), true);
    builder.push_slot_always(slot(2), kind);
    builder.push_slot_always(slot(3), described);
    builder.push_slot_always(slot(5), children);
    builder.end_table(start)
}

/// Appends the buffers of a column: which rows are present, then the values, each padded to 8 bytes.
fn put_column(body: &mut Vec<u8>, buffers: &mut Vec<Words<2>>, column: &ColumnBatch) {
    let bits = |eight: &[i16]| {
        eight.iter().enumerate().fold(0u8, |all, (bit, present)| all | ((*present as u8) << bit))
    };
    put_buffer(body, buffers, |body| body.extend(column.present.chunks(8).map(bits)));
    match column.kind {
        CellKind::Unsigned | CellKind::Signed => {
            let words = column.integers.iter().map(|value| value.to_le_bytes());
            put_buffer(body, buffers, |body| put_spread(body, &column.present, words));
        }
        CellKind::Real => {
            let words = column.reals.iter().map(|value| value.to_le_bytes());
            put_buffer(body, buffers, |body| put_spread(body, &column.present, words));
        }
        CellKind::Text => {
            put_buffer(body, buffers, |body| {
                let mut ends = column.text_ends.iter();
                let mut end = 0;
                body.extend(0i32.to_le_bytes());
                for present in &column.present {
                    if *present == 1 {
                        end = ends.next().copied().unwrap_or(end);
                    }
                    body.extend((end as i32).to_le_bytes());
                }
            });
            put_buffer(body, buffers, |body| body.extend_from_slice(&column.text));
        }
    }
}

fn put_spread(body: &mut Vec<u8>, present: &[i16], mut words: impl Iterator<Item = [u8; 8]>) {
    for present in present {
        body.extend(if *present == 1 { words.next().unwrap_or_default() } else { [0; 8] });
    }
}

fn put_buffer(body: &mut Vec<u8>, buffers: &mut Vec<Words<2>>, fill: impl FnOnce(&mut Vec<u8>)) {
    let begin = body.len();
    fill(body);
    buffers.push(Words([begin as u64, (body.len() - begin) as u64]));
    body.resize(body.len().next_multiple_of(8), 0);
}
