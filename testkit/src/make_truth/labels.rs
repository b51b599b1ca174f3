//! What a summary says about itself: a part is not above its whole, and a mean over the run is not better than
//! the total that it is the mean of.

use crate::claim::Claim;
use crate::rows::Row;
use crate::span::Span;
use serde_json::Value;

pub(crate) fn row(summary: &Value) -> Row {
    let mut wrong = Vec::new();
    for scope in ["main", "descendants", "combined", "system"] {
        let Some(figures) = summary[scope].as_object() else { continue };
        for (key, figure) in figures {
            if let Some(total) = total_of(key).and_then(|total| figures.get(&total))
                && figure["quality"] == "exact"
                && total["quality"] != "exact"
            {
                wrong.push(format!("{scope}.{key} is exact, its total {}", total["quality"]));
            }
        }
        let value = |key: &str| figures.get(key).and_then(|figure| figure["value"].as_f64());
        for part in ["cpu_user_ns", "cpu_system_ns"] {
            if let (Some(part_ns), Some(whole_ns)) = (value(part), value("cpu_ns"))
                && part_ns > whole_ns
            {
                wrong.push(format!("{scope}.{part} is above cpu_ns"));
            }
        }
        let combined = |key: &str| summary["combined"][key]["value"].as_f64();
        if matches!(scope, "main" | "descendants") {
            for key in ["cpu_ns", "read_chars_bytes", "write_storage_bytes", "faults_minor", "rss_bytes_max"]
            {
                if let (Some(part), Some(whole)) = (value(key), combined(key))
                    && part > whole
                {
                    wrong.push(format!("{scope}.{key} is above that of all"));
                }
            }
        }
    }
    let count = wrong.len() as f64;
    let truth = Span::new(0.0, 0.0, "the summary itself");
    let claim = Claim::plain(Some(count), "exact");
    let missed = None;
    let wrong = wrong.first().map(|first| format!("{} labels or parts, as {first}", wrong.len()));
    Row { figure: "labels and parts".to_owned(), truth, claim, wrong, missed }
}

/// The total that a mean over the run is derived from.
fn total_of(key: &str) -> Option<String> {
    match key {
        "cores_used_mean" | "hardware_ratio_mean" => Some("cpu_ns".to_owned()),
        _ => key.strip_suffix("_per_s_mean").map(str::to_owned),
    }
}
