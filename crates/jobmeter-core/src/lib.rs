//! The jobmeter engine: `probe → sample → accumulate`. It knows nothing of the files and screens its
//! numbers end on; those live in jobmeter-record, jobmeter-report and the command line.

pub mod accumulate;
pub mod cadence;
pub mod cgroup;
pub mod control;
pub mod cpus;
pub mod descriptors;
pub mod elevated;
pub mod event;
pub mod finish;
pub mod fork_fresh;
pub mod job;
pub mod layout;
pub mod ledger;
pub mod marks;
pub mod memory;
pub mod meter;
pub mod metric;
pub mod peaks;
pub mod perf;
mod perf_event;
pub mod perf_ring;
pub mod pidfd;
pub mod plain;
pub mod probe;
pub mod process;
pub mod replay;
pub mod sentinel;
pub mod session;
pub mod spawn;
pub mod summary;
pub mod supervise;
pub mod sys;
pub mod system_columns;
pub mod text;
pub mod tree;
pub mod trim;
pub mod units;
pub mod verdict;
pub mod watch;

pub use event::{Event, MarkKind, ProcessId, Sink};
pub use metric::{Column, Entity, EntityKind, Kind, Metric, MetricInfo, Scope, Unit};
pub use summary::{Figure, Figures, Number, Quality, RunInfo, Summary, Verdict};
