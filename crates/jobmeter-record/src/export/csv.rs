//! CSV as RFC 4180 has it, lines ended by a newline. Null is an empty cell, an empty text is `""`.
//!
//! Text that came from the job could be taken for a formula by a spreadsheet. Such cells get a leading
//! apostrophe; so do cells that only differ from such a one by apostrophes, which keeps the way back clear:
//! take one apostrophe away where, behind all of them, a formula begins.

use super::TableWriter;
use crate::error::RecordError;
use crate::table::{Cell, Field, RowSink};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

pub(super) struct CsvWriter<W> {
    out: W,
    place: PathBuf,
    line: String,
}

impl<W: Write> CsvWriter<W> {
    pub(super) fn new(out: W, fields: &[Field], place: &Path) -> Result<CsvWriter<W>, RecordError> {
        let mut writer = CsvWriter { out, place: place.to_owned(), line: String::new() };
        // Names are the metric table's: letters, digits and underscores.
        let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        writer.line = names.join(",") + "\n";
        writer.send()?;
        Ok(writer)
    }

    fn send(&mut self) -> Result<(), RecordError> {
        let sent = self.out.write_all(self.line.as_bytes());
        sent.map_err(|error| RecordError::io("write", &self.place, error))
    }
}

impl<W: Write> RowSink for CsvWriter<W> {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), RecordError> {
        self.line.clear();
        for (index, cell) in cells.iter().enumerate() {
            if index > 0 {
                self.line.push(',');
            }
            put_cell(&mut self.line, cell);
        }
        self.line.push('\n');
        self.send()
    }
}

impl<W: Write> TableWriter for CsvWriter<W> {
    fn finish(mut self: Box<Self>) -> Result<(), RecordError> {
        self.out.flush().map_err(|error| RecordError::io("write", &self.place, error))
    }
}

fn put_cell(line: &mut String, cell: &Cell<'_>) {
    // Writing to a String cannot fail.
    let _written = match cell {
        Cell::Null => Ok(()),
        Cell::Unsigned(value) => {
            put_integer(line, *value);
            Ok(())
        }
        Cell::Signed(value) => write!(line, "{value}"),
        Cell::Real(value) => write!(line, "{value}"),
        Cell::Text(text) => {
            line.push('"');
            line.push_str(&neutralise(text).replace('"', "\"\""));
            line.push('"');
            Ok(())
        }
    };
}

/// Decimal digits without the formatting machinery: most of an export is integers.
pub(super) fn put_integer(line: &mut String, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    line.extend(digits[at..].iter().map(|digit| char::from(*digit)));
}

/// A text that no spreadsheet takes for a formula.
pub fn neutralise(text: &str) -> Cow<'_, str> {
    let begins = text.trim_start_matches('\'').starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '|', '%']);
    if begins { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_text() {
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "'=1"] {
            assert_eq!(neutralise(text), format!("'{text}"));
        }
        for text in ["python", "a=1", "'quoted'", "", "1-2"] {
            assert_eq!(neutralise(text), text);
        }
    }
}
