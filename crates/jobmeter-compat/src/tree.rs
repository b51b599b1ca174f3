//! An ordered tree of values: the one shape behind the text report, JSON and pickle.

use crate::number::{repr, rounded};
use std::fmt::Write as _;

/// A value as the formats of the originals have them.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// Python's `None`.
    Null,
    /// A text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Values in order.
    List(Vec<Node>),
    /// Values by name, in order.
    Map(Vec<(String, Node)>),
}

impl Node {
    pub(crate) fn text(text: &str) -> Node {
        Node::Text(text.to_owned())
    }

    pub(crate) fn map<K: Into<String>>(entries: impl IntoIterator<Item = (K, Node)>) -> Node {
        Node::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// The entries of a map, none of anything else.
    pub(crate) fn entries(&self) -> &[(String, Node)] {
        match self {
            Node::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(crate) fn as_f64(&self) -> Option<f64> {
        match self {
            Node::Int(value) => Some(*value as f64),
            Node::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// JSON with one space a level, non-ASCII escaped, `NaN` spelled as Python's encoder spells it.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.put_json(&mut out, 0);
        out
    }

    fn put_json(&self, out: &mut String, depth: usize) {
        match self {
            Node::Null => out.push_str("null"),
            Node::Text(text) => put_json_string(out, text),
            Node::Int(value) => out.push_str(&value.to_string()),
            Node::Float(value) if value.is_nan() => out.push_str("NaN"),
            Node::Float(value) if value.is_infinite() => {
                out.push_str(if *value > 0.0 { "Infinity" } else { "-Infinity" });
            }
            Node::Float(value) => out.push_str(&repr(*value)),
            Node::List(items) if items.is_empty() => out.push_str("[]"),
            Node::Map(entries) if entries.is_empty() => out.push_str("{}"),
            Node::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    put_break(out, if index == 0 { "[" } else { "," }, depth + 1);
                    item.put_json(out, depth + 1);
                }
                put_break(out, "", depth);
                out.push(']');
            }
            Node::Map(entries) => {
                for (index, (key, value)) in entries.iter().enumerate() {
                    put_break(out, if index == 0 { "{" } else { "," }, depth + 1);
                    put_json_string(out, key);
                    out.push_str(": ");
                    value.put_json(out, depth + 1);
                }
                put_break(out, "", depth);
                out.push('}');
            }
        }
    }

    /// Lines of the usage report: three spaces a level, floats to three places.
    pub fn to_report(&self) -> String {
        let mut out = String::new();
        self.put_report(&mut out, 0);
        out.pop();
        out
    }

    fn put_report(&self, out: &mut String, depth: usize) {
        for (key, value) in self.entries() {
            out.push_str(&"   ".repeat(depth));
            out.push_str(&label(key));
            out.push(':');
            match value {
                Node::Map(_) => {
                    out.push('\n');
                    value.put_report(out, depth + 1);
                    continue;
                }
                Node::Float(number) => {
                    out.push(' ');
                    out.push_str(&repr(rounded(*number, 3)));
                }
                Node::Int(number) => {
                    out.push(' ');
                    out.push_str(&number.to_string());
                }
                Node::Text(text) => {
                    out.push(' ');
                    out.push_str(text);
                }
                Node::Null | Node::List(_) => {}
            }
            out.push('\n');
        }
    }
}

/// What the report calls a key.
fn label(key: &str) -> String {
    let known = match key {
        "max_ram" => "Max RAM",
        "max_gpu_ram" => "Max GPU RAM",
        "cpu_utilization" => "CPU utilization",
        "gpu_utilization" => "GPU utilization",
        "gpu_percentages" => "GPU percentages",
        "system_gpu_count" => "System GPU count",
        "n_expected_cores" => "Number of expected cores",
        "n_expected_gpus" => "Number of expected GPUs",
        "main_n_threads" => "Main number of threads",
        "descendants_n_threads" => "Descendants number of threads",
        // As the first releases spelled it.
        "descendents_n_threads" => "Descendents number of threads",
        "combined_n_threads" => "Combined number of threads",
        "total_rss" => "Total RSS",
        "private_rss" => "Private RSS",
        "shared_rss" => "Shared RSS",
        _ => {
            let words = key.replace('_', " ");
            let mut letters = words.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            return first.into_iter().chain(letters).collect();
        }
    };
    known.to_owned()
}

fn put_break(out: &mut String, mark: &str, depth: usize) {
    out.push_str(mark);
    out.push('\n');
    out.push_str(&" ".repeat(depth));
}

fn put_json_string(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(letter),
            _ => {
                let mut units = [0; 2];
                for unit in letter.encode_utf16(&mut units) {
                    // Writing to a String cannot fail.
                    let _written = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_one_space_a_level() {
        let tree = Node::map([
            ("a", Node::Float(f64::NAN)),
            ("b", Node::List(vec![Node::Int(1), Node::text("é\"\n")])),
            ("c", Node::Map(Vec::new())),
        ]);
        let expected = "{\n \"a\": NaN,\n \"b\": [\n  1,\n  \"\\u00e9\\\"\\n\"\n ],\n \"c\": {}\n}";
        assert_eq!(tree.to_json(), expected);
    }

    #[test]
    fn the_report_has_three_spaces_a_level() {
        let tree = Node::map([(
            "max_ram",
            Node::map([("unit", Node::text("gigabytes")), ("system_capacity", Node::Float(63.0882304))]),
        )]);
        assert_eq!(tree.to_report(), "Max RAM:\n   Unit: gigabytes\n   System capacity: 63.088");
    }
}
