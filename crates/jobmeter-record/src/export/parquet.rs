//! Parquet through the column writers: one row group per batch, integers as packed differences, Snappy.

use super::TableWriter;
use super::batch::{Batch, ColumnBatch};
use crate::error::RecordError;
use crate::table::{Cell, CellKind, Field, RowSink};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    batch: Batch,
    place: PathBuf,
}

impl<W: Write + Send> ParquetWriter<W> {
    pub(super) fn new(out: W, fields: &[Field], place: &Path) -> Result<ParquetWriter<W>, RecordError> {
        // Figures hardly repeat, so dictionaries would be built only to be thrown away; packed differences
        // are dense already. Only the time is worth an index.
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_created_by("jobmeter".to_owned());
        for field in fields {
            let path = ColumnPath::from(field.name.as_str());
            if matches!(field.kind, CellKind::Unsigned | CellKind::Signed) {
                properties = properties
                    .set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED)
                    .set_column_compression(path.clone(), Compression::UNCOMPRESSED);
            }
            if field.name == "t_ns" {
                properties = properties.set_column_statistics_enabled(path, EnabledStatistics::Chunk);
            }
        }
        let schema = schema(fields).map_err(|error| failure(place, error))?;
        let file = SerializedFileWriter::new(out, schema, Arc::new(properties.build()))
            .map_err(|error| failure(place, error))?;
        Ok(ParquetWriter { file, batch: Batch::new(fields), place: place.to_owned() })
    }

    fn write_batch(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for column in &self.batch.columns {
            let Some(mut writer) = group.next_column()? else { break };
            write_column(&mut writer, column)?;
            writer.close()?;
        }
        group.close()?;
        self.batch.clear();
        Ok(())
    }
}

fn schema(fields: &[Field]) -> Result<TypePtr, ParquetError> {
    let column = |field: &Field| {
        let (physical, logical) = match field.kind {
            CellKind::Unsigned => (PhysicalType::INT64, Some(LogicalType::integer(64, false))),
            CellKind::Signed => (PhysicalType::INT64, Some(LogicalType::integer(64, true))),
            CellKind::Real => (PhysicalType::DOUBLE, None),
            CellKind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let column = Type::primitive_type_builder(&field.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(column))
    };
    let columns = fields.iter().map(column).collect::<Result<Vec<_>, ParquetError>>()?;
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(columns).build()?))
}

fn write_column(writer: &mut SerializedColumnWriter<'_>, column: &ColumnBatch) -> Result<(), ParquetError> {
    let present = Some(column.present.as_slice());
    match column.kind {
        CellKind::Unsigned | CellKind::Signed => {
            writer.typed::<Int64Type>().write_batch(&column.integers, present, None)?;
        }
        CellKind::Real => {
            writer.typed::<DoubleType>().write_batch(&column.reals, present, None)?;
        }
        CellKind::Text => {
            let mut begin = 0;
            let mut texts = Vec::with_capacity(column.text_ends.len());
            for end in &column.text_ends {
                texts.push(ByteArray::from(column.text[begin..*end].to_vec()));
                begin = *end;
            }
            writer.typed::<ByteArrayType>().write_batch(&texts, present, None)?;
        }
    }
    Ok(())
}

impl<W: Write + Send> RowSink for ParquetWriter<W> {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), RecordError> {
        self.batch.push(cells);
        if self.batch.is_full() {
            self.write_batch().map_err(|error| failure(&self.place, error))?;
        }
        Ok(())
    }
}

impl<W: Write + Send> TableWriter for ParquetWriter<W> {
    fn finish(mut self: Box<Self>) -> Result<(), RecordError> {
        if self.batch.rows > 0 {
            self.write_batch().map_err(|error| failure(&self.place, error))?;
        }
        let mut out = self.file.into_inner().map_err(|error| failure(&self.place, error))?;
        out.flush().map_err(|error| RecordError::io("write", &self.place, error))
    }
}

fn failure(place: &Path, error: ParquetError) -> RecordError {
    RecordError::io("write", place, std::io::Error::other(error.to_string()))
}
