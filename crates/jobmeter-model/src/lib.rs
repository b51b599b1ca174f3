//! The contract between all parts of jobmeter: what is measured (metrics), how it is named (figures), how it travels
//! (columns, events, ticks), what is made of it (accumulation, summaries), and how it is written for people (units,
//! text). It knows no platform: everything that only reads runs is built on it alone.

pub mod accumulate;
pub mod calendar;
pub mod event;
pub mod grade;
pub mod metric;
pub mod replay;
pub mod summary;
pub mod text;
pub mod units;
pub mod verdict;

pub use event::{Event, MarkKind, ProcessId, Sink};
pub use metric::{Column, Entity, EntityKind, Kind, Metric, MetricInfo, Scope, Unit};
pub use summary::{Figure, Figures, Number, Quality, RunInfo, Summary, Verdict};
