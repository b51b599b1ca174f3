//! Comma-separated values: quotes where needed, doubled inside; empty lines are no rows.

/// The rows; `None` where there are more than `cells_max` cells.
pub(crate) fn read(text: &str, cells_max: u64) -> Option<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    let mut cells_left = cells_max;
    let mut row: Vec<String> = Vec::new();
    let mut field = String::new();
    let mut is_quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' if is_quoted => is_quoted = false,
            '"' if field.is_empty() => is_quoted = true,
            ',' if !is_quoted => {
                cells_left = cells_left.checked_sub(1)?;
                row.push(std::mem::take(&mut field));
            }
            '\r' if !is_quoted && letters.peek() == Some(&'\n') => {}
            '\n' if !is_quoted => {
                cells_left = cells_left.checked_sub(1)?;
                end_row(&mut rows, &mut row, &mut field);
            }
            letter => field.push(letter),
        }
    }
    end_row(&mut rows, &mut row, &mut field);
    Some(rows)
}

fn end_row(rows: &mut Vec<Vec<String>>, row: &mut Vec<String>, field: &mut String) {
    if !row.is_empty() || !field.is_empty() {
        row.push(std::mem::take(field));
        rows.push(std::mem::take(row));
    }
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
        assert_eq!(read(&text, 5), None);
    }
}
