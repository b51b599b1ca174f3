//! `jobmeter attach PID`: a process that runs already.

use super::gpu::GpuJob;
use super::measure::MeasureArgs;
use super::notify::Notice;
use crate::config::Settings;
use crate::platform::leave::{self, Ending};
use crate::say::say;
use jobmeter_engine::linux::cgroup::Membership;
use jobmeter_engine::run::attach::{self, Watch};
use jobmeter_engine::run::supervise::job_limits;
use jobmeter_model::units::parse_duration_ns;
use jobmeter_model::{Mode, WarningKind};
use std::path::Path;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  jobmeter attach 4312
  jobmeter attach --duration 30s -i 100ms -f json 4312")]
pub(crate) struct AttachArgs {
    /// Stop after this time; the process goes on
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Measuring")]
    duration: Option<u64>,
    #[command(flatten)]
    measure: MeasureArgs,
    /// The process, as ps and top show it
    pid: i32,
}

fn parse_time(text: &str) -> Result<u64, String> {
    parse_duration_ns(text).map_err(|error| error.to_string())
}

pub(crate) fn main(mut args: AttachArgs) -> Result<u8, String> {
    args.measure.configure(Settings::load()?);
    args.measure.check_outputs()?;
    args.measure.gpu.check()?;
    attach::check_target(args.pid).map_err(|error| error.to_string())?;
    let mut watch =
        Watch::start(args.pid, args.measure.interval, args.duration).map_err(|error| error.to_string())?;
    crate::platform::streams::survive_write_errors();
    let limits = job_limits(&Membership::read(Path::new("/"), &args.pid.to_string()));
    let job = args.measure.job.of_process(args.pid);
    let command = attach::command_of(args.pid);
    let started_unix_ns = watch.meter.started_unix_ns();
    let info = args.measure.info(Mode::Attach, &command, args.pid, job, &limits, started_unix_ns);
    let gpus = args.measure.gpu.start(GpuJob::Attached(args.pid));
    let (record, trouble) = args.measure.open_record(&info);
    if let Some(record) = &record {
        watch.meter.add_sink(Box::new(record.writer.clone()));
    }
    if let Some(text) = trouble {
        watch.meter.warn(WarningKind::Record, text);
    }
    let no_gpu = gpus.add_to(&mut watch.meter);
    let end = watch.run();
    leave::plan(Ending::Code(0));
    leave::hurry_on_signals();
    let mut summary = watch.finish(&info, limits, end);
    args.measure.gpu.estimate(&mut summary);
    if let Some(record) = &record {
        record.finish(&mut summary);
    }
    args.measure.deliver(&summary, record.as_ref());
    if no_gpu && args.measure.verbose {
        args.measure.gpu.none_found().iter().for_each(|text| say(text));
    }
    args.measure.notice(&summary).into_iter().for_each(Notice::send);
    Ok(0)
}
