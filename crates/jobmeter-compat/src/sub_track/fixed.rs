//! Tables of fixed width: right-aligned numbers to eight places, one space between columns.

use crate::number::{repr, rounded};
use crate::tree::Node;

fn shown(value: &Node) -> String {
    match value {
        Node::Float(value) if value.is_nan() => "NaN".to_owned(),
        Node::Float(value) => repr(rounded(*value, 8)),
        Node::Int(value) => value.to_string(),
        Node::Text(text) => jobmeter_model::text::printable(text),
        Node::Null => "None".to_owned(),
        Node::List(_) | Node::Map(_) => String::new(),
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn put_right(out: &mut String, text: &str, columns: usize) {
    out.push_str(&" ".repeat(columns.saturating_sub(width(text))));
    out.push_str(text);
}

/// One line per measurement, one column per statistic.
pub(super) fn statistics(rows: &Node, columns: &[&str]) -> Vec<String> {
    let rows = rows.entries();
    let label_width = rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let mut lines = vec![" ".repeat(label_width)];
    lines.extend(rows.iter().map(|(name, _)| format!("{name:label_width$}")));
    for column in columns {
        let cells: Vec<String> =
            rows.iter().map(|(_, values)| values.get(column).map_or_else(String::new, as_float)).collect();
        // A column keeps the place of a sign before its name.
        let wide = cells.iter().map(|cell| width(cell)).chain([width(column) + 1]).max().unwrap_or(0);
        let texts = [*column].into_iter().chain(cells.iter().map(String::as_str));
        for (line, text) in lines.iter_mut().zip(texts) {
            line.push(' ');
            put_right(line, text, wide);
        }
    }
    lines
}

/// Statistics are floats even where the measurement counts.
fn as_float(value: &Node) -> String {
    value.as_f64().map_or_else(|| shown(value), |number| shown(&Node::Float(number)))
}

/// A header line and one line of values. Mixed rows hold text beside numbers, and are one wider.
pub(super) fn values(row: &Node, is_mixed: bool) -> Vec<String> {
    let mut head = String::new();
    let mut body = String::new();
    for (name, value) in row.entries() {
        let text = shown(value);
        let (name_width, text_width) = (width(name), width(&text));
        let wide = if is_mixed { name_width.max(text_width + 1) } else { (name_width + 1).max(text_width) };
        for (line, text) in [(&mut head, name), (&mut body, &text)] {
            line.push(' ');
            put_right(line, text, wide);
        }
    }
    vec![head, body]
}

pub(super) fn indented(lines: Vec<String>, depth: usize) -> impl Iterator<Item = String> {
    lines.into_iter().map(move |line| "\t".repeat(depth) + &line)
}
