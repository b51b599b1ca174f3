//! JSON Lines: one object per row, every field in every row, unknown as null.

use super::TableWriter;
use super::csv::put_integer;
use crate::error::RecordError;
use crate::table::{Cell, Field, RowSink};
use std::io::Write;
use std::path::{Path, PathBuf};

pub(super) struct JsonlWriter<W> {
    out: W,
    place: PathBuf,
    /// `"name":` of each field, with what comes before it.
    leads: Vec<String>,
    line: String,
}

impl<W: Write> JsonlWriter<W> {
    pub(super) fn new(out: W, fields: &[Field], place: &Path) -> JsonlWriter<W> {
        let lead = |(index, field): (usize, &Field)| {
            let before = if index == 0 { "{" } else { "," };
            format!("{before}{}:", quoted(&field.name))
        };
        let leads = fields.iter().enumerate().map(lead).collect();
        JsonlWriter { out, place: place.to_owned(), leads, line: String::new() }
    }
}

impl<W: Write> RowSink for JsonlWriter<W> {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), RecordError> {
        self.line.clear();
        for (lead, cell) in self.leads.iter().zip(cells) {
            self.line.push_str(lead);
            match cell {
                Cell::Null => self.line.push_str("null"),
                Cell::Unsigned(value) => put_integer(&mut self.line, *value),
                Cell::Signed(value) => self.line.push_str(&value.to_string()),
                Cell::Real(value) => self.line.push_str(&serde_json::Value::from(*value).to_string()),
                Cell::Text(text) => self.line.push_str(&quoted(text)),
            }
        }
        self.line.push_str("}\n");
        let sent = self.out.write_all(self.line.as_bytes());
        sent.map_err(|error| RecordError::io("write", &self.place, error))
    }
}

impl<W: Write> TableWriter for JsonlWriter<W> {
    fn finish(mut self: Box<Self>) -> Result<(), RecordError> {
        self.out.flush().map_err(|error| RecordError::io("write", &self.place, error))
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
