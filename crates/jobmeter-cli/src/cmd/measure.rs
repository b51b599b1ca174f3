//! What `run` and `attach` have in common: options, the record, and where the summary goes.

use super::first_screen::{self, View};
use super::notify::Notice;
use super::values::{Format, parse_cores, parse_interval, parse_record_limit};
use super::{out, terminal, upload};
use crate::config::Settings;
use crate::say::{say, shown};
use jobmeter_engine::linux::control::Pid;
use jobmeter_engine::linux::sys::{Helper, charge_helper};
use jobmeter_engine::run::limits::usable_cores;
use jobmeter_model::JobInfo;
use jobmeter_model::summary::{Limits, RunInfo, Summary, Warning};
use jobmeter_model::{Mode, WarningKind};
use jobmeter_record::USUAL_LIMIT_BYTES;
use jobmeter_record::{CarrierKind, RecordError, Run, Store, Target, Writer, id, place, redact};
use jobmeter_report::text::{Color, Style, Units};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// After the job: how long the end of jobmeter waits for a pipe given as `-o` that nobody reads.
const PIPE_PATIENCE: Duration = Duration::from_secs(2);

/// Shorter runs have no course worth drawing.
const DRAWN_FROM_NS: u64 = 1_000_000_000;
/// Larger records would keep the shell waiting.
const DRAWN_TO_BYTES: u64 = 8 << 20;

// One field for each flag that run and attach share. No doc comment: clap would show it as the help of the command.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct MeasureArgs {
    /// Distance of ticks, such as 100ms; without it fine at first, 1 s later
    #[arg(short, long, value_name = "TIME", value_parser = parse_interval, help_heading = "Measuring")]
    pub(crate) interval: Option<u64>,
    /// Cores that 100 % of the hardware stands for; without it those the job may use
    #[arg(long, value_name = "N", value_parser = parse_cores, help_heading = "Measuring")]
    pub(crate) expected_cores: Option<f64>,
    #[command(flatten)]
    pub(crate) gpu: super::gpu::GpuArgs,
    #[command(flatten)]
    pub(crate) job: super::job::JobArgs,

    /// File for the summary instead of standard error; `-` is standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite files that exist
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
    /// How to write the summary
    #[arg(short, long, value_enum, help_heading = "Output")]
    pub(crate) format: Option<Format>,
    /// Every figure with its bounds, limits, the machine and what jobmeter itself used
    #[arg(long, help_heading = "Output")]
    pub(crate) full: bool,
    /// No summary on standard error
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Say more: where the record is, which sources were used
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
    /// When to colour: auto, always or never
    #[arg(long, value_name = "WHEN", help_heading = "Output")]
    pub(crate) color: Option<Color>,
    /// Units of the text: si, iec, or choices such as ram=GiB,gpu=MiB,time=h
    #[arg(long, value_name = "UNITS", help_heading = "Output")]
    pub(crate) units: Option<Units>,

    /// Shell command to run at the end, with the summary as JSON on its input; it is waited for 10 s at most and
    /// never changes the exit code
    #[arg(long, value_name = "CMD", value_parser = parse_notify, help_heading = "Output")]
    pub(crate) notify: Option<String>,

    /// Name of the run, to find it again and to compare it
    #[arg(long, value_name = "NAME", value_parser = parse_name, help_heading = "Record")]
    pub(crate) name: Option<String>,
    /// Tag of the run (may be given often)
    #[arg(long = "tag", value_name = "K=V", value_parser = parse_tag, help_heading = "Record")]
    pub(crate) tags: Vec<(String, String)>,
    /// Record into this file instead of the store
    #[arg(long, value_name = "FILE", conflicts_with = "no_record", help_heading = "Record")]
    pub(crate) record: Option<PathBuf>,
    /// Keep no record
    #[arg(long, help_heading = "Record")]
    pub(crate) no_record: bool,
    /// Size of the record at most; nearing it, rows are thinned, peaks and totals stay [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_record_limit, help_heading = "Record")]
    pub(crate) record_limit: Option<u64>,
    /// Store command line, names, tags and marks as they are, secrets included
    #[arg(long, help_heading = "Record")]
    pub(crate) no_redact: bool,
    /// From the configuration.
    #[arg(skip)]
    store: Option<PathBuf>,
    /// From the configuration: object storage.
    #[arg(skip)]
    upload: Option<(String, Duration)>,
}

fn parse_name(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("a name holds at least one letter; leave --name out for a run without one".to_owned());
    }
    Ok(text.to_owned())
}

fn parse_notify(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("there is no command in it; write one such as --notify 'mail -s done me'".to_owned());
    }
    Ok(text.to_owned())
}

fn parse_tag(text: &str) -> Result<(String, String), String> {
    let (key, value) =
        text.split_once('=').ok_or_else(|| format!("'{text}' is not a tag; write key=value"))?;
    if key.is_empty() {
        return Err(format!("'{text}' has no key; write key=value"));
    }
    Ok((key.to_owned(), value.to_owned()))
}

impl MeasureArgs {
    /// Fills in what no flag has said.
    pub(crate) fn configure(&mut self, settings: Settings) {
        self.gpu.configure(&settings);
        self.interval = self.interval.or(settings.interval_ns);
        self.expected_cores = self.expected_cores.or(settings.expected_cores);
        self.format = self.format.or(settings.format);
        self.color = self.color.or(settings.color);
        self.units = self.units.or(settings.units);
        self.no_record |= settings.record == Some(false) && self.record.is_none();
        self.record_limit = self.record_limit.or(settings.record_limit_bytes);
        self.no_redact |= settings.redact == Some(false);
        self.store = settings.store;
        let patience = settings.upload_timeout_ns.map_or(upload::PATIENCE, Duration::from_nanos);
        self.upload = settings.upload.map(|place| (place, patience));
    }

    /// Bad output paths are found out before the job starts, not after it ran for hours.
    pub(crate) fn check_outputs(&self) -> Result<(), String> {
        if let Some(path) = &self.output {
            place::check(out::or_stdout(path), self.force).map_err(|error| error.to_string())?;
        }
        if let Some(path) = &self.record {
            place::check_record(path, self.force).map_err(|error| error.to_string())?;
        }
        match (&self.output, &self.record) {
            (Some(output), Some(record)) if place::is_same(output, record) => Err(format!(
                "-o and --record both name {}; the summary and the record need a file each",
                shown(output)
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn info(
        &self,
        mode: Mode,
        command: &[OsString],
        pid: i32,
        job: Option<JobInfo>,
        limits: &Limits,
        started_unix_ns: u64,
    ) -> RunInfo {
        let command = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let tags: BTreeMap<String, String> = self.tags.iter().cloned().collect();
        let (host, kernel) = names();
        let mut info = RunInfo {
            id: id::new_run_id(started_unix_ns),
            jobmeter_version: env!("CARGO_PKG_VERSION").to_owned(),
            mode,
            name: self.name.clone(),
            tags,
            command,
            cwd: std::env::current_dir()
                .map_or_else(|_| String::new(), |dir| dir.to_string_lossy().into_owned()),
            host,
            kernel,
            pid,
            job,
            started_unix_ns,
            interval_ns: self.interval,
            expected_cores: self.expected_cores.unwrap_or_else(|| usable_cores(limits)),
            system_cores: jobmeter_engine::linux::cpus::online().len() as u32,
            ..RunInfo::default()
        };
        if !self.no_redact {
            redact::run_info(&mut info);
        }
        info
    }

    /// Whether the run goes to the store, where its job is merged from.
    pub(crate) fn is_stored(&self) -> bool {
        !self.no_record && self.record.is_none()
    }

    /// The record, where one is kept. That it cannot be kept is a warning: the job goes first. Waits for no disk; a
    /// store that fails is found out at the end.
    pub(crate) fn open_record(&self, info: &RunInfo) -> (Option<Record>, Option<String>) {
        if self.no_record {
            return (None, None);
        }
        let placed = match &self.record {
            Some(path) if self.force => Ok((Target::Replace(path.clone()), path.clone())),
            Some(path) => Ok((Target::New(path.clone()), path.clone())),
            None => {
                let store = match &self.store {
                    Some(directory) => Ok(Store::at(directory)),
                    None => Store::open_default(),
                };
                store.and_then(|store| Ok((store.target(info)?, store.place_of(info)?)))
            }
        };
        let opened =
            placed.and_then(|(target, path)| Ok((Writer::start(target, info, CarrierKind::Process)?, path)));
        match opened {
            Ok((mut writer, path)) => {
                writer.carrier_pid().into_iter().for_each(|pid| charge_helper(Helper::Record, pid));
                writer.limit_to(self.record_limit.unwrap_or(USUAL_LIMIT_BYTES));
                if self.no_redact {
                    writer.keep_secrets();
                }
                (Some(Record { writer: Arc::new(Mutex::new(writer)), path }), None)
            }
            Err(error) => (None, Some(format!("no record is kept: {error}"))),
        }
    }

    /// Sends the summary where it belongs. Where that fails it goes to standard error, even with `--quiet`: the
    /// job ran for it.
    pub(crate) fn deliver(&self, summary: &Summary, record: Option<&Record>) {
        let units = self.units.unwrap_or_default();
        if let Some(path) = &self.output {
            let style = Style { colored: self.color == Some(Color::Always), units };
            let text = self.render(summary, style, None, record);
            let place = out::or_stdout(path);
            if let Err(error) = place::write_within(place, text.as_bytes(), self.force, PIPE_PATIENCE) {
                say(&format!("jobmeter: {error}; the summary follows here"));
                say(text.trim_end());
            }
        } else if !self.quiet {
            let style =
                Style::choose(self.color.unwrap_or(Color::Auto), std::io::stderr().is_terminal(), units);
            let width = terminal::width(terminal::Stream::Error);
            say(self.render(summary, style, width, record).trim_end());
        }
        if self.verbose && !self.quiet {
            for source in &summary.sources {
                let used = if source.used { "used" } else { "not used" };
                say(&format!("jobmeter: source {} {used}: {}", source.name, source.detail));
            }
            if let Some(record) = record {
                say(&format!("jobmeter: recorded in {}", shown(&record.path)));
            }
        }
    }

    /// The summary and the command of `--notify`; `None` without that option.
    pub(crate) fn notice(&self, summary: &Summary) -> Option<Notice> {
        Notice::new(self.notify.as_deref()?, summary)
    }

    /// Uploads the record where the store is object storage. The last thing of all, and within bounds.
    pub(crate) fn upload(&self, record: Option<&Record>) {
        if let (Some((place, patience)), Some(record), None) = (&self.upload, record, &self.record) {
            upload::after_job(place, &record.path, self.store.as_deref(), *patience);
        }
    }

    fn render(
        &self,
        summary: &Summary,
        style: Style,
        width: Option<usize>,
        record: Option<&Record>,
    ) -> String {
        let format = self.format.unwrap_or(Format::Text);
        let is_stored = record.is_some() && self.record.is_none();
        let view = View { format, is_full: self.full, style, width, run: is_stored.then_some("last") };
        first_screen::render(summary, view, || record?.read_back(summary))
    }
}

/// The run file under way.
pub(crate) struct Record {
    pub(crate) writer: Arc<Mutex<Writer>>,
    pub(crate) path: PathBuf,
}

impl Record {
    /// The process that writes the file: a child of ours, and no part of the job.
    pub(crate) fn carrier_pid(&self) -> Option<Pid> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).carrier_pid()
    }

    /// The job has ended.
    pub(crate) fn announce_end(&self) {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).announce_end();
    }

    /// The run again, for its course over time, where that takes no time worth speaking of.
    fn read_back(&self, summary: &Summary) -> Option<Run> {
        let is_long = summary.run.wall_ns.is_some_and(|ns| ns >= DRAWN_FROM_NS);
        let is_small = || std::fs::metadata(&self.path).is_ok_and(|file| file.len() <= DRAWN_TO_BYTES);
        if is_long && is_small() { Run::open(&self.path).ok() } else { None }
    }

    /// Ends the file. What the record lacks becomes warnings of the summary.
    pub(crate) fn finish(&self, summary: &mut Summary) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        summary.warnings.extend(writer.end_rows());
        if let Some(machine) = summary.run.job.as_mut().and_then(|job| job.machine.as_mut()) {
            let (server, times) = writer.store_times();
            (machine.store_server, machine.store_times) = (server.to_owned(), times.to_vec());
        }
        let Err(error) = writer.finish(summary) else { return };
        let text = match error {
            // The process that writes tries once to make it.
            RecordError::Exists { .. }
            | RecordError::Invalid(_)
            | RecordError::Io { action: "create", .. } => {
                format!("no record is kept: {error}")
            }
            RecordError::GivenUp { .. } => format!("the record is given up: {error}"),
            error => format!("the record is incomplete: {error}"),
        };
        summary.warnings.push(Warning { kind: WarningKind::Record, text });
    }
}

/// Host name and kernel release.
pub(crate) fn names() -> (String, String) {
    // SAFETY: uname fills the zeroed structure; its fields are NUL-terminated.
    unsafe {
        let mut name: libc::utsname = std::mem::zeroed();
        libc::uname(&raw mut name);
        let text =
            |field: &[libc::c_char]| std::ffi::CStr::from_ptr(field.as_ptr()).to_string_lossy().into_owned();
        (text(&name.nodename), text(&name.release))
    }
}
