//! Black-box tests of the `jobmeter` binary: they start it as a user would and compare what it says with what
//! the testkit's workloads are known to have done. Modules are named after what they hold the binary to;
//! `cpu`, `memory`, `kills` and `scale` are heavy and run one at a time (see `.config/nextest.toml`).

mod attach;
mod budgets;
mod claims;
mod config;
mod cpu;
mod definitions;
mod descriptors;
mod gpu;
mod harm;
mod help;
mod inherit;
mod jobs;
mod kills;
mod marks;
mod memory;
mod names;
mod network;
mod output;
mod phases;
mod pictures;
mod places;
mod processes;
mod record;
mod scale;
mod selectors;
mod show;
mod signals;
mod status;
mod stores_that_hang;
mod streams;
mod sub_tracking;
mod terminal;
mod timeout;
mod trust;
mod units;
