//! What a tracking session is asked to do: options over the configuration file over the defaults.

use super::units::{self, UnitOf};
use crate::error::{CompatError, shown};
use jobmeter_gpu::Brand;
use jobmeter_model::text::printable;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The options as they were written.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TrackOptions {
    /// A file with settings.
    pub config: Option<PathBuf>,
    /// Seconds between two rows.
    pub sleep_time: Option<String>,
    /// Unit of RAM.
    pub ram_unit: Option<String>,
    /// Unit of GPU RAM.
    pub gpu_ram_unit: Option<String>,
    /// Unit of times.
    pub time_unit: Option<String>,
    /// Cores that the command is expected to use.
    pub n_expected_cores: Option<String>,
    /// GPUs that the command is expected to use, by UUID.
    pub gpu_uuids: Option<String>,
    /// No log lines.
    pub disable_logs: bool,
    /// Of this maker only.
    pub gpu_brand: Option<String>,
    /// Where rows go while the command runs.
    pub tracking_file: Option<PathBuf>,
    /// A tracking file that is there is replaced.
    pub overwrite: bool,
}

/// The arguments of the `Tracker` class, as a JSON file holds them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    sleep_time: Option<f64>,
    ram_unit: Option<String>,
    gpu_ram_unit: Option<String>,
    time_unit: Option<String>,
    n_expected_cores: Option<i64>,
    gpu_uuids: Option<Vec<String>>,
    disable_logs: Option<bool>,
    gpu_brand: Option<String>,
    tracking_file: Option<PathBuf>,
    overwrite: Option<bool>,
    // Accepted and without effect: the process is the command's, and there is no helper process to join.
    #[serde(rename = "process_id")]
    _process_id: Option<i64>,
    #[serde(rename = "resource_usage_file")]
    _resource_usage_file: Option<PathBuf>,
    #[serde(rename = "n_join_attempts")]
    _n_join_attempts: Option<i64>,
    #[serde(rename = "join_timeout")]
    _join_timeout: Option<f64>,
}

/// Options that were understood.
#[derive(Debug, PartialEq)]
pub struct Settings {
    /// Between two rows.
    pub interval_ns: u64,
    /// Of RAM.
    pub ram_unit: UnitOf,
    /// Of GPU RAM.
    pub gpu_ram_unit: UnitOf,
    /// Of times.
    pub time_unit: UnitOf,
    /// Cores that the command is expected to use.
    pub n_expected_cores: Option<u32>,
    /// GPUs that the command is expected to use, by UUID.
    pub gpu_uuids: Option<Vec<String>>,
    /// Of this maker only.
    pub gpu_brand: Option<Brand>,
    /// No log lines.
    pub disable_logs: bool,
    /// Where rows go while the command runs.
    pub tracking_file: Option<PathBuf>,
    /// A tracking file that is there is replaced.
    pub overwrite: bool,
}

impl Settings {
    /// Understands options, those of their file included.
    pub fn new(options: TrackOptions) -> Result<Settings, CompatError> {
        let config = options.config.as_deref().map_or(Ok(Config::default()), read)?;
        let sleep_time = match options.sleep_time {
            Some(text) => text.trim().parse().map_err(|_| not_a("number of seconds, such as 0.3", &text))?,
            None => config.sleep_time.unwrap_or(1.0),
        };
        let cores = match options.n_expected_cores {
            Some(text) => Some(text.trim().parse().map_err(|_| not_a("number of cores, such as 4", &text))?),
            None => config.n_expected_cores,
        };
        let split = |text: String| text.split(',').map(|uuid| uuid.trim().to_owned()).collect();
        let ram_unit = options.ram_unit.or(config.ram_unit).unwrap_or_else(|| "gigabytes".to_owned());
        let gpu_ram_unit =
            options.gpu_ram_unit.or(config.gpu_ram_unit).unwrap_or_else(|| "gigabytes".to_owned());
        let time_unit = options.time_unit.or(config.time_unit).unwrap_or_else(|| "hours".to_owned());
        Ok(Settings {
            interval_ns: interval_ns(sleep_time)?,
            ram_unit: units::memory(&ram_unit, "RAM")?,
            gpu_ram_unit: units::gpu_memory(&gpu_ram_unit)?,
            time_unit: units::time(&time_unit)?,
            n_expected_cores: cores.map(core_count).transpose()?,
            gpu_uuids: options.gpu_uuids.map(split).or(config.gpu_uuids),
            gpu_brand: options.gpu_brand.or(config.gpu_brand).as_deref().map(brand).transpose()?,
            disable_logs: options.disable_logs || config.disable_logs.unwrap_or(false),
            tracking_file: options.tracking_file.or(config.tracking_file),
            overwrite: options.overwrite || config.overwrite.unwrap_or(false),
        })
    }
}

fn read(path: &Path) -> Result<Config, CompatError> {
    let text = std::fs::read_to_string(path).map_err(|error| CompatError::file("read", path, error))?;
    serde_json::from_str(&text).map_err(|error| {
        CompatError::Value(format!(
            "{} must be a JSON object with arguments of the Tracker class: {}",
            shown(path),
            printable(&error.to_string())
        ))
    })
}

fn not_a(what: &str, text: &str) -> CompatError {
    CompatError::Value(format!("\"{}\" is not a {what}.", printable(text)))
}

fn interval_ns(seconds: f64) -> Result<u64, CompatError> {
    if (0.1..=1e9).contains(&seconds) {
        return Ok((seconds * 1e9) as u64);
    }
    let bound = if seconds > 1.0 { "at most 1000000000" } else { "at least 0.1" };
    Err(CompatError::Value(format!(
        "Sleep time of {} is invalid. Must be {bound} seconds.",
        crate::number::repr(seconds)
    )))
}

fn core_count(count: i64) -> Result<u32, CompatError> {
    u32::try_from(count).ok().filter(|count| *count > 0).ok_or_else(|| {
        CompatError::Value(format!("{count} is not a valid number of expected cores. Must be at least 1."))
    })
}

fn brand(name: &str) -> Result<Brand, CompatError> {
    match name {
        "nvidia" => Ok(Brand::Nvidia),
        "amd" => Ok(Brand::Amd),
        _ => Err(CompatError::Value(format!(
            "\"{}\" is not a valid GPU brand. Supported values are \"nvidia\" and \"amd\".",
            printable(name)
        ))),
    }
}
