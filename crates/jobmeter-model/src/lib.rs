//! The contract between all parts of jobmeter: what is measured (metrics), how it is named (figures), how it travels
//! (columns, events, ticks), what is made of it (accumulation, summaries), and how it is written for people (units,
//! text). It knows no platform: everything that only reads runs is built on it alone.

#![warn(missing_docs)]

pub mod accumulate;
pub mod calendar;
pub mod event;
pub mod figure_id;
mod figures;
pub mod footprint;
pub mod format;
pub mod grade;
pub mod hardware;
pub mod job;
pub mod kinds;
pub mod layout;
pub mod metric;
pub mod phase;
pub mod replay;
mod stat;
pub mod summary;
pub mod text;
mod unit;
pub mod units;
pub mod verdict;

pub use event::{Event, MarkKind, ProcessId, Sink};
pub use figure_id::FigureId;
pub use figures::Figures;
pub use format::Style;
pub use job::{JobInfo, RankMachine};
pub use kinds::{Mode, VerdictKind, WarningKind};
pub use metric::{Column, Entity, EntityKind, Kind, Metric, MetricInfo, Rate, Scope};
pub use stat::Stat;
pub use summary::{Figure, Number, Quality, RunInfo, Summary, Verdict};
pub use unit::Unit;
