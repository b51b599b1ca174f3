//! Values that flags and settings have in common, and how they are read.

use jobmeter_model::units::{parse_bytes, parse_duration_ns};
use jobmeter_record::LEAST_LIMIT_BYTES;
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Markdown,
}

pub(crate) fn parse_interval(text: &str) -> Result<u64, String> {
    match parse_duration_ns(text).map_err(|error| error.to_string())? {
        ns if ns < 1_000_000 => Err(format!("{text} is too short; the shortest interval is 1ms")),
        ns => Ok(ns),
    }
}

pub(crate) fn parse_record_limit(text: &str) -> Result<u64, String> {
    match parse_bytes(text).map_err(|error| error.to_string())? {
        bytes if bytes < LEAST_LIMIT_BYTES => {
            Err(format!("{text} is too small for a record; the smallest limit is 1MiB"))
        }
        bytes => Ok(bytes),
    }
}

pub(crate) fn parse_cores(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|cores: &f64| cores.is_finite() && *cores > 0.0)
        .ok_or_else(|| format!("'{text}' is not a number of cores; write one above 0, such as 4 or 2.5"))
}

pub(crate) fn parse_intensity(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|grams: &f64| grams.is_finite() && *grams >= 0.0)
        .ok_or_else(|| format!("'{text}' is not an intensity; write grams per kWh, such as 230"))
}

pub(crate) fn to_json(answer: &impl Serialize) -> String {
    let mut text =
        serde_json::to_string_pretty(answer).unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}"));
    text.push('\n');
    text
}
