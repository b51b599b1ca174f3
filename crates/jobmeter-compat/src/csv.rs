//! Comma-separated values: quotes where needed, doubled inside; empty lines are no rows.

/// The rows; `None` where there are more than `cells_max` cells.
pub(crate) fn read(text: &str, cells_max: u64) -> Option<Vec<Vec<String>>> {
    let mut reader =
        ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut rows = Vec::new();
    let mut cells_left = cells_max;
    let mut record = ::csv::StringRecord::new();
    // Text in memory that is valid UTF-8 and rows of any length: no error is left that could end this early.
    while let Ok(true) = reader.read_record(&mut record) {
        cells_left = cells_left.checked_sub(record.len() as u64)?;
        rows.push(record.iter().map(str::to_owned).collect());
    }
    Some(rows)
}

pub(crate) fn put_row<'a>(out: &mut String, cells: impl IntoIterator<Item = &'a str>, end: &str) {
    for (index, cell) in cells.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        if cell.contains(['"', ',', '\n', '\r']) {
            out.push('"');
            out.push_str(&cell.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(cell);
        }
    }
    out.push_str(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let cells = ["plain", "a,b", "say \"hi\"\nthere", "", "é"];
        let mut text = String::new();
        put_row(&mut text, cells, "\r\n");
        put_row(&mut text, ["x", "", "y", "", "z"], "\n");
        assert_eq!(read(&text, 100).expect("rows"), [cells.to_vec(), vec!["x", "", "y", "", "z"]]);
        assert_eq!(read(&text, 10).map(|rows| rows.len()), Some(2));
        assert_eq!(read(&text, 9), None);
    }

    #[test]
    fn empty_lines_are_no_rows_and_rows_may_differ_in_length() {
        let rows = read("a,b\r\n\r\n\nc\n,\nlast", 100).expect("rows");
        assert_eq!(rows, [vec!["a", "b"], vec!["c"], vec!["", ""], vec!["last"]]);
    }
}
