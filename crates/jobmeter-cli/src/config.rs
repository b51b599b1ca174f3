//! Settings that no flag has given: `JOBMETER_*` in the environment, then `./jobmeter.toml`, then
//! `$XDG_CONFIG_HOME/jobmeter/config.toml`. They are read once, before the job starts, and never passed on to it.

use crate::cmd::values::{Format, parse_cores, parse_intensity, parse_interval, parse_record_limit};
use crate::platform::owner;
use crate::say::{say, shown};
use crate::trust::{self, Found, NOT_FROM_HERE};
use clap::ValueEnum;
use jobmeter_model::text::printable_within;
use jobmeter_model::units::parse_duration_ns;
use jobmeter_record::{Store, open_without_waiting};
use jobmeter_report::text::{Color, Units};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use toml::Value;

/// A settings file is some lines; anything this large is another file.
const LARGEST_BYTES: u64 = 1 << 20;
const LOCAL_FILE: &str = "jobmeter.toml";
/// How a store begins that is no folder.
const OBJECT_STORAGE: &str = "s3://";

#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) interval_ns: Option<u64>,
    pub(crate) format: Option<Format>,
    pub(crate) color: Option<Color>,
    pub(crate) units: Option<Units>,
    pub(crate) expected_cores: Option<f64>,
    pub(crate) cgroup: Option<bool>,
    pub(crate) record: Option<bool>,
    pub(crate) record_limit_bytes: Option<u64>,
    /// The local run store.
    pub(crate) store: Option<PathBuf>,
    /// `s3://…`: where runs go after they have ended.
    pub(crate) upload: Option<String>,
    pub(crate) upload_timeout_ns: Option<u64>,
    pub(crate) redact: Option<bool>,
    pub(crate) gpu: Option<bool>,
    pub(crate) grace_ns: Option<u64>,
    pub(crate) carbon_intensity: Option<f64>,
}

/// Reads the text of one setting; the path is the folder that a relative path counts from.
type Setter = fn(&mut Settings, &str, &Path) -> Result<(), String>;

/// Every key of the files; in the environment they are `JOBMETER_` and capitals.
const KEYS: [(&str, Setter); 14] = [
    ("interval", |settings, text, _| put(&mut settings.interval_ns, parse_interval(text))),
    ("format", |settings, text, _| put(&mut settings.format, parse_format(text))),
    ("color", |settings, text, _| put(&mut settings.color, text.parse())),
    ("units", |settings, text, _| put(&mut settings.units, text.parse())),
    ("expected_cores", |settings, text, _| put(&mut settings.expected_cores, parse_cores(text))),
    ("cgroup", |settings, text, _| put(&mut settings.cgroup, parse_switch(text))),
    ("record", |settings, text, _| put(&mut settings.record, parse_switch(text))),
    ("record_limit", |settings, text, _| put(&mut settings.record_limit_bytes, parse_record_limit(text))),
    ("store", |settings, text, folder| settings.set_store(text, folder)),
    ("upload_timeout", |settings, text, _| {
        put(&mut settings.upload_timeout_ns, parse_duration_ns(text).map_err(|error| error.to_string()))
    }),
    ("redact", |settings, text, _| put(&mut settings.redact, parse_switch(text))),
    ("gpu", |settings, text, _| put(&mut settings.gpu, parse_switch(text))),
    ("grace", |settings, text, _| {
        put(&mut settings.grace_ns, parse_duration_ns(text).map_err(|error| error.to_string()))
    }),
    ("carbon_intensity", |settings, text, _| put(&mut settings.carbon_intensity, parse_intensity(text))),
];

fn put<T>(place: &mut Option<T>, value: Result<T, String>) -> Result<(), String> {
    *place = Some(value?);
    Ok(())
}

fn parse_format(text: &str) -> Result<Format, String> {
    Format::from_str(text, false).map_err(|_| format!("'{text}' is not a format; write text or json"))
}

fn parse_switch(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(format!("'{text}' is neither true nor false")),
    }
}

fn parse_path(text: &str, folder: &Path) -> Result<PathBuf, String> {
    match text.strip_prefix("~/") {
        Some(rest) => {
            let home =
                variable("HOME").ok_or("HOME is not set, so ~/ leads nowhere; write the whole path")?;
            Ok(Path::new(&home).join(rest))
        }
        None if text.is_empty() => Err("the path is empty; write one such as /scratch/runs".to_owned()),
        None => Ok(folder.join(text)),
    }
}

fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

impl Settings {
    /// The nearer source wins: environment, local file, the user's file.
    pub(crate) fn load() -> Result<Settings, String> {
        let mut settings = Settings::default();
        let mut warnings = Vec::new();
        if let Some(path) = user_file()
            && let Some(file) = open_user_file(&path)?
        {
            match owner::is_callers(&file) {
                true => settings.read_file(file, &path, &mut |_| false)?,
                false => warnings.push(trust::warn_untrusted(&path, "it is not the caller's")),
            }
        }
        settings.read_local(Path::new(LOCAL_FILE), &mut warnings)?;
        settings.read_environment()?;
        // Who asks for a run in the store loads the settings a second time.
        static SAID: AtomicBool = AtomicBool::new(false);
        if !SAID.swap(true, Ordering::Relaxed) {
            warnings.iter().for_each(|text| say(&format!("jobmeter: warning: {text}")));
        }
        Ok(settings)
    }

    /// The file of the working directory, which anybody may have put there: a file of others is passed over.
    fn read_local(&mut self, path: &Path, warnings: &mut Vec<String>) -> Result<(), String> {
        let file = match owner::open_own(path).map_err(|error| cannot_read(path, &error))? {
            Found::Nothing => return Ok(()),
            Found::Untrusted(reason) => {
                warnings.push(trust::warn_untrusted(path, &reason));
                return Ok(());
            }
            Found::Trusted(file) => file,
        };
        let mut is_elsewhere = |key: &str| {
            let is_elsewhere = NOT_FROM_HERE.contains(&key);
            if is_elsewhere {
                warnings.push(format!(
                    "{}: {key} is not taken from the working directory; write it into {} or set JOBMETER_{}",
                    shown(path),
                    user_file().map_or_else(|| "the user's config.toml".to_owned(), |path| shown(&path)),
                    key.to_uppercase()
                ));
            }
            is_elsewhere
        };
        self.read_file(file, path, &mut is_elsewhere)
    }

    fn read_environment(&mut self) -> Result<(), String> {
        for (key, set) in KEYS {
            let name = format!("JOBMETER_{}", key.to_uppercase());
            let Some(value) = variable(&name) else { continue };
            // The store is a path, which need not be UTF-8.
            if key == "store" && !value.as_encoded_bytes().starts_with(OBJECT_STORAGE.as_bytes()) {
                (self.store, self.upload) = (Some(PathBuf::from(value)), None);
                continue;
            }
            let text = value.to_string_lossy();
            set(self, &text, Path::new("")).map_err(|error| format!("{name}: {}", one_line(&error)))?;
        }
        Ok(())
    }

    /// Object storage is where runs go in the end; the folder that a farther source has named stays the local store.
    fn set_store(&mut self, text: &str, folder: &Path) -> Result<(), String> {
        if text.starts_with(OBJECT_STORAGE) {
            self.upload = Some(text.to_owned());
            return Ok(());
        }
        self.upload = None;
        put(&mut self.store, parse_path(text, folder))
    }

    /// `skips` says of a key that it does not count here.
    fn read_file(
        &mut self,
        file: File,
        path: &Path,
        skips: &mut dyn FnMut(&str) -> bool,
    ) -> Result<(), String> {
        let text = read_small_file(file, path)?;
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            format!("{}, line {line}, is not TOML: {}", shown(path), one_line(error.message()))
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for (key, value) in &table {
            let Some((_, set)) = KEYS.iter().find(|(known, _)| known == key) else {
                let known: Vec<&str> = KEYS.iter().map(|(key, _)| *key).collect();
                let key = printable_within(key, 40);
                return Err(format!(
                    "{}: no setting is called '{key}'; there are {}",
                    shown(path),
                    known.join(", ")
                ));
            };
            if skips(key) {
                continue;
            }
            let wrong = |error: String| format!("{}: {key}: {}", shown(path), one_line(&error));
            set(self, &text_of(value).map_err(wrong)?, folder).map_err(wrong)?;
        }
        Ok(())
    }
}

fn text_of(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(switch) => Ok(switch.to_string()),
        other => Err(format!("it is of type {}; write one value, such as \"250ms\"", other.type_str())),
    }
}

fn one_line(text: &str) -> String {
    printable_within(text.trim_end().replace('\n', " ").as_str(), 300)
}

fn user_file() -> Option<PathBuf> {
    // The XDG rules say that a relative path is to be ignored.
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CONFIG_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".config")))
        .or_else(|| absolute("APPDATA"));
    base.map(|base| base.join("jobmeter").join("config.toml"))
}

/// `None` where there is no such file, which costs one failed open.
fn open_user_file(path: &Path) -> Result<Option<File>, String> {
    // A pipe of that name must not hold up the job.
    match open_without_waiting(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        // Behind a folder of somebody else, as after `sudo -u` with another's home, there is nothing for us.
        Err(_) if path.metadata().is_err() => Ok(None),
        Err(error) => Err(cannot_read(path, &error)),
    }
}

fn cannot_read(path: &Path, error: &std::io::Error) -> String {
    format!("cannot read the settings in {}: {error}", shown(path))
}

fn read_small_file(file: File, path: &Path) -> Result<String, String> {
    let cannot = |error: std::io::Error| cannot_read(path, &error);
    if !file.metadata().map_err(cannot)?.is_file() {
        return Err(format!("{} is not a plain file, so it holds no settings; move it away", shown(path)));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > LARGEST_BYTES {
        return Err(format!("{} is larger than 1 MiB, so it cannot be a file of settings", shown(path)));
    }
    let text = String::from_utf8(bytes);
    text.map_err(|_| format!("{} is not UTF-8 text, so it holds no settings", shown(path)))
}

/// The run store, for everything that looks for runs.
pub(crate) fn store() -> Result<Store, String> {
    match Settings::load()?.store {
        Some(directory) => Ok(Store::at(directory)),
        None => Store::open_default().map_err(|error| error.to_string()),
    }
}
