//! `jobmeter attach`: a process that runs already, or all processes of a control group, a container or a job.

use super::gpu::GpuJob;
use super::measure::MeasureArgs;
use super::notify::Notice;
use crate::config::Settings;
use crate::platform::leave::{self, Ending};
use crate::say::say;
use jobmeter_engine::linux::cgroup::{Membership, watched};
use jobmeter_engine::linux::containers::group_of_container;
use jobmeter_engine::linux::proc::root::ProcRoot;
use jobmeter_engine::run::attach::{self, GroupTarget, Watch};
use jobmeter_engine::run::commands::Commands;
use jobmeter_engine::run::limits::job_limits;
use jobmeter_model::units::parse_duration_ns;
use jobmeter_model::{Mode, WarningKind};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  jobmeter attach 4312
  jobmeter attach --duration 30s -i 100ms -f json 4312

All processes of a group, a container, a job on this node:
  jobmeter attach --cgroup /sys/fs/cgroup/system.slice/solver.service
  jobmeter attach --container web
  jobmeter attach --job slurm:4711")]
#[command(group = clap::ArgGroup::new("target").args(["pid", "cgroup", "container"]))]
pub(crate) struct AttachArgs {
    /// Stop after this time; the process goes on
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Measuring")]
    duration: Option<u64>,
    /// Measure all processes of a control group and of those below it
    #[arg(long, value_name = "PATH", help_heading = "Measuring")]
    cgroup: Option<PathBuf>,
    /// Measure all processes of a container, as docker ps, podman ps and nerdctl ps name it
    #[arg(long, value_name = "NAME", help_heading = "Measuring")]
    container: Option<String>,
    #[command(flatten)]
    measure: MeasureArgs,
    /// The process, as ps and top show it; none with --cgroup or --container, or with --job slurm:ID, which measures that
    /// job's processes on this node
    pid: Option<i32>,
}

/// What is measured.
enum Subject {
    Process(i32),
    Group(GroupTarget),
}

impl Subject {
    fn of(args: &AttachArgs) -> Result<Subject, String> {
        let group = match (args.pid, &args.cgroup, &args.container) {
            (Some(pid), ..) => {
                attach::check_target(pid).map_err(|error| error.to_string())?;
                return Ok(Subject::Process(pid));
            }
            (None, Some(path), _) => watched::group_at(path),
            (None, None, Some(name)) => group_of_container(name),
            (None, None, None) => match args.measure.job.scheduled() {
                Some(id) => id.and_then(group_of_slurm_job),
                None => {
                    Err("nothing to attach to; name a PID, --cgroup PATH, --container NAME or --job slurm:ID"
                        .to_owned())
                }
            },
        };
        group.and_then(GroupTarget::of).map(Subject::Group)
    }

    /// The process whose command, limits and environment stand for the whole.
    fn pid(&self) -> i32 {
        match self {
            Subject::Process(pid) => *pid,
            Subject::Group(group) => group.first_pid,
        }
    }

    fn start(&self, interval_ns: Option<u64>, duration_ns: Option<u64>) -> Result<Watch, String> {
        let watch = match self {
            Subject::Process(pid) => Watch::start(*pid, interval_ns, duration_ns),
            Subject::Group(group) => Watch::start_group(group, interval_ns, duration_ns),
        };
        watch.map_err(|error| error.to_string())
    }
}

/// Slurm puts the processes of a job on a node into one group, `job_4711`.
fn group_of_slurm_job(id: &str) -> Result<PathBuf, String> {
    let name = format!("job_{id}");
    watched::group_named(ProcRoot::KERNEL, |part| part == name).ok_or_else(|| {
        format!(
            "no process of Slurm job {} is in a control group of this node; it runs elsewhere, has ended, or Slurm keeps no groups here",
            id.escape_debug()
        )
    })
}

fn parse_time(text: &str) -> Result<u64, String> {
    parse_duration_ns(text).map_err(|error| error.to_string())
}

pub(crate) fn main(mut args: AttachArgs) -> Result<u8, String> {
    args.measure.configure(Settings::load()?);
    args.measure.check_outputs()?;
    args.measure.gpu.check()?;
    let subject = Subject::of(&args)?;
    let pid = subject.pid();
    let mut watch = subject.start(args.measure.interval, args.duration)?;
    crate::platform::streams::survive_write_errors();
    let limits = job_limits(&Membership::read(Path::new("/"), &pid.to_string()));
    let job = args.measure.job.of_process(pid);
    let command = attach::command_of(pid);
    let started_unix_ns = watch.meter.started_unix_ns();
    let info = args.measure.info(Mode::Attach, &command, pid, job, &limits, started_unix_ns);
    let gpus = args.measure.gpu.start(GpuJob::Attached(pid));
    let (record, trouble) = args.measure.open_record(&info);
    if let Some(record) = &record {
        watch.meter.add_sink(Box::new(Commands::new(record.writer.clone())));
    }
    if let Some(text) = trouble {
        watch.meter.warn(WarningKind::Record, text);
    }
    if let Err(error) = std::fs::File::open(format!("/proc/{pid}/environ")) {
        let text = format!(
            "the environment of process {pid} cannot be read ({error}): the job that it belongs to and the GPUs that it \
             may see are not known"
        );
        watch.meter.warn("environment", text);
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
    args.measure.upload(record.as_ref());
    Ok(0)
}
