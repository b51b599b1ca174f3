//! What must hold in every summary, whatever was measured: parts at most their totals, rates at most the hardware, a
//! derived figure graded no better than its source, values within their bounds, unknown never 0.

use serde_json::{Map, Value};
use std::borrow::Cow;

/// From the best grade to the worst.
const GRADES: [&str; 5] = ["exact", "sampled", "lower_bound", "estimate", "unavailable"];

const JOB: [&str; 3] = ["main", "descendants", "combined"];

/// Pressure is a share of time.
const ONE_SECOND_PER_S: [&str; 5] = [
    "psi_cpu_some_ns_per_s",
    "psi_memory_some_ns_per_s",
    "psi_memory_full_ns_per_s",
    "psi_io_some_ns_per_s",
    "psi_io_full_ns_per_s",
];

const DIVIDED: [&str; 2] = ["rss_private_bytes_max", "rss_shared_bytes_max"];

/// Every sentence says what does not hold in a summary, as `-f json` writes it.
pub fn violations(summary: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for scope in ["main", "descendants", "combined", "system"] {
        check_figures(scope, &figures(&summary[scope]), &mut found);
        check_rates(scope, summary, &mut found);
    }
    for list in ["cores", "disks", "mounts", "networks", "gpus"] {
        for entity in summary[list].as_array().into_iter().flatten() {
            let name = format!("{list} {}", entity["name"].as_str().unwrap_or("?"));
            check_figures(&name, &figures(&entity["figures"]), &mut found);
            at_most(&name, &entity["figures"], "busy_ratio_max", 1.0, &mut found);
        }
    }
    check_parts(summary, &mut found);
    check_nothing_is_zero_for_unknown(summary, &mut found);
    found
}

/// Panics with every sentence of [`violations`].
pub fn assert_hold(summary: &Value) {
    let found = violations(summary);
    assert!(found.is_empty(), "the summary contradicts itself:\n{}", found.join("\n"));
}

fn figures(scope: &Value) -> Cow<'_, Map<String, Value>> {
    scope.as_object().map_or_else(Cow::default, Cow::Borrowed)
}

fn value_of(figures: &Value, key: &str) -> Option<f64> {
    figures[key]["value"].as_f64()
}

fn grade_of(figure: &Value) -> Option<usize> {
    let quality = figure["quality"].as_str()?;
    GRADES.iter().position(|grade| *grade == quality)
}

fn check_figures(scope: &str, figures: &Map<String, Value>, found: &mut Vec<String>) {
    for (key, figure) in figures {
        let number = |field: &str| figure[field].as_f64();
        let value = number("value");
        let Some(grade) = grade_of(figure) else {
            found.push(format!("{scope}.{key} has no grade: {figure}"));
            continue;
        };
        let is_unavailable = GRADES[grade] == "unavailable";
        if value.is_none() != is_unavailable {
            found.push(format!("{scope}.{key} is {} and has the value {}", GRADES[grade], figure["value"]));
        }
        if is_unavailable && figure["reason"].as_str().is_none_or(str::is_empty) {
            found.push(format!("{scope}.{key} is missing without a reason"));
        }
        if value.is_some_and(|value| !value.is_finite() || value < 0.0) {
            found.push(format!("{scope}.{key} is {value:?}"));
        }
        let order = [number("lower"), value, number("likely_upper"), number("upper")];
        let known: Vec<f64> = order.into_iter().flatten().collect();
        if !known.is_sorted() {
            found.push(format!("{scope}.{key}: lower, value, likely upper, upper are {order:?}"));
        }
        if let (Some(mean_of), Some(mean)) = (key.strip_suffix("_mean"), value)
            && let Some(max) = figures.get(&format!("{mean_of}_max")).and_then(|max| max["value"].as_f64())
            && mean > max * (1.0 + 1e-9)
        {
            found.push(format!("{scope}.{key} is {mean}, above its maximum of {max}"));
        }
        if let Some(source) = source_of(key).and_then(|source| figures.get(source))
            && grade_of(source).is_some_and(|source_grade| grade < source_grade)
        {
            let (own, source) = (GRADES[grade], &source["quality"]);
            found.push(format!("{scope}.{key} is {own}, better than its total, which is {source}"));
        }
    }
}

/// The total that a rate is taken from.
fn source_of(key: &str) -> Option<&str> {
    let rate = key.strip_suffix("_max").or_else(|| key.strip_suffix("_mean"))?;
    match rate {
        "cores_used" | "hardware_ratio" => Some("cpu_ns"),
        "busy_ratio" => Some("core_busy_ns"),
        _ => rate.strip_suffix("_per_s"),
    }
}

fn at_most(scope: &str, figures: &Value, key: &str, most: f64, found: &mut Vec<String>) {
    if let Some(value) = value_of(figures, key).filter(|value| *value > most * (1.0 + 1e-9)) {
        found.push(format!("{scope}.{key} is {value}, and the hardware allows {most}"));
    }
}

fn check_rates(scope: &str, summary: &Value, found: &mut Vec<String>) {
    let figures = &summary[scope];
    for statistic in ["max", "mean"] {
        if let Some(cores) = summary["run"]["system_cores"].as_f64().filter(|cores| *cores > 0.0) {
            at_most(scope, figures, &format!("cores_used_{statistic}"), cores, found);
            for key in ["cpu_user_ns", "cpu_system_ns"] {
                at_most(scope, figures, &format!("{key}_per_s_{statistic}"), cores * 1e9, found);
            }
        }
        for key in ONE_SECOND_PER_S {
            at_most(scope, figures, &format!("{key}_{statistic}"), 1e9, found);
        }
    }
    at_most(scope, &summary["system"], "hardware_ratio_max", 1.0, found);
}

fn check_parts(summary: &Value, found: &mut Vec<String>) {
    let combined = &summary["combined"];
    for part in ["main", "descendants"] {
        for (key, _) in figures(&summary[part]).iter() {
            // Rates and means peak at other times; how memory divides into private and shared is estimated for each scope.
            let is_apart =
                source_of(key).is_some() || key.ends_with("_mean") || DIVIDED.contains(&key.as_str());
            if let (Some(own), Some(whole)) = (value_of(&summary[part], key), value_of(combined, key))
                && !is_apart
                && own > whole
            {
                found.push(format!("{part}.{key} is {own}, above combined.{key} of {whole}"));
            }
        }
        let upper_of = |figures: &Value| figures["rss_bytes_max"]["upper"].as_f64();
        if let (Some(own), Some(whole)) = (upper_of(&summary[part]), upper_of(combined))
            && own > whole
        {
            found.push(format!("{part}.rss_bytes_max is at most {own}, the whole at most {whole}"));
        }
    }
    for scope in JOB {
        let figures = &summary[scope];
        let value = |key| value_of(figures, key);
        if let (Some(user), Some(system), Some(whole)) =
            (value("cpu_user_ns"), value("cpu_system_ns"), value("cpu_ns"))
            && user + system > whole
        {
            found.push(format!("{scope}: user {user} and system {system} are above cpu_ns of {whole}"));
        }
        for (part, whole) in [("processes_max", "threads_max"), ("rss_private_bytes_max", "rss_bytes_max")] {
            if let (Some(part_value), Some(whole_value)) = (value(part), value(whole))
                && part_value > whole_value
            {
                found.push(format!("{scope}.{part} is {part_value}, above {whole} of {whole_value}"));
            }
        }
    }
    if let (Some(most), Some(total)) =
        (value_of(combined, "processes_max"), value_of(combined, "processes_total"))
        && most > total
    {
        found.push(format!("combined.processes_max is {most}, above processes_total of {total}"));
    }
}

fn check_nothing_is_zero_for_unknown(summary: &Value, found: &mut Vec<String>) {
    for (scope, key) in [
        ("main", "rss_bytes_max"),
        ("main", "processes_max"),
        ("main", "threads_max"),
        ("combined", "rss_bytes_max"),
        ("combined", "processes_max"),
        ("combined", "processes_total"),
        ("system", "memory_total_bytes_max"),
        ("system", "memory_used_bytes_max"),
    ] {
        if value_of(&summary[scope], key) == Some(0.0) {
            found.push(format!("{scope}.{key} is 0, which cannot be: unknown is null"));
        }
    }
    if summary["overhead"]["cpu_ns"].as_u64() == Some(0) {
        found.push("overhead.cpu_ns is 0, which cannot be: unknown is null".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn good() -> Value {
        let figure = |value: f64, quality: &str| json!({"value": value, "quality": quality});
        let scope = json!({
            "cpu_ns": figure(100.0, "lower_bound"),
            "cpu_user_ns": figure(60.0, "estimate"),
            "cpu_system_ns": figure(40.0, "estimate"),
            "cores_used_max": figure(1.5, "lower_bound"),
            "cores_used_mean": figure(1.0, "lower_bound"),
            "processes_max": figure(2.0, "sampled"),
            "processes_total": figure(2.0, "exact"),
            "threads_max": figure(2.0, "sampled"),
            "rss_bytes_max": {"value": 50, "lower": 50, "upper": 60, "quality": "sampled"},
            "read_chars_bytes": {"value": null, "quality": "unavailable", "reason": "refused"},
        });
        json!({
            "run": {"system_cores": 2},
            "main": scope, "descendants": scope, "combined": scope,
            "system": {"psi_cpu_some_ns_per_s_max": figure(1e9, "sampled")},
            "cores": [{"name": "0", "figures": {"busy_ratio_max": figure(1.0, "sampled")}}],
            "overhead": {"cpu_ns": 5},
        })
    }

    #[test]
    fn a_sound_summary_has_none() {
        assert_eq!(violations(&good()), Vec::<String>::new());
    }

    #[test]
    fn each_contradiction_is_found() {
        let bent = [
            ("/main/cpu_ns/value", json!(200)),
            ("/main/cpu_ns/quality", json!("estimate")),
            ("/combined/cpu_user_ns/value", json!(61)),
            ("/combined/cores_used_max/value", json!(2.1)),
            ("/combined/cores_used_max/quality", json!("sampled")),
            ("/combined/cores_used_mean/value", json!(1.6)),
            ("/combined/processes_max/value", json!(3)),
            ("/combined/rss_bytes_max/lower", json!(51)),
            ("/combined/rss_bytes_max/upper", json!(49)),
            ("/main/rss_bytes_max/upper", json!(1e9)),
            ("/combined/read_chars_bytes/value", json!(0)),
            ("/combined/read_chars_bytes/reason", json!("")),
            ("/combined/threads_max/value", json!(1)),
            ("/main/rss_bytes_max/value", json!(0)),
            ("/main/threads_max/value", json!(-1)),
            ("/main/threads_max/quality", json!("splendid")),
            ("/system/psi_cpu_some_ns_per_s_max/value", json!(1.1e9)),
            ("/cores/0/figures/busy_ratio_max/value", json!(1.01)),
            ("/overhead/cpu_ns", json!(0)),
        ];
        for (place, value) in bent {
            let mut summary = good();
            *summary.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = value.clone();
            assert!(!violations(&summary).is_empty(), "{place} = {value} went unnoticed");
        }
    }
}
