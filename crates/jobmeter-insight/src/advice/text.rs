//! Advice as text for people.

use super::{Advice, Item};
use crate::error::clean;
use crate::policy::Policy;
use crate::units::show_bytes;
use jobmeter_model::Unit;
use jobmeter_model::format::{Style, format};
use std::fmt::Write;

pub(super) fn render(advice: &Advice) -> String {
    let mut out = String::new();
    let of = advice.name.as_deref().map_or(String::new(), |name| format!(" for {}", clean(name)));
    let policy = match advice.policy {
        Policy::Simple => "simple rules".to_owned(),
        Policy::Risk { chance } => format!("chance of needing more {}", super::rules::percent(chance)),
    };
    // Writing to a String cannot fail; the results are dropped for that reason alone.
    let _ = writeln!(out, "Advice{of} from {} of {} runs ({policy})", advice.runs_used, advice.runs);
    if advice.is_floor
        && let Some(note) = advice.notes.first()
    {
        let _ = writeln!(out, "{note}");
    }
    let bytes = |value: u64| show_bytes(value as f64);
    let plain = |value: u64| value.to_string();
    let seconds = |value: u64| format(value as f64 * 1e9, Unit::Nanos, Style::Short);
    let mut line =
        |name, item, show: &dyn Fn(u64) -> String| line(&mut out, name, item, advice.is_floor, show);
    line("cores", &advice.cores, &plain);
    line("memory", &advice.memory_bytes, &bytes);
    line("GPUs", &advice.gpus, &plain);
    if advice.gpus.value != Some(0) {
        let is_one = advice.gpus.value == Some(1);
        line(if is_one { "VRAM" } else { "VRAM/GPU" }, &advice.vram_bytes, &bytes);
    }
    line("time", &advice.time_s, &seconds);
    line("disk", &advice.disk_bytes, &bytes);
    if let Some(present) = &advice.present {
        let _ = writeln!(out, "now: {}", present.text);
    }
    for note in advice.notes.iter().skip(usize::from(advice.is_floor)) {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

fn line(out: &mut String, name: &str, item: &Item, is_floor: bool, show: &dyn Fn(u64) -> String) {
    let least = if is_floor { "≥ " } else { "" };
    let value = item.value.map_or("unknown".to_owned(), |value| format!("{least}{}", show(value)));
    let _ = writeln!(out, "  {name:<7} {value:<12} {}", item.why);
    if let Some(unknown) = &item.unknown {
        let _ = writeln!(out, "  {:<7} {:<12} not known: {unknown}", "", "");
    }
}
