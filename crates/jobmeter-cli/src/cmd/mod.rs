//! One file per subcommand: arguments and wiring; the work is in the libraries.

pub(crate) mod advise;
pub(crate) mod attach;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod drawn;
pub(crate) mod export;
pub(crate) mod gpu;
pub(crate) mod gpu_tracker;
pub(crate) mod host;
pub(crate) mod load;
pub(crate) mod ls;
pub(crate) mod mark;
pub(crate) mod measure;
pub(crate) mod out;
pub(crate) mod phases_from;
pub(crate) mod plot;
pub(crate) mod pricing;
pub(crate) mod prune;
pub(crate) mod report;
pub(crate) mod rm;
pub(crate) mod run;
pub(crate) mod servers;
pub(crate) mod show;
pub(crate) mod terminal;
pub(crate) mod views;
