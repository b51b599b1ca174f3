//! Which metrics share a chart, and how each is drawn in it. Plots, the page and the comparison draw what the table says,
//! so that a line means the same wherever it is drawn.

use super::{Metric, Scope, TABLE, Unit};

/// A chart of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Chart {
    /// Cores in use.
    Cpu,
    /// Resident memory.
    Ram,
    /// Share of time that GPUs were busy.
    Gpu,
    /// Memory in use on GPUs.
    GpuRam,
    /// Bytes of the job to and from storage.
    Io,
    /// Bytes of the machine's disks.
    Disk,
    /// Bytes of the machine's network interfaces.
    Net,
    /// Share of time that tasks waited.
    Psi,
    /// How many processes and threads lived.
    Tasks,
    /// Power of packages, memory and GPUs.
    Power,
    /// Of the GPUs.
    Temperature,
}

impl Chart {
    /// Every chart, in the order in which they are shown.
    pub const ALL: [Chart; 11] = [
        Chart::Cpu,
        Chart::Ram,
        Chart::Gpu,
        Chart::GpuRam,
        Chart::Io,
        Chart::Disk,
        Chart::Net,
        Chart::Psi,
        Chart::Tasks,
        Chart::Power,
        Chart::Temperature,
    ];

    /// The word that people choose it by.
    pub fn key(self) -> &'static str {
        match self {
            Chart::Cpu => "cpu",
            Chart::Ram => "ram",
            Chart::Gpu => "gpu",
            Chart::GpuRam => "gpu-ram",
            Chart::Io => "io",
            Chart::Disk => "disk",
            Chart::Net => "net",
            Chart::Psi => "psi",
            Chart::Tasks => "tasks",
            Chart::Power => "power",
            Chart::Temperature => "temperature",
        }
    }

    /// What stands above it.
    pub fn title(self) -> &'static str {
        match self {
            Chart::Cpu => "CPU, cores in use",
            Chart::Ram => "RAM",
            Chart::Gpu => "GPU, share of time busy",
            Chart::GpuRam => "GPU RAM",
            Chart::Io => "Storage of the job",
            Chart::Disk => "Disks of the machine",
            Chart::Net => "Network of the machine",
            Chart::Psi => "Pressure, share of time tasks waited",
            Chart::Tasks => "Processes and threads of the job",
            Chart::Power => "Power",
            Chart::Temperature => "GPU temperature",
        }
    }

    /// The lines that it can have, from the metric table, in the order in which they are drawn.
    pub fn lines(self) -> Vec<(Metric, &'static ChartLine)> {
        let rows = TABLE.iter().flat_map(|row| row.lines.iter().map(|line| (row.metric, line)));
        let mut lines: Vec<_> = rows.filter(|(_, line)| line.chart == self).collect();
        lines.sort_by_key(|(_, line)| line.place);
        lines
    }

    /// What its axis counts: the unit of its lines.
    pub fn unit(self) -> Unit {
        self.lines().first().map_or(Unit::Plain, |(metric, _)| metric.info().series().0)
    }
}

/// A line of a metric in a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChartLine {
    /// Where it is drawn.
    pub chart: Chart,
    /// Before which others: the first one stands for the chart where several runs are overlaid.
    pub place: u8,
    /// Whose values they are.
    pub scope: Scope,
    /// One line for each device of the metric instead of one for the scope.
    pub is_of_devices: bool,
    /// What it is called; behind the name of the device where it is of one.
    pub label: &'static str,
    /// What it stands for.
    pub role: LineRole,
    /// Whether it is drawn before anyone asks.
    pub is_shown: bool,
}

/// What a line stands for decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineRole {
    /// Main and descendants together.
    Job,
    /// The main process.
    Main,
    /// What descends from it.
    Descendants,
    /// The whole machine: context, drawn in grey.
    System,
    /// An upper bound: dashed.
    Bound,
    /// One of several devices or kinds, by its number.
    Other(usize),
}

/// How the metrics are drawn: the constants that the table speaks in.
pub(super) mod lines {
    use super::Chart::{Cpu, Disk, Gpu, GpuRam, Io, Net, Power, Psi, Ram, Tasks, Temperature};
    use super::LineRole::{Bound, Descendants, Job, Main, Other, System};
    use super::{Chart, ChartLine, LineRole, Scope};

    const fn of(chart: Chart, place: u8, scope: Scope, label: &'static str, role: LineRole) -> ChartLine {
        ChartLine { chart, place, scope, is_of_devices: false, label, role, is_shown: true }
    }

    const fn each(chart: Chart, place: u8, label: &'static str, role: LineRole) -> ChartLine {
        ChartLine { is_of_devices: true, ..of(chart, place, Scope::System, label, role) }
    }

    /// Drawn when somebody asks for it.
    const fn hidden(line: ChartLine) -> ChartLine {
        ChartLine { is_shown: false, ..line }
    }

    pub(crate) const CPU: &[ChartLine] = &[
        of(Cpu, 0, Scope::Combined, "Job", Job),
        of(Cpu, 1, Scope::Main, "Main process", Main),
        hidden(of(Cpu, 2, Scope::Descendants, "Descendants", Descendants)),
        of(Cpu, 3, Scope::System, "Whole machine", System),
    ];
    pub(crate) const CPU_SYSTEM: &[ChartLine] =
        &[hidden(of(Cpu, 4, Scope::Combined, "Job, in the kernel", Other(0)))];
    pub(crate) const CPU_IOWAIT: &[ChartLine] =
        &[hidden(of(Cpu, 5, Scope::System, "Machine, waiting for I/O", Other(1)))];
    pub(crate) const CPU_STEAL: &[ChartLine] =
        &[hidden(of(Cpu, 6, Scope::System, "Taken by the hypervisor", Other(2)))];

    pub(crate) const RSS: &[ChartLine] = &[
        of(Ram, 0, Scope::Combined, "Job", Job),
        of(Ram, 1, Scope::Main, "Main process", Main),
        hidden(of(Ram, 2, Scope::Descendants, "Descendants", Descendants)),
    ];
    pub(crate) const RSS_SUM: &[ChartLine] =
        &[hidden(of(Ram, 3, Scope::Combined, "Plain sum (upper bound)", Bound))];
    pub(crate) const RSS_PRIVATE: &[ChartLine] = &[hidden(of(Ram, 4, Scope::Combined, "Private", Other(0)))];
    pub(crate) const RSS_SHARED: &[ChartLine] = &[hidden(of(Ram, 5, Scope::Combined, "Shared", Other(1)))];
    pub(crate) const SWAP: &[ChartLine] = &[hidden(of(Ram, 6, Scope::Combined, "Swap", Other(2)))];
    pub(crate) const MEMORY_USED: &[ChartLine] =
        &[hidden(of(Ram, 7, Scope::System, "Whole machine", System))];

    pub(crate) const GPU_BUSY: &[ChartLine] =
        &[of(Gpu, 0, Scope::Combined, "Job, all GPUs", Job), each(Gpu, 1, "", Other(0))];
    pub(crate) const GPU_MEMORY_BUSY: &[ChartLine] = &[hidden(each(Gpu, 2, "memory controller", Other(3)))];
    pub(crate) const GPU_SM: &[ChartLine] = &[hidden(each(Gpu, 3, "multiprocessors active", Other(1)))];
    pub(crate) const GPU_TENSOR: &[ChartLine] = &[hidden(each(Gpu, 4, "tensor cores", Other(2)))];
    pub(crate) const GPU_DRAM: &[ChartLine] = &[hidden(each(Gpu, 5, "memory bandwidth", Other(4)))];
    pub(crate) const GPU_MEMORY: &[ChartLine] =
        &[of(GpuRam, 0, Scope::Combined, "Job, all GPUs", Job), each(GpuRam, 1, "", Other(0))];

    pub(crate) const READ_STORAGE: &[ChartLine] = &[of(Io, 0, Scope::Combined, "Read", Job)];
    pub(crate) const WRITE_STORAGE: &[ChartLine] = &[of(Io, 1, Scope::Combined, "Written", Other(0))];
    pub(crate) const READ_CHARS: &[ChartLine] =
        &[hidden(of(Io, 2, Scope::Combined, "Read calls, cache included", Other(1)))];
    pub(crate) const WRITE_CHARS: &[ChartLine] =
        &[hidden(of(Io, 3, Scope::Combined, "Write calls, cache included", Other(2)))];

    pub(crate) const DISK_READ: &[ChartLine] =
        &[of(Disk, 0, Scope::System, "Read", Job), hidden(each(Disk, 2, "read", Other(1)))];
    pub(crate) const DISK_WRITE: &[ChartLine] =
        &[of(Disk, 1, Scope::System, "Written", Other(0)), hidden(each(Disk, 3, "written", Other(4)))];
    pub(crate) const NET_RECEIVE: &[ChartLine] =
        &[of(Net, 0, Scope::System, "Received", Job), hidden(each(Net, 2, "received", Other(1)))];
    pub(crate) const NET_TRANSMIT: &[ChartLine] =
        &[of(Net, 1, Scope::System, "Sent", Other(0)), hidden(each(Net, 3, "sent", Other(4)))];

    pub(crate) const PSI_CPU: &[ChartLine] = &[of(Psi, 0, Scope::System, "For CPU", Job)];
    pub(crate) const PSI_MEMORY: &[ChartLine] = &[of(Psi, 1, Scope::System, "For memory", Other(3))];
    pub(crate) const PSI_IO: &[ChartLine] = &[of(Psi, 2, Scope::System, "For I/O", Other(0))];
    pub(crate) const PSI_MEMORY_FULL: &[ChartLine] =
        &[hidden(of(Psi, 3, Scope::System, "All for memory", Other(4)))];
    pub(crate) const PSI_IO_FULL: &[ChartLine] =
        &[hidden(of(Psi, 4, Scope::System, "All for I/O", Other(1)))];

    pub(crate) const PROCESSES: &[ChartLine] = &[of(Tasks, 0, Scope::Combined, "Processes", Job)];
    pub(crate) const THREADS: &[ChartLine] = &[of(Tasks, 1, Scope::Combined, "Threads", Other(0))];

    pub(crate) const PACKAGE: &[ChartLine] = &[of(Power, 0, Scope::System, "CPU packages", Job)];
    pub(crate) const DRAM: &[ChartLine] = &[of(Power, 1, Scope::System, "DRAM", Other(4))];
    pub(crate) const GPU_POWER: &[ChartLine] = &[each(Power, 2, "", Other(0))];
    pub(crate) const GPU_TEMPERATURE: &[ChartLine] = &[each(Temperature, 0, "", Other(0))];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_draws_what_the_table_has_in_one_unit() {
        for chart in Chart::ALL {
            let lines = chart.lines();
            assert!(!lines.is_empty(), "{chart:?}");
            for (at, (metric, line)) in lines.iter().enumerate() {
                let row = metric.info();
                assert_eq!(usize::from(line.place), at, "{chart:?} {metric:?}");
                assert_eq!(row.series().0, chart.unit(), "{chart:?} {metric:?}");
                let has_device = row.places.device.is_some_and(|(_, scopes)| scopes.contains(&line.scope));
                assert!(if line.is_of_devices { has_device } else { row.is_of(line.scope) }, "{metric:?}");
            }
        }
    }

    #[test]
    fn charts_are_told_apart_by_their_words() {
        for (at, chart) in Chart::ALL.iter().enumerate() {
            assert_eq!(*chart as usize, at);
            let before = &Chart::ALL[..at];
            assert!(before.iter().all(|other| other.key() != chart.key() && other.title() != chart.title()));
        }
        assert_eq!((Chart::Psi.key(), Chart::Psi.unit()), ("psi", Unit::Ratio));
        assert_eq!((Chart::Io.unit(), Chart::Power.unit()), (Unit::BytesPerSecond, Unit::Watts));
    }

    #[test]
    fn the_job_comes_first_and_leads() {
        for chart in [Chart::Cpu, Chart::Ram, Chart::Gpu, Chart::GpuRam, Chart::Io, Chart::Tasks] {
            let (_, first) = chart.lines()[0];
            assert_eq!((first.scope, first.role, first.is_shown), (Scope::Combined, LineRole::Job, true));
        }
        let (metric, last) = *Chart::Ram.lines().last().expect("lines");
        assert_eq!((metric, last.is_shown), (Metric::MemoryUsedBytes, false));
    }
}
