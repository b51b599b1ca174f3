//! The result of a session as a tree. Peaks and means are the engine's own; GPU use follows from the rows.

use super::timepoints::Timepoints;
use crate::output::Presentable;
use crate::pickle;
use crate::tree::Node;
use jobmeter_model::Stat;
use jobmeter_model::metric::{Metric, Scope};
use jobmeter_model::summary::Summary;

/// `ResourceUsage`: to be printed, or pickled into the data classes of the Python package.
pub struct Usage(Node);

impl Usage {
    /// Its JSON form.
    pub fn tree(&self) -> &Node {
        &self.0
    }
}

/// Of a summary; without one nothing was measured, and everything but the machine is 0.
pub fn usage(summary: Option<&Summary>, rows: &Timepoints) -> Usage {
    let machine = rows.machine();
    let figure = |scope, metric, stat| {
        summary.and_then(|summary| summary.scope(scope).value(metric, stat)).unwrap_or(0.0)
    };
    let rss = |scope| {
        let bytes = |metric| Node::Float(figure(scope, metric, Stat::Max) * machine.ram_unit.factor);
        Node::map([
            ("total_rss", bytes(Metric::RssBytes)),
            ("private_rss", bytes(Metric::RssPrivateBytes)),
            ("shared_rss", bytes(Metric::RssSharedBytes)),
        ])
    };
    let gpu_ram =
        |scope| Node::Float(figure(scope, Metric::GpuMemoryBytes, Stat::Max) * machine.gpu_ram_unit.factor);
    let cpu = |scope, cores: u32| {
        let percent = |stat| figure(scope, Metric::CpuNs, stat) * 100.0;
        percentages(percent(Stat::RateMax), percent(Stat::RateMean), cores)
    };
    let threads = |scope| Node::Int(figure(scope, Metric::Threads, Stat::Max) as i64);
    let job = Scope::JOB;
    let cores = machine.n_expected_cores;
    let used = figure(Scope::System, Metric::MemoryUsedBytes, Stat::Max) * machine.ram_unit.factor;
    let max_ram = [
        ("unit", Node::text(machine.ram_unit.name)),
        ("system_capacity", Node::Float(machine.ram_capacity)),
        ("system", Node::Float(used)),
    ];
    let max_gpu_ram = [
        ("unit", Node::text(machine.gpu_ram_unit.name)),
        ("system_capacity", Node::Float(machine.gpu_ram_capacity)),
        ("system", Node::Float(rows.gpu.system_ram_max)),
    ];
    let cpu_head = [
        ("system_core_count", Node::Int(i64::from(machine.core_count))),
        ("n_expected_cores", Node::Int(i64::from(cores))),
        ("system", cpu(Scope::System, machine.core_count)),
    ];
    let cpu_tail = [
        ("main_n_threads", threads(Scope::Main)),
        ("descendants_n_threads", threads(Scope::Descendants)),
        ("combined_n_threads", threads(Scope::Combined)),
    ];
    let gpu = [
        ("system_gpu_count", Node::Int(i64::from(machine.gpu_count))),
        ("n_expected_gpus", Node::Int(i64::from(machine.n_expected_gpus))),
        (
            "gpu_percentages",
            percentages(rows.gpu.busy_percent_max, rows.gpu.busy_percent_mean(), machine.n_expected_gpus),
        ),
    ];
    let wall_ns = summary.and_then(|summary| summary.run.wall_ns);
    let seconds = wall_ns.map_or(0.0, |ns| ns as f64 / 1e9);
    let compute_time = [
        ("unit", Node::text(machine.time_unit.name)),
        ("time", Node::Float(seconds * machine.time_unit.factor)),
    ];
    Usage(Node::map([
        ("max_ram", Node::map(max_ram.into_iter().chain(job.map(|scope| (scope.key(), rss(scope)))))),
        (
            "max_gpu_ram",
            Node::map(max_gpu_ram.into_iter().chain(job.map(|scope| (scope.key(), gpu_ram(scope))))),
        ),
        (
            "cpu_utilization",
            Node::map(
                cpu_head.into_iter().chain(job.map(|scope| (scope.key(), cpu(scope, cores)))).chain(cpu_tail),
            ),
        ),
        ("gpu_utilization", Node::map(gpu)),
        ("compute_time", Node::map(compute_time)),
    ]))
}

/// `sum` adds the units up; `hardware` divides that by the number of expected units.
fn percentages(peak: f64, mean: f64, units: u32) -> Node {
    let units = f64::from(units.max(1));
    Node::map([
        ("max_sum_percent", Node::Float(peak)),
        ("max_hardware_percent", Node::Float(peak / units)),
        ("mean_sum_percent", Node::Float(mean)),
        ("mean_hardware_percent", Node::Float(mean / units)),
    ])
}

impl Presentable for Usage {
    fn text(&self) -> String {
        self.0.to_report()
    }

    fn json(&self) -> String {
        self.0.to_json()
    }

    fn pickle(&self) -> Vec<u8> {
        pickle::write_usage(&self.0)
    }
}
