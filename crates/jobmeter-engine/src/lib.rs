//! The jobmeter engine for Linux: it reads (`linux`), accounts (`account`), takes ticks (`meter`) and runs jobs, watches
//! processes and serves programs that measure themselves (`run`). It knows nothing of the files and screens that its
//! numbers end on; those live in jobmeter-record, jobmeter-report and the command line.

mod account;
pub mod linux;
pub mod meter;
pub mod run;
