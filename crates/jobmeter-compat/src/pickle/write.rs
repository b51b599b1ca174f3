//! Protocol 2: every Python 3 reads it.

use super::{RESTORE, RESULTS_MODULE, USAGE_MODULE};
use crate::tree::Node;

/// As many as Python puts onto the stack at once.
const BATCH: usize = 1000;

/// `restore(kind, data)`.
pub(crate) fn write_results(kind: &str, data: &Node) -> Vec<u8> {
    let mut out = vec![0x80, 2];
    put_global(&mut out, RESULTS_MODULE, RESTORE);
    put_text(&mut out, kind);
    put(&mut out, data);
    // TUPLE2, REDUCE, STOP
    out.extend([0x86, b'R', b'.']);
    out
}

/// The data classes, called with their fields in order.
pub(crate) fn write_usage(usage: &Node) -> Vec<u8> {
    let mut out = vec![0x80, 2];
    put_class(&mut out, "ResourceUsage", usage);
    out.push(b'.');
    out
}

fn put_class(out: &mut Vec<u8>, name: &str, fields: &Node) {
    put_global(out, USAGE_MODULE, name);
    out.push(b'(');
    for (key, value) in fields.entries() {
        match value {
            Node::Map(_) => put_class(out, class_of(key, value), value),
            value => put(out, value),
        }
    }
    out.extend([b't', b'R']);
}

fn class_of(key: &str, fields: &Node) -> &'static str {
    match key {
        "max_ram" => "MaxRAM",
        "max_gpu_ram" => "MaxGPURAM",
        "cpu_utilization" => "CPUUtilization",
        "gpu_utilization" => "GPUUtilization",
        "compute_time" => "ComputeTime",
        _ if fields.get("total_rss").is_some() => "RSSValues",
        _ => "ProcessingUnitPercentages",
    }
}

fn put_global(out: &mut Vec<u8>, module: &str, name: &str) {
    out.extend(format!("c{module}\n{name}\n").into_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'X');
    // Keys, names and units: far below 4 GiB.
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
}

fn put(out: &mut Vec<u8>, value: &Node) {
    match value {
        Node::Null => out.push(b'N'),
        Node::Text(text) => put_text(out, text),
        Node::Int(value) => match i32::try_from(*value) {
            Ok(value) => {
                out.push(b'J');
                out.extend(value.to_le_bytes());
            }
            Err(_) => {
                out.extend([0x8a, 8]);
                out.extend(value.to_le_bytes());
            }
        },
        Node::Float(value) => {
            out.push(b'G');
            out.extend(value.to_be_bytes());
        }
        Node::List(items) => {
            out.push(b']');
            for batch in items.chunks(BATCH) {
                out.push(b'(');
                batch.iter().for_each(|item| put(out, item));
                out.push(b'e');
            }
        }
        Node::Map(entries) => {
            out.push(b'}');
            for batch in entries.chunks(BATCH) {
                out.push(b'(');
                for (key, value) in batch {
                    put_text(out, key);
                    put(out, value);
                }
                out.push(b'u');
            }
        }
    }
}
