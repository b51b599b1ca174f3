//! Aligned columns for a terminal. One column of hostile text gives way when the lines would be too long.

use super::style::Style;
use jobmeter_model::text::printable;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// No narrower, however small the terminal: a name of two letters tells nothing.
const NARROWEST: usize = 8;
/// No wider, also where nothing limits the line: a mark may carry kilobytes.
const WIDEST: usize = 60;

#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) kind: ColumnKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Number,
    /// Text of the job: escaped, and cut where the line would be too long.
    Name,
    Words,
}

pub(super) const fn number(title: &'static str) -> Column {
    Column { title, kind: ColumnKind::Number }
}

pub(super) const fn name(title: &'static str) -> Column {
    Column { title, kind: ColumnKind::Name }
}

pub(super) const fn words(title: &'static str) -> Column {
    Column { title, kind: ColumnKind::Words }
}

/// `width` is that of the terminal; `None` where lines may be as long as they like.
pub(super) fn render(columns: &[Column], rows: &[Vec<String>], width: Option<usize>, style: Style) -> String {
    let shown: Vec<Vec<String>> = rows.iter().map(|row| escape(columns, row)).collect();
    let mut widths: Vec<usize> = columns.iter().map(|column| column.title.width()).collect();
    for row in &shown {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    give_way(columns, &mut widths, width);
    let titles: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
    let mut out = style.label(&line(columns, &titles, &widths));
    out.push('\n');
    for row in &shown {
        out.push_str(&line(columns, row, &widths));
        out.push('\n');
    }
    out
}

/// Takes columns out of a table that would be wider than the terminal: those of these titles, in this order, until the others
/// fit.
pub(super) fn leave_out(
    columns: &mut Vec<Column>,
    rows: &mut [Vec<String>],
    width: Option<usize>,
    less_wanted: &[&str],
) {
    /// What a name is given before anything is left out for it.
    const NAME: usize = 12;
    let widest = |place: usize| rows.iter().map(|row| row[place].width()).max().unwrap_or(0);
    let of = |(place, column): (usize, &Column)| {
        let whole = widest(place).max(column.title.width());
        if column.kind == ColumnKind::Name { whole.min(NAME) } else { whole }
    };
    let widths: Vec<usize> = columns.iter().enumerate().map(of).collect();
    let place = |title: &&str| columns.iter().position(|column| column.title == *title);
    let dispensable: Vec<usize> = less_wanted.iter().filter_map(place).collect();
    let shown = jobmeter_model::layout::fitting(&widths, 2, width, &dispensable);
    let mut keep = shown.iter();
    columns.retain(|_| keep.next() == Some(&true));
    for row in rows {
        let mut keep = shown.iter();
        row.retain(|_| keep.next() == Some(&true));
    }
}

fn escape(columns: &[Column], row: &[String]) -> Vec<String> {
    let cells = columns.iter().zip(row);
    cells
        .map(|(column, cell)| match column.kind {
            // Far more than is ever shown, far less than a hostile name can hold.
            ColumnKind::Name => printable(&cell.chars().take(4 * WIDEST).collect::<String>()),
            _ => cell.clone(),
        })
        .collect()
}

fn give_way(columns: &[Column], widths: &mut [usize], width: Option<usize>) {
    let others: usize = columns
        .iter()
        .zip(widths.iter())
        .filter(|(column, _)| column.kind != ColumnKind::Name)
        .map(|(_, width)| width + 2)
        .sum();
    let room = width.map_or(WIDEST, |width| width.saturating_sub(others).clamp(NARROWEST, WIDEST));
    for (column, width) in columns.iter().zip(widths.iter_mut()) {
        if column.kind == ColumnKind::Name {
            *width = (*width).min(room);
        }
    }
}

fn line(columns: &[Column], cells: &[String], widths: &[usize]) -> String {
    let mut out = String::new();
    for ((column, cell), width) in columns.iter().zip(cells).zip(widths) {
        if !out.is_empty() {
            out.push_str("  ");
        }
        let cell = cut(cell, *width);
        let blanks = " ".repeat(width.saturating_sub(cell.width()));
        match column.kind {
            ColumnKind::Number => out.extend([blanks.as_str(), cell.as_str()]),
            ColumnKind::Name | ColumnKind::Words => out.extend([cell.as_str(), blanks.as_str()]),
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// At most `width` columns of the terminal, an ellipsis for the rest.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for letter in text.chars() {
        let wide = letter.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        out.push(letter);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(names: &[&str]) -> Vec<Vec<String>> {
        names.iter().map(|name| vec!["7".to_owned(), (*name).to_owned(), "1.00 s".to_owned()]).collect()
    }

    #[test]
    fn hostile_and_wide_names_keep_the_columns_and_the_width() {
        let columns = [number("pid"), name("command"), number("CPU")];
        let names = ["sh", "\u{1b}[31mred\n", "日本語日本語日本語日本語", "\u{202e}abc", &"x".repeat(10_000)];
        for width in [Some(20), Some(40), Some(80), None] {
            let text = render(&columns, &rows(&names), width, Style::default());
            assert_eq!(text.lines().count(), names.len() + 1, "{text}");
            assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
            let ends: Vec<usize> = text.lines().map(UnicodeWidthStr::width).collect();
            assert!(ends.iter().all(|end| *end == ends[0]), "{text}");
            assert!(ends[0] <= width.unwrap_or(WIDEST + 20).max(NARROWEST + 13), "{text}");
        }
    }

    #[test]
    fn columns_that_matter_less_make_room() {
        let all = vec![name("phase"), number("time"), number("std"), number("CPU")];
        let row: Vec<String> = ["train", "3.81 s", "32.5 ms", "2.20 s"].map(str::to_owned).to_vec();
        for (width, shown) in
            [(None, 4), (Some(60), 4), (Some(30), 4), (Some(29), 3), (Some(20), 2), (Some(4), 2)]
        {
            let (mut columns, mut rows) = (all.clone(), vec![row.clone()]);
            leave_out(&mut columns, &mut rows, width, &["std", "CPU"]);
            assert_eq!((columns.len(), rows[0].len()), (shown, shown), "{width:?}");
            assert!(shown == 4 || !rows[0].contains(&"32.5 ms".to_owned()));
        }
    }

    #[test]
    fn cutting_counts_columns_not_letters() {
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
    }
}
